package manager

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/transcript"
)

// as returns a context of an actor.
func as(t *testing.T, actor string) context.Context {
	return context.WithValue(t.Context(), actorKey{}, actor)
}

// The console's window says who wrote each message and entry, who decided, and who stopped the turn; also after the
// events are pruned. Its stream says who wrote a message. (TI-04)
func TestAWindowNamesItsAuthors(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		s := k.create()
		said := func(actor, id, text string) string {
			t.Helper()
			turn, err := turnOf(k.Send(as(t, actor), s.ID, session.Message{Text: text}))
			k.do(err)
			k.reportUser(s.ID, turn, id, text)
			return turn
		}
		turn := said("token:ann", "m1", "fix it")
		said("token:bob", "m2", "and this")
		k.do(k.UpsertTranscript(as(t, "token:ci"), s.ID, transcript.Entry{MessageID: "ci", TurnID: turn, Role: "system", Type: "note",
			Content: "built", Status: transcript.Complete}))
		k.fake.ask(s.ID, turn, 1, runtime.RequestApproval, "item/fileChange/requestApproval", `{"itemId":"i"}`)
		asked := k.pending(s.ID, runtime.RequestApproval)[0]
		_, err := k.Settle(as(t, "token:eve"), asked.ID, runtime.RequestApproval, runtime.Reply{Decision: "accept"}, "token:eve")
		k.do(err)
		_, err = k.Interrupt(as(t, "token:bob"), s.ID, turn)
		k.do(err)
		k.flush()
		want := map[string]string{"m1": "ann", "m2": "bob", "ci": "ci", "approval-" + asked.ID: "eve", "turn-stopped-" + turn: "bob"}
		check := func() {
			t.Helper()
			detail, err := k.Read(t.Context(), s.ID, session.Reading{Window: &transcript.Window{Limit: 50}, Figures: true})
			k.do(err)
			for id, name := range want {
				if by := detail.Authors[id]; by.Name != name || by.Actor != "token:"+name || by.At == 0 && id != "ci" {
					t.Errorf("%s is by %+v, want %s", id, by, name)
				}
			}
			if len(detail.Authors) != len(want) {
				t.Errorf("authors are %v", detail.Authors)
			}
		}
		frames := k.events("console.message_authored")
		check()
		_, err = k.log.Prune(t.Context(), 1)
		k.do(err)
		check()
		if len(frames) != 2 || !strings.Contains(string(frames[1].Payload), `"number":2,"author":{"actor":"token:bob","name":"bob","at":`) {
			t.Errorf("published %v", frames)
		}
		if plain, err := k.Read(t.Context(), s.ID, session.Reading{Window: &transcript.Window{Limit: 50}}); err != nil || plain.Authors != nil {
			t.Errorf("without the view: %v, %v", plain.Authors, err)
		}
	})
}

// An archived session says who archived it, and when, until it is unarchived. (TI-05)
func TestAnArchivedSessionSaysByWhom(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		s := k.create()
		turn := k.send(s.ID)
		k.end(s.ID, turn)
		of := func(archived bool) session.Author {
			t.Helper()
			page, err := k.List(t.Context(), session.ListQuery{Archived: archived, Figures: true})
			k.do(err)
			if len(page.Sessions) != 1 {
				t.Fatalf("%d sessions", len(page.Sessions))
			}
			return page.Sessions[0].ArchivedBy
		}
		_, err := k.Archive(as(t, "token:ann"), s.ID)
		k.do(err)
		by := of(true)
		if by.Actor != "token:ann" || by.Name != "ann" || by.At == 0 {
			t.Errorf("archived by %+v", by)
		}
		_, err = k.Archive(as(t, "token:bob"), s.ID)
		k.do(err)
		if again := of(true); again != by {
			t.Errorf("archived again by %+v", again)
		}
		_, err = k.Unarchive(t.Context(), s.ID)
		k.do(err)
		if by := of(false); by != (session.Author{}) {
			t.Errorf("not archived, and by %+v", by)
		}
	})
}

// The list of all requests has what an approval changes, from its item if the request does not say. (TI-07)
func TestRequestsCarryTheirChanges(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		s := k.create()
		turn := k.send(s.ID)
		changes := `{"id":"item","type":"fileChange","changes":[{"path":"/w/a","kind":{"type":"add"},"diff":"x\n"}]}`
		k.fake.item(s.ID, turn, runtime.Item{ID: "item", Type: "fileChange", Role: "system", Details: changes}, false)
		k.fake.ask(s.ID, turn, 7, runtime.RequestApproval, "item/fileChange/requestApproval", `{"itemId":"item"}`)
		k.flush()
		all, err := k.AllPending(t.Context())
		k.do(err)
		if len(all) != 1 || len(all[0].Changes) != 1 || all[0].Changes[0].Path != "/w/a" || all[0].Changes[0].Added != 1 {
			t.Errorf("pending are %+v", all)
		}
	})
}

// A list says what happens in each session: what waits, what runs, why the last turn failed; and the branch. (TI-08)
func TestAListSaysWhatHappens(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		folder := t.TempDir()
		k.do(os.MkdirAll(filepath.Join(folder, ".git"), 0o700))
		k.do(os.WriteFile(filepath.Join(folder, ".git", "HEAD"), []byte("ref: refs/heads/fix/login\n"), 0o600))
		s, err := k.Create(t.Context(), session.Create{Cwd: folder})
		k.do(err)
		happens := func(kind session.LineKind, text string) {
			t.Helper()
			k.flush()
			page, err := k.List(t.Context(), session.ListQuery{Figures: true})
			k.do(err)
			line := page.Sessions[0].Figures.Line
			if kind == "" && line == nil {
				return
			}
			if line == nil || line.Kind != kind || line.Text != text {
				t.Errorf("it says %+v, want %s %q", line, kind, text)
			}
			if branch := page.Sessions[0].Figures.Branch; branch != "fix/login" {
				t.Errorf("on branch %q", branch)
			}
		}
		happens("", "")
		turn := k.send(s.ID)
		item := func(id, kind, details string, done bool) {
			k.fake.item(s.ID, turn, runtime.Item{ID: id, Type: kind, Role: "system", Details: details}, done)
		}
		item("c", "commandExecution", `{"id":"c","type":"commandExecution","command":"go test\n ./..."}`, false)
		happens(session.LineRunning, "go test ./...")
		item("c", "commandExecution", `{"id":"c","type":"commandExecution","command":"go test"}`, true)
		edit := `{"id":"item","type":"fileChange","changes":[{"path":"a","kind":{"type":"add"},"diff":"x\n"},{"path":"b","kind":{"type":"add"},"diff":""}]}`
		item("item", "fileChange", edit, false)
		happens(session.LineEditing, "a +1, b")
		k.fake.ask(s.ID, turn, 7, runtime.RequestApproval, "item/fileChange/requestApproval", `{"itemId":"item"}`)
		happens(session.LineEdit, "a +1, b")
		k.fake.notify(s.ID, turn, "turn/completed", runtime.TurnCompleted{TurnID: turn, Status: runtime.TurnFailed, Error: "no model"})
		happens(session.LineFailed, "no model")
	})
}
