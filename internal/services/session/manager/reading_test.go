package manager

import (
	"errors"
	"slices"
	"testing"
	"time"

	"harness/internal/lib/ids"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/transcript"
)

func entryIDs(entries []transcript.Entry) (out []string) {
	for _, entry := range entries {
		out = append(out, entry.MessageID)
	}
	return out
}

func (k *kit) read(sessionID string, want session.Reading) session.Detail {
	k.t.Helper()
	k.flush()
	detail, err := k.Read(k.t.Context(), sessionID, want)
	k.do(err)
	return detail
}

// historyReads returns how often the runtime was asked for a full history.
func (f *fake) historyReads() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.histories
}

// Reads of a session created here do not call the runtime; a window shows the same as a full read.
func TestWindowNeedsNoRuntime(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		s := k.create()
		<-k.Service.importer.imports.want(s.ID) // the runtime listed it before the row was stored, so an import may be requested
		asked := k.fake.historyReads()
		turn := k.send(s.ID)
		for _, id := range []string{"a", "b", "c"} {
			k.fake.item(s.ID, turn, runtime.Item{ID: id, Role: "assistant", Type: "agentMessage", Content: id}, id == "a")
		}
		k.end(s.ID, turn)
		got := k.read(s.ID, session.Reading{Window: &transcript.Window{Limit: 2}})
		if !slices.Equal(entryIDs(got.Transcript), []string{"b", "c"}) || got.Older != "b" || got.Newer != "" ||
			got.Session.ID != s.ID {
			t.Fatalf("the newest two are %v, older than %q, newer than %q", entryIDs(got.Transcript), got.Older, got.Newer)
		}
		got = k.read(s.ID, session.Reading{Window: &transcript.Window{Limit: 2, Before: got.Older}})
		if !slices.Equal(entryIDs(got.Transcript), []string{"a"}) || got.Older != "" || got.Newer != "a" {
			t.Fatalf("before them are %v, older than %q, newer than %q", entryIDs(got.Transcript), got.Older, got.Newer)
		}
		whole := k.read(s.ID, session.Reading{})
		if more := k.fake.historyReads() - asked; more != 0 {
			t.Errorf("the runtime was asked %d times", more)
		}
		got = k.read(s.ID, session.Reading{Window: &transcript.Window{Limit: 10}})
		if !slices.EqualFunc(whole.Transcript, got.Transcript, transcript.Entry.Equal) {
			t.Errorf("the whole is\n%s, the window\n%s", encode(whole.Transcript), encode(got.Transcript))
		}
		if got.Transcript[2].Status != transcript.Complete || got.Transcript[2].CompletedAt == nil {
			t.Errorf("the turn is over, and its last entry is %s", encode(got.Transcript[2]))
		}
		if _, err := k.Read(t.Context(), s.ID, session.Reading{Window: &transcript.Window{Limit: 1, After: "nothing"}}); !errors.Is(
			err, transcript.ErrBadCursor) {
			t.Errorf("a window after nothing: %v", err)
		}
	})
}

// The first read, full or not, imports a conversation that began elsewhere. Later reads do not call its runtime,
// whatever happens to it. After a change that this server did not observe, it is imported once more.
func TestHistoryFromElsewhereIsImportedOnce(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		item := func(id string) runtime.Item {
			return runtime.Item{ID: id, Role: "user", Type: "userMessage", Content: id,
				Native: encode(map[string]string{"id": id})}
		}
		old := runtime.Thread{ID: ids.New(), Name: "theirs", Raw: encode(map[string]any{"turns": []int{}}),
			Turns: []runtime.Turn{
				{ID: "t1", Status: runtime.TurnDone, Items: []runtime.Item{item("a"), item("b"), item("c")}},
				{ID: "t2", Status: runtime.TurnFailed, Error: "no money", Items: []runtime.Item{item("d")}}}}
		k.fake.mu.Lock()
		k.fake.threads = append(k.fake.threads, old)
		k.fake.mu.Unlock()
		window := session.Reading{Window: &transcript.Window{Limit: 2}}
		check := func(asked int, newest ...string) {
			t.Helper()
			for range 2 {
				if got := k.read(old.ID, window); !slices.Equal(entryIDs(got.Transcript), newest) || got.Older != newest[0] {
					t.Fatalf("the newest two are %v, older than %q", entryIDs(got.Transcript), got.Older)
				}
			}
			whole := k.read(old.ID, session.Reading{})
			if back := k.back(old.ID, 2, nil); string(encode(back)) != string(encode(whole.Transcript)) {
				t.Errorf("windows show %v, the whole %v", entryIDs(back), entryIDs(whole.Transcript))
			}
			if n := k.fake.historyReads(); n != asked {
				t.Errorf("asked for the history %d times, want %d", n, asked)
			}
		}
		events := len(k.records())
		check(1, "d", "turn-error-t2")
		if more := len(k.records()) - events; more != 0 {
			t.Errorf("reading journaled %d events", more)
		}
		k.fake.exited()
		check(1, "d", "turn-error-t2")
		k.fake.started(ids.New())
		check(1, "d", "turn-error-t2")

		k.fake.exited()
		k.fake.mu.Lock()
		thread := k.fake.find(old.ID)
		thread.UpdatedAt = k.now() + 10_000
		thread.Turns = append(thread.Turns,
			runtime.Turn{ID: "t3", Status: runtime.TurnDone, Items: []runtime.Item{item("e")}})
		k.fake.mu.Unlock()
		k.fake.started(ids.New())
		k.eventually("news of the runtime's listing", func() bool {
			got := k.read(old.ID, session.Reading{})
			return slices.Contains(entryIDs(got.Transcript), "e")
		})
		check(2, "turn-error-t2", "e")
	})
}

// After changes without this server, the server imports them once the conversation is resumed here.
func TestResumingImportsWhatWasMissed(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		s := k.create()
		k.fake.mu.Lock()
		thread := k.fake.find(s.ID)
		thread.UpdatedAt = k.now() + 10_000
		thread.Turns = []runtime.Turn{
			{ID: "t", Status: runtime.TurnDone, Items: []runtime.Item{{ID: "a", Role: "user", Type: "userMessage"}}}}
		k.fake.mu.Unlock()
		// Before that, the change may or may not show: the listing at a runtime's start may already contain it.
		_, err := k.Resume(t.Context(), s.ID, nil)
		k.do(err)
		if got := k.read(s.ID, session.Reading{}); !slices.Equal(entryIDs(got.Transcript), []string{"a"}) {
			t.Errorf("read %v", entryIDs(got.Transcript))
		}
	})
}

// If a runtime refuses its history, not every reader asks for it again.
func TestHistoryInVain(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		id := ids.New()
		k.fake.mu.Lock()
		k.fake.threads = append(k.fake.threads, runtime.Thread{ID: id, Name: "theirs", Raw: encode("raw")})
		k.fake.historyErr = errors.New("not now")
		k.fake.mu.Unlock()
		for range 3 {
			if got := k.read(id, session.Reading{}); len(got.Transcript) != 0 || got.Session.HistoryAt != 0 {
				t.Errorf("read %+v", got)
			}
		}
		if n := k.fake.historyReads(); n != 1 {
			t.Errorf("asked %d times", n)
		}
		k.fake.mu.Lock()
		k.fake.historyErr = nil
		k.fake.mu.Unlock()
		k.ahead.Add(int64(2 * time.Minute))
		if got := k.read(id, session.Reading{}); got.Session.HistoryAt == 0 {
			t.Error("it was not asked again")
		}
	})
}

// Every change creates another version; without one, a reader who has the version gets no transcript.
func TestVersionFollowsEveryChange(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		s := k.create()
		turn := k.send(s.ID)
		entry := transcript.Entry{MessageID: "m", TurnID: turn, Role: "user", Type: "x", Content: "1",
			Status: transcript.Streaming}
		k.do(k.UpsertTranscript(t.Context(), s.ID, entry))
		for _, window := range []*transcript.Window{nil, {Limit: 5}} {
			seen := map[string]string{}
			check := func(what string) {
				t.Helper()
				k.ahead.Add(int64(10 * time.Second))
				got := k.read(s.ID, session.Reading{Window: window})
				if other, again := seen[got.Version]; again || got.Version == "" {
					t.Fatalf("window %v: after %s the version is %q, as after %s", window, what, got.Version, other)
				}
				seen[got.Version] = what
				asked := k.fake.historyReads()
				same := k.read(s.ID, session.Reading{Window: window, Has: func(version string) bool { return version == got.Version }})
				if !same.Unchanged || same.Transcript != nil || same.Version != got.Version || k.fake.historyReads() != asked {
					t.Fatalf("window %v: nothing changed after %s, but %+v", window, what, same)
				}
			}
			check("nothing")
			entry.Content += "2"
			k.do(k.UpsertTranscript(t.Context(), s.ID, entry))
			check("an upsert")
			k.fake.item(s.ID, turn, runtime.Item{ID: "i" + entry.Content, Role: "assistant", Type: "agentMessage"}, false)
			check("an item")
			k.fake.item(s.ID, turn, runtime.Item{ID: "i" + entry.Content, Role: "assistant", Type: "agentMessage", Content: "x"},
				true)
			check("its end")
			k.fake.asked++
			k.fake.ask(s.ID, turn, k.fake.asked, runtime.RequestApproval, "item/commandExecution/requestApproval", `{}`)
			check("a question")
			request := k.pending(s.ID, runtime.RequestApproval)[0]
			_, err := k.Settle(t.Context(), request.ID, runtime.RequestApproval, runtime.Reply{Decision: "accept"}, "user")
			k.do(err)
			check("its answer")
			_, err = k.EditControls(t.Context(), s.ID, session.ControlEdit{Defaults: true, Audit: &session.ControlAudit{Actor: "a", Source: "b"},
				Edit: func(c session.Controls) session.Controls { model := "m" + entry.Content; c.Model = &model; return c }})
			k.do(err)
			check("an audit entry")
			k.fake.end(s.ID, turn, runtime.TurnDone)
			check("the turn's end")
			_, err = k.Rename(t.Context(), s.ID, "name "+entry.Content)
			k.do(err)
			check("a new title")
			turn = k.send(s.ID)
			check("a new turn")
			if window != nil {
				if other := k.read(s.ID, session.Reading{Window: &transcript.Window{Limit: 6}}); seen[other.Version] != "" {
					t.Error("another window has the same version")
				}
			}
		}
	})
}
