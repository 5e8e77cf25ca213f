package session

import (
	"errors"
	"slices"
	"testing"
	"time"

	"harness/runtime"
	"harness/transcript"
)

func ids(entries []transcript.Entry) (out []string) {
	for _, entry := range entries {
		out = append(out, entry.MessageID)
	}
	return out
}

func (k *kit) read(sessionID string, want Reading) Detail {
	k.t.Helper()
	k.flush()
	detail, err := k.Read(k.t.Context(), sessionID, want)
	k.do(err)
	return detail
}

// historyReads is how often the runtime was asked for a whole history.
func (f *fake) historyReads() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.histories
}

// Of a session created here windows cost the runtime nothing, and tell what the whole tells.
func TestWindowNeedsNoRuntime(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		s := k.create()
		turn := k.send(s.ID)
		for _, id := range []string{"a", "b", "c"} {
			k.fake.item(s.ID, turn, runtime.Item{ID: id, Role: "assistant", Type: "agentMessage", Content: id}, id == "a")
		}
		k.end(s.ID, turn)
		got := k.read(s.ID, Reading{Window: &transcript.Window{Limit: 2}})
		if !slices.Equal(ids(got.Transcript), []string{"b", "c"}) || got.Older != "b" || got.Newer != "" || got.Session.ID != s.ID {
			t.Fatalf("the newest two are %v, older than %q, newer than %q", ids(got.Transcript), got.Older, got.Newer)
		}
		got = k.read(s.ID, Reading{Window: &transcript.Window{Limit: 2, Before: got.Older}})
		if !slices.Equal(ids(got.Transcript), []string{"a"}) || got.Older != "" || got.Newer != "a" {
			t.Fatalf("before them are %v, older than %q, newer than %q", ids(got.Transcript), got.Older, got.Newer)
		}
		if n := k.fake.historyReads(); n != 0 {
			t.Errorf("the runtime was asked %d times", n)
		}
		whole := k.read(s.ID, Reading{})
		got = k.read(s.ID, Reading{Window: &transcript.Window{Limit: 10}})
		if !slices.EqualFunc(whole.Transcript, got.Transcript, transcript.Entry.Equal) {
			t.Errorf("the whole is\n%s, the window\n%s", encode(whole.Transcript), encode(got.Transcript))
		}
		if got.Transcript[2].Status != transcript.Complete || got.Transcript[2].CompletedAt == nil {
			t.Errorf("the turn is over, and its last entry is %s", encode(got.Transcript[2]))
		}
		if _, err := k.Read(t.Context(), s.ID, Reading{Window: &transcript.Window{Limit: 1, After: "nothing"}}); !errors.Is(err, transcript.ErrBadCursor) {
			t.Errorf("a window after nothing: %v", err)
		}
	})
}

// A conversation that began elsewhere is cut out of the runtime's history; once the store holds all of it, and after every restart of the
// runtime, that is found out by asking once.
func TestWindowOfHistoryFromElsewhere(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		item := func(id string) runtime.Item {
			return runtime.Item{ID: id, Role: "user", Type: "userMessage", Content: id}
		}
		old := runtime.Thread{ID: newID(), Name: "theirs", Raw: encode(map[string]any{"turns": []int{1}}), Turns: []runtime.Turn{
			{ID: "t1", Status: runtime.TurnDone, Items: []runtime.Item{item("a"), item("b"), item("c")}}}}
		k.fake.mu.Lock()
		k.fake.threads = append(k.fake.threads, old)
		k.fake.mu.Unlock()
		window := Reading{Window: &transcript.Window{Limit: 2}}
		for range 2 {
			got := k.read(old.ID, window)
			if !slices.Equal(ids(got.Transcript), []string{"b", "c"}) || got.Older != "b" || string(got.Session.Thread) != `{"turns":[]}` {
				t.Fatalf("the newest two are %v, older than %q, of %s", ids(got.Transcript), got.Older, got.Session.Thread)
			}
		}
		if n := k.fake.historyReads(); n != 2 {
			t.Errorf("asked %d times for a history that is only there", n)
		}
		if whole := k.read(old.ID, Reading{}); string(whole.Session.Thread) != `{"turns":[1]}` || len(whole.Transcript) != 3 {
			t.Errorf("the whole is %s of %s", encode(whole.Transcript), whole.Session.Thread)
		}
		for _, id := range []string{"a", "b", "c"} {
			k.fake.item(old.ID, "t1", item(id), true)
		}
		before := k.fake.historyReads()
		for range 3 {
			k.read(old.ID, window)
		}
		if n := k.fake.historyReads() - before; n != 1 {
			t.Errorf("asked %d times for a history that is stored here", n)
		}
		k.fake.exited()
		if got := k.read(old.ID, window); !slices.Equal(ids(got.Transcript), []string{"b", "c"}) {
			t.Errorf("without the runtime: %v", ids(got.Transcript))
		}
		k.fake.started(newID())
		k.read(old.ID, window)
		k.read(old.ID, window)
		if n := k.fake.historyReads() - before; n != 2 {
			t.Errorf("asked %d times after a restart of the runtime", n-1)
		}
	})
}

// Whatever changes makes another version; while nothing does, a reader who has the version gets no transcript.
func TestVersionFollowsEveryChange(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		s := k.create()
		turn := k.send(s.ID)
		entry := transcript.Entry{MessageID: "m", TurnID: turn, Role: "user", Type: "x", Content: "1", Status: transcript.Streaming}
		k.do(k.UpsertTranscript(t.Context(), s.ID, entry))
		for _, window := range []*transcript.Window{nil, {Limit: 5}} {
			seen := map[string]string{}
			check := func(what string) {
				t.Helper()
				k.ahead.Add(int64(10 * time.Second))
				got := k.read(s.ID, Reading{Window: window})
				if other, again := seen[got.Version]; again || got.Version == "" {
					t.Fatalf("window %v: after %s the version is %q, as after %s", window, what, got.Version, other)
				}
				seen[got.Version] = what
				asked := k.fake.historyReads()
				same := k.read(s.ID, Reading{Window: window, Has: func(version string) bool { return version == got.Version }})
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
			k.fake.item(s.ID, turn, runtime.Item{ID: "i" + entry.Content, Role: "assistant", Type: "agentMessage", Content: "x"}, true)
			check("its end")
			k.fake.asked++
			k.fake.ask(s.ID, turn, k.fake.asked, runtime.RequestApproval, "item/commandExecution/requestApproval", `{}`)
			check("a question")
			request := k.pending(s.ID, runtime.RequestApproval)[0]
			_, err := k.Settle(t.Context(), request.ID, runtime.RequestApproval, runtime.Reply{Decision: "accept"}, "user")
			k.do(err)
			check("its answer")
			_, err = k.EditControls(t.Context(), s.ID, ControlEdit{Defaults: true, Audit: &ControlAudit{Actor: "a", Source: "b"},
				Edit: func(c Controls) Controls { model := "m" + entry.Content; c.Model = &model; return c }})
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
				if other := k.read(s.ID, Reading{Window: &transcript.Window{Limit: 6}}); seen[other.Version] != "" {
					t.Error("another window has the same version")
				}
			}
		}
		k.fake.exited()
		k.fake.started(newID())
		k.ahead.Add(int64(10 * time.Second))
		k.send(s.ID)
		if got := k.read(s.ID, Reading{}); got.Version != "" {
			t.Error("a version of what the runtime may still be writing down")
		}
	})
}
