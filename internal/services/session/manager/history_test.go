package manager

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"harness/internal/lib/ids"
	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/internal/services/session/entryof"
	"harness/internal/services/session/store"
	"harness/stream"
	"harness/transcript"
)

// The stored transcript is the fold of the journal's events. That holds after any sequence of client requests, runtime
// signals, and crashes of the runtime and the server. No request is pending that no client can answer, and no turn
// runs in a dead process.
func TestTranscriptIsFoldOfJournal(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		rapid.Check(t, func(rt *rapid.T) {
			h := &history{kit: k, rt: rt, after: k.log.Head()}
			for range 3 {
				h.sessions = append(h.sessions, k.create().ID)
			}
			for range rapid.IntRange(1, 40).Draw(rt, "steps") {
				h.step()
			}
			k = h.kit
			h.check()
		})
	})
}

type history struct {
	*kit
	rt       *rapid.T
	after    int64
	sessions []string
}

func (h *history) pick(what string, of ...string) string {
	return rapid.SampledFrom(of).Draw(h.rt, what)
}

func (h *history) step() {
	sessionID := h.pick("session", h.sessions...)
	turnID := sessionID[30:] + h.pick("turn", "t1", "t2")
	switch h.pick("step", "upsert", "upsert", "item", "item", "item", "begin", "end", "ask", "ask", "settle", "resolved",
		"crash", "restart", "delete", "spoil", "spoil") {
	case "upsert":
		entries := make([]transcript.Entry, rapid.IntRange(1, 4).Draw(h.rt, "entries"))
		for i := range entries {
			entries[i] = transcript.Entry{MessageID: h.pick("message", "m", "item-1", "i"), TurnID: turnID,
				Role: "system", Type: "x", Content: rapid.String().Draw(h.rt, "content"),
				Status: transcript.Status(h.pick("status", "streaming", "complete", "error"))}
		}
		if _, err := h.UpsertTranscripts(h.t.Context(), sessionID, entries); err != nil && !session.Absent(err) {
			h.rt.Fatal(err)
		}
	case "item":
		change := runtime.ItemChanged{TurnID: turnID, Done: rapid.Bool().Draw(h.rt, "done"),
			Item: runtime.Item{ID: h.pick("item", "i", "j", "m"),
				Role: "assistant", Type: "agentMessage", Content: h.pick("text", "", "a", "bb"),
				Details: h.pick("details", "", "{}")}}
		method := "item/changed"
		params := encode(change)
		h.fake.emit(runtime.Signal{Kind: runtime.SignalNotification, Method: method, ThreadID: sessionID, TurnID: turnID,
			Params: params, Raw: encode(map[string]any{"method": method, "params": params}), Change: change})
	case "begin":
		h.fake.begin(sessionID, turnID)
	case "end":
		h.fake.end(sessionID, turnID, runtime.TurnDone)
	case "ask":
		h.fake.asked++
		want := rapid.SampledFrom(kinds).Draw(h.rt, "kind")
		h.fake.ask(sessionID, turnID, h.fake.asked, want.kind, want.method, want.params)
	case "settle":
		want := rapid.SampledFrom(kinds).Draw(h.rt, "kind")
		for _, request := range h.pending(sessionID, want.kind) {
			_, err := h.Settle(h.t.Context(), request.ID, want.kind, want.reply, "user")
			h.do(err)
		}
	case "resolved":
		native := json.RawMessage(fmt.Sprint(h.fake.asked - rapid.IntRange(-1, 3).Draw(h.rt, "native")))
		h.fake.notify(sessionID, "", "serverRequest/resolved", runtime.RequestResolved{RequestID: native})
	case "crash":
		h.fake.exited()
		h.fake.started(ids.New())
	case "spoil":
		// A unit that fails after writing: the other units of the batch run again.
		h.do(h.log.Submit(h.t.Context(), func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
			return nil, errors.Join(store.UpdateSession(ctx, tx, sessionID, `title = 'spoiled'`), errors.New("spoiled"))
		}, func([]journal.Record, error) {}))
	case "restart":
		if h.pick("really", "no", "no", "yes") == "yes" {
			h.kit = h.reopen()
		}
	case "delete":
		if h.pick("really", "no", "no", "yes") == "yes" {
			if _, err := h.Delete(h.t.Context(), sessionID); err != nil && !session.Absent(err) {
				h.rt.Fatal(err)
			}
		}
	}
}

// check folds the journal and compares.
func (h *history) check() {
	h.flush()
	want := map[string][]transcript.Entry{}
	asked, running := map[string]session.Request{}, map[string]map[string]string{}
	position := h.after
	for {
		page, err := h.log.Read(h.t.Context(), journal.Query{After: position})
		h.do(err)
		if len(page) == 0 {
			break
		}
		for _, record := range page {
			if record.Pos != position+1 {
				h.rt.Fatalf("position %d follows %d", record.Pos, position)
			}
			position = record.Pos
			if record.Type == "session_deleted" {
				delete(want, record.SessionID)
			}
			if entry, ok := fold(h.t, record, asked); ok {
				want[record.SessionID] = add(want[record.SessionID], entry)
			}
			for _, entry := range cutShort(h.t, record, running, want[record.SessionID]) {
				want[record.SessionID] = add(want[record.SessionID], entry)
			}
		}
	}
	live := h.fake.generation
	for _, sessionID := range h.sessions {
		got, err := h.entries.List(h.t.Context(), h.db.Read(), sessionID)
		h.do(err)
		if !holds(got, want[sessionID]) {
			h.rt.Fatalf("session %s\nstored %s\nfolded %s", sessionID, encode(got), encode(want[sessionID]))
		}
		pending, err := store.PendingRequests(h.t.Context(), h.db.Read(), sessionID)
		h.do(err)
		for _, request := range pending {
			if request.Generation != live {
				h.rt.Fatalf("request %s of a dead process is pending", request.ID)
			}
		}
		turns, err := store.ReadTurns(h.t.Context(), h.db.Read(), sessionID)
		h.do(err)
		for _, turn := range turns {
			if turn.Status == runtime.TurnInProgress && turn.Generation != live {
				h.rt.Fatalf("turn %s runs in a dead process", turn.TurnID)
			}
		}
	}
}

// holds reports whether the entries read equal the folded ones, in any order. An item-1, as runtimes invent them, may
// be missing: it repeats another entry.
func holds(got, folded []transcript.Entry) bool {
	for _, entry := range folded {
		i := slices.IndexFunc(got, entry.Equal)
		if i < 0 && entry.MessageID != "item-1" {
			return false
		}
		if i >= 0 {
			got = slices.Delete(slices.Clone(got), i, i+1)
		}
	}
	return len(got) == 0
}

// cutShort tracks the running items of turns, by session, and returns the entries that the end of their turn cancels.
func cutShort(t *testing.T, record journal.Record, running map[string]map[string]string, entries []transcript.Entry) (
	canceled []transcript.Entry) {
	t.Helper()
	items := running[record.SessionID]
	if items == nil {
		items = map[string]string{}
		running[record.SessionID] = items
	}
	var line struct {
		Method string
		Params struct {
			runtime.ItemChanged
			Turn struct{ ID, Status string }
		}
	}
	if record.Type != stream.EventNotification || json.Unmarshal(record.Payload, &line) != nil ||
		metaOf(t, record).Purged {
		return nil
	}
	switch change := line.Params; {
	case line.Method == "item/changed" && change.Done:
		delete(items, change.Item.ID)
	case line.Method == "item/changed":
		items[change.Item.ID] = change.TurnID
	case line.Method == "turn/completed" && change.Turn.Status == "interrupted":
		for _, entry := range entries {
			if items[entry.MessageID] == change.Turn.ID && entry.Status == transcript.Streaming {
				entry.Status, entry.CompletedAt = transcript.Canceled, &record.Time
				canceled = append(canceled, entry)
			}
		}
		maps.DeleteFunc(items, func(_, turnID string) bool { return turnID == change.Turn.ID })
	}
	return canceled
}

func add(entries []transcript.Entry, entry transcript.Entry) []transcript.Entry {
	i := slices.IndexFunc(entries, func(other transcript.Entry) bool { return other.MessageID == entry.MessageID })
	if i < 0 {
		return append(entries, transcript.Merge(entry, entry))
	}
	entries[i] = transcript.Merge(entries[i], entry)
	return entries
}

// fold applies an event to a transcript, using only the event.
func fold(t *testing.T, record journal.Record, asked map[string]session.Request) (transcript.Entry, bool) {
	t.Helper()
	decode := func(into any) {
		if err := json.Unmarshal(record.Payload, into); err != nil {
			t.Fatal(err)
		}
	}
	switch {
	case record.Type == "transcript_updated":
		var payload struct{ Entry transcript.Entry }
		decode(&payload)
		return payload.Entry, true
	case record.Type == stream.EventNotification:
		var line struct {
			Method string
			Params runtime.ItemChanged
		}
		if decode(&line); line.Method != "item/changed" || metaOf(t, record).Purged {
			return transcript.Entry{}, false
		}
		return entryof.Item(line.Params.TurnID, line.Params, record.Time), true
	case record.Type == stream.EventRequest:
		ref := metaOf(t, record).Request
		if ref == nil || asked[ref.ID].ID != "" {
			return transcript.Entry{}, false
		}
		var line struct {
			Method string
			Params json.RawMessage
		}
		decode(&line)
		request := session.Request{ID: ref.ID, Kind: runtime.RequestKind(ref.Kind), TurnID: ref.TurnID, Method: line.Method,
			Summary: ref.Summary, Params: line.Params, Questions: ref.Questions, CreatedAt: ref.CreatedAt}
		asked[ref.ID] = request
		return entryof.Request(request), true
	case strings.HasSuffix(record.Type, "_resolved"):
		var payload struct {
			ApprovalID, RequestID string
			Status                session.RequestStatus
			Decision, Scope       string
			Message               string
			Success               bool
		}
		decode(&payload)
		request := asked[payload.ApprovalID+payload.RequestID]
		request.Status, request.SettledAt = payload.Status, record.Time
		if payload.Status == session.RequestResolved {
			request.Reply = &runtime.Reply{Decision: payload.Decision, Scope: payload.Scope, Message: payload.Message,
				Success: payload.Success}
		}
		return entryof.Resolution(request), true
	}
	return transcript.Entry{}, false
}
