package manager

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"harness/internal/lib/ids"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/transcript"
)

// back pages from the newest entries to the oldest; between runs after the first window.
func (k *kit) back(sessionID string, limit int, between func()) (pages []transcript.Entry) {
	k.t.Helper()
	window := transcript.Window{Limit: limit}
	for {
		got := k.read(sessionID, session.Reading{Window: &window})
		pages = append(slices.Clone(got.Transcript), pages...)
		if got.Older == "" {
			return pages
		}
		window.Before = got.Older
		if between != nil {
			between()
			between = nil
		}
	}
}

// A client that pages back while the runtime restarts sees every entry once. It saw 156 of 160 when windows before the
// restart came from the store and later ones from the runtime.
func TestPagingBackAcrossARuntimeRestartLosesNothing(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		s := k.create()
		var history []runtime.Turn
		for n := range 20 {
			turn := k.send(s.ID)
			one := runtime.Turn{ID: turn, Status: runtime.TurnDone}
			for _, role := range []string{"user", "assistant"} {
				item := runtime.Item{ID: fmt.Sprint(role, n), Role: role, Type: role + "Message", Content: "x"}
				k.fake.item(s.ID, turn, item, true)
				one.Items = append(one.Items, item)
			}
			k.end(s.ID, turn)
			history = append(history, one)
		}
		for n := range 20 { // entries that others add later belong to the turn, too
			for _, kind := range []string{"note", "insight"} {
				k.do(k.UpsertTranscript(t.Context(), s.ID, transcript.Entry{MessageID: fmt.Sprint(kind, n), TurnID: history[n].ID,
					Role: "system", Type: kind, Status: transcript.Complete}))
			}
		}
		k.fake.mu.Lock()
		k.fake.find(s.ID).Turns = history
		k.fake.mu.Unlock()
		pages := k.back(s.ID, 7, func() {
			k.fake.exited()
			k.fake.started(ids.New())
		})
		whole := k.read(s.ID, session.Reading{}).Transcript
		if len(pages) != 80 || string(encode(pages)) != string(encode(whole)) {
			t.Errorf("%d entries paged, %d in the whole\n%v\n%v", len(pages), len(whole), entryIDs(pages), entryIDs(whole))
		}
	})
}

// After any history, windows of any size equal the full transcript byte for byte, and both describe the session alike.
// A history has upserts into any turn, anchored entries, items, and crashes of the runtime and the server. It also has
// conversations from elsewhere, forks, and changes made without this server.
func TestWindowsAreCutsOfTheWhole(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		rapid.Check(t, func(rt *rapid.T) {
			p := &pager{kit: k, rt: rt}
			p.sessions = append(p.sessions, k.create().ID, p.elsewhere(nil))
			for range rapid.IntRange(1, 40).Draw(rt, "steps") {
				p.step()
			}
			k = p.kit
			p.check()
		})
	})
}

type pager struct {
	*kit
	rt       *rapid.T
	sessions []string
	n        int
}

func (p *pager) pick(what string, of ...string) string { return rapid.SampledFrom(of).Draw(p.rt, what) }

// item returns an item of the runtime with a new id.
func (p *pager) item() runtime.Item {
	p.n++
	role := p.pick("role", "user", "assistant", "system")
	item := runtime.Item{ID: fmt.Sprint("i", p.n), Role: role, Type: role, Content: p.pick("content", "a", "b")}
	if p.pick("made up", "no", "no", "yes") == "yes" {
		item.ID = fmt.Sprint("item-", p.n)
	}
	return item
}

// elsewhere creates a conversation that only the runtime knows, with some turns and the given ones.
func (p *pager) elsewhere(turns []runtime.Turn) (id string) {
	id = ids.New()
	for range rapid.IntRange(0, 3).Draw(p.rt, "turns elsewhere") {
		turns = append(turns, p.turn())
	}
	p.fake.mu.Lock()
	defer p.fake.mu.Unlock()
	p.fake.threads = append(p.fake.threads, runtime.Thread{ID: id, Name: "theirs", Raw: encode("raw"), Turns: turns})
	return id
}

func (p *pager) turn() runtime.Turn {
	p.n++
	turn := runtime.Turn{ID: fmt.Sprint("e", p.n),
		Status: runtime.TurnStatus(p.pick("ended", "completed", "failed", "interrupted")), StartedAt: 1, CompletedAt: 2}
	for range rapid.IntRange(0, 4).Draw(p.rt, "items elsewhere") {
		turn.Items = append(turn.Items, p.item())
	}
	return turn
}

func (p *pager) step() {
	id := p.pick("session", p.sessions...)
	switch p.pick("step", "upsert", "upsert", "upsert", "item", "item", "item", "begin", "end", "ask", "read", "crash",
		"restart", "fork", "behind") {
	case "upsert":
		entries := make([]transcript.Entry, rapid.IntRange(1, 4).Draw(p.rt, "entries"))
		for i := range entries {
			details := fmt.Sprintf(`{"anchorItemId":%q}`, fmt.Sprint("i", rapid.IntRange(1, p.n+1).Draw(p.rt, "anchor")))
			entries[i] = transcript.Entry{MessageID: p.pick("message", "m1", "m2", "m3", "m4", "item-1", "i1"),
				TurnID: p.pick("turn", "t1", "t2", "ci", "e1"), Role: "system", Type: "x",
				Status: transcript.Status(p.pick("status", "streaming", "complete"))}
			if p.pick("anchored", "no", "yes") == "yes" {
				entries[i].Details = &details
			}
		}
		if _, err := p.UpsertTranscripts(p.t.Context(), id, entries); err != nil && !session.Absent(err) {
			p.rt.Fatal(err)
		}
	case "item":
		item := p.item()
		for _, done := range []bool{false, p.pick("done", "yes", "no") == "yes"} {
			p.fake.item(id, p.pick("turn", "t1", "t2"), item, done)
		}
	case "begin":
		p.fake.begin(id, p.pick("turn", "t1", "t2"))
	case "end":
		p.fake.end(id, p.pick("turn", "t1", "t2"), runtime.TurnStatus(p.pick("ended", "completed", "failed", "interrupted")))
	case "ask":
		p.fake.asked++
		p.fake.ask(id, p.pick("turn", "t1", "t2"), p.fake.asked, runtime.RequestApproval, "m", `{}`)
	case "read":
		p.same(id)
	case "crash":
		p.fake.exited()
		p.fake.started(ids.New())
	case "restart":
		if p.pick("really", "no", "no", "yes") == "yes" {
			p.kit = p.reopenKnown()
		}
	case "fork":
		p.fake.mu.Lock()
		var turns []runtime.Turn
		if parent := p.fake.find(id); parent != nil {
			turns = slices.Clone(parent.Turns)
		}
		p.fake.mu.Unlock()
		p.sessions = append(p.sessions, p.elsewhere(turns))
	case "behind":
		turn := p.turn()
		p.fake.mu.Lock()
		defer p.fake.mu.Unlock()
		if thread := p.fake.find(id); thread != nil {
			thread.UpdatedAt = p.now() + 10_000
			thread.Turns = append(slices.Clone(thread.Turns), turn)
		}
	}
}

func (p *pager) check() {
	for _, id := range p.sessions {
		p.same(id)
	}
}

// same reads a session in full and in windows, back from the end and forward from any entry. If the runtime's
// background listing changes the session in between, it reads again.
func (p *pager) same(id string) {
	limit := rapid.IntRange(1, 7).Draw(p.rt, "limit")
	draw := rapid.IntRange(0, 1000).Draw(p.rt, "from")
	for {
		whole := p.read(id, session.Reading{})
		back, on := p.back(id, limit, nil), whole.Transcript
		if len(whole.Transcript) > 0 {
			from := draw % len(whole.Transcript)
			on = whole.Transcript[: from+1 : from+1]
			for after := whole.Transcript[from].MessageID; after != ""; {
				got := p.read(id, session.Reading{Window: &transcript.Window{Limit: limit, After: after}})
				on, after = append(on, got.Transcript...), got.Newer
			}
		}
		window := p.read(id, session.Reading{Window: &transcript.Window{Limit: limit}})
		if p.read(id, session.Reading{}).Version != whole.Version {
			continue
		}
		for how, entries := range map[string][]transcript.Entry{"back": back, "on": on} {
			if len(entries)+len(whole.Transcript) > 0 && string(encode(entries)) != string(encode(whole.Transcript)) {
				p.rt.Fatalf("session %s, %s in windows of %d\n%v, the whole\n%v", id, how, limit, entryIDs(entries),
					entryIDs(whole.Transcript))
			}
		}
		if string(encode(window.Session.Activity)) != string(encode(whole.Session.Activity)) {
			p.rt.Fatalf("session %s: a window says %+v, the whole %+v", id, window.Session.Activity, whole.Session.Activity)
		}
		return
	}
}
