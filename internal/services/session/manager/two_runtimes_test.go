package manager

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"harness/internal/lib/ids"
	"harness/internal/platform/database"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/internal/services/session/store"
	"harness/stream"
	"harness/tests/dbtest"
	"harness/transcript"
)

// pair is a kit with a second runtime that has a process for each conversation, and chooses their ids.
type pair struct {
	*kit
	other *fake
}

func (p pair) session(natives ...string) session.Session {
	p.t.Helper()
	p.other.mu.Lock()
	p.other.natives = append(p.other.natives, natives...)
	p.other.mu.Unlock()
	s, err := p.Create(p.t.Context(), session.Create{Runtime: p.other.Name()})
	p.do(err)
	return s
}

// running returns the running turn of a session, "" for none.
func (p pair) running(s session.Session) string {
	p.t.Helper()
	p.flush()
	p.LoadView(s.Runtime, s.ID)
	now, err := p.Shown(p.t.Context(), s.ID)
	p.do(err)
	if stored, _, err := store.RunningTurn(p.t.Context(), p.db.Read(), s.ID); err != nil || stored != p.index.ActiveTurn(s.ID) ||
		stored != now.Activity.ActiveTurnID {
		p.t.Errorf("session %s: turn %q is stored, %q in the view, %q shown, %v", s.ID, stored, p.index.ActiveTurn(s.ID),
			now.Activity.ActiveTurnID, err)
	}
	return now.Activity.ActiveTurnID
}

func openPair(t *testing.T, db *database.DB, surviving ...string) pair {
	t.Helper()
	other := &fake{name: "other", apart: true}
	k := openWith(t, db, "node", func(o *Options) {
		o.Runtimes.Adapters = append(o.Runtimes.Adapters, other)
		o.Surviving = surviving
	})
	other.sink = k.Sink(other.Name())
	return pair{k, other}
}

func eachPair(t *testing.T, test func(t *testing.T, p pair)) {
	t.Helper()
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) { test(t, openPair(t, db)) })
}

// The start or exit of one conversation's process does not affect other conversations, or another runtime.
func TestProcessesOfOneRuntimeAreApart(t *testing.T) {
	eachPair(t, func(t *testing.T, p pair) {
		one, two, codex := p.session("a"), p.session("b"), p.create()
		first, second, third := p.send(one.ID), p.send(two.ID), p.send(codex.ID)
		p.other.ask(one.ID, first, 1, runtime.RequestApproval, "m", "{}")
		p.other.ask(two.ID, second, 1, runtime.RequestApproval, "m", "{}")
		for _, s := range []session.Session{one, two, codex} {
			if p.running(s) == "" {
				t.Errorf("no turn runs in %s: another session's process took it away when it started", s.Runtime)
			}
		}

		p.other.leave(one.ID)
		if turn := p.turn(one.ID, first); turn.Status != runtime.TurnInterrupted || p.running(one) != "" {
			t.Errorf("the turn of the process that ended is %+v", turn)
		}
		if p.running(two) != second || p.running(codex) != third {
			t.Errorf("an exit took turns of others: %q and %q run", p.running(two), p.running(codex))
		}
		if len(p.pending(one.ID, runtime.RequestApproval)) != 0 || len(p.pending(two.ID, runtime.RequestApproval)) != 1 {
			t.Error("the requests of the one that ended expire, and no other")
		}

		// The session whose process ended is resumed by its next message; the other is steered.
		p.other.serve(one.ID, ids.New())
		if next := p.send(one.ID); next == first || p.running(one) != next {
			t.Errorf("turn %q runs after %q was sent", p.running(one), next)
		}
		if steered := p.send(two.ID); steered != second {
			t.Errorf("a message went to %s", steered)
		}
		if turns, _ := p.other.seen(); turns[2].ThreadID != one.ID || turns[2].NativeID != "a" {
			t.Errorf("the runtime received %+v", turns[2])
		}

		// A new process replaces only the previous one, whose end was never reported.
		again := p.running(one)
		p.other.serve(one.ID, ids.New())
		if turn := p.turn(one.ID, again); turn.Status != runtime.TurnInterrupted || p.running(two) != second {
			t.Errorf("stored %+v; %q runs in the other", turn, p.running(two))
		}
		p.fake.exited()
		if p.running(codex) != "" || p.running(two) != second {
			t.Errorf("codex ended: %q and %q run", p.running(codex), p.running(two))
		}
	})
}

// The end of a process arrives before its answer to a message. Its turn is interrupted; other turns continue.
func TestExitBeforeTheAnswer(t *testing.T) {
	eachPair(t, func(t *testing.T, p pair) {
		one, two := p.session("a"), p.session("b")
		second := p.send(two.ID)
		p.other.onTurn = func(in runtime.StartTurn, turnID string) (runtime.StartedTurn, error) {
			p.other.leave(in.ThreadID)
			return runtime.StartedTurn{TurnID: turnID}, nil
		}
		first := p.send(one.ID)
		if turn := p.turn(one.ID, first); turn.Status != runtime.TurnInterrupted || p.running(one) != "" ||
			p.running(two) != second {
			t.Errorf("stored %+v; %q and %q run", turn, p.running(one), p.running(two))
		}
	})
}

// Two runtimes use the same id for their conversations: each signal goes to the session of its own runtime, and a
// signal about the other's session goes to none.
func TestEqualIDsNeverMeet(t *testing.T) {
	eachPair(t, func(t *testing.T, p pair) {
		codex := p.create()
		other := p.session(codex.ID) // which the other runtime names by codex's id
		if other.ID == codex.ID || other.RuntimeSessionID != codex.ID || other.Runtime != "other" {
			t.Fatalf("created %+v beside %s", other, codex.ID)
		}
		began := p.send(codex.ID)
		p.other.begin(codex.ID, "t1") // by the runtime's own id for it
		if p.running(other) != "t1" || p.running(codex) != began {
			t.Errorf("%q runs in the other's, %q in codex's", p.running(other), p.running(codex))
		}
		p.fake.end(codex.ID, began, runtime.TurnDone)
		if p.running(other) != "t1" || p.running(codex) != "" {
			t.Errorf("%q runs in the other's, %q in codex's", p.running(other), p.running(codex))
		}

		// After a restart, the store has the same data as the view had.
		p.index.Forget(codex.ID)
		p.index.Forget(other.ID)
		p.other.item(codex.ID, "t1", runtime.Item{ID: "i", Role: "assistant", Type: "agentMessage", Content: "mine"}, true)
		p.fake.item(codex.ID, began, runtime.Item{ID: "i", Role: "assistant", Type: "agentMessage", Content: "codex's"}, true)
		if a, b := p.stored(other.ID), p.stored(codex.ID); len(a) != 1 || a[0].Content != "mine" || len(b) != 1 ||
			b[0].Content != "codex's" {
			t.Errorf("stored %+v and %+v", a, b)
		}

		// A signal about the other runtime's session has no effect: not by its id, not in a listing, not by a new
		// conversation with that id.
		before := len(p.records())
		entries := len(p.stored(other.ID))
		p.fake.end(other.ID, "t1", runtime.TurnDone)
		p.fake.item(other.ID, "t1", runtime.Item{ID: "j", Role: "assistant", Type: "agentMessage", Content: "strange"}, true)
		p.fake.ask(other.ID, "t1", 7, runtime.RequestApproval, "m", "{}")
		if p.running(other) != "t1" || len(p.stored(other.ID)) != entries ||
			len(p.pending(other.ID, runtime.RequestApproval)) != 0 {
			t.Errorf("codex changed a session of another runtime")
		}
		for _, record := range p.records()[before:] {
			frames, err := stream.Frames(record)
			if record.Type != eventRuntimeRefused || record.SessionID != "" || len(frames) != 0 || err != nil {
				t.Errorf("journaled %s of session %q with %d frames, %v", record.Type, record.SessionID, len(frames), err)
			}
			if !strings.Contains(string(record.Payload), other.ID) {
				t.Errorf("the record does not say what was refused: %s", record.Payload)
			}
		}
		if len(p.records()) != before+3 {
			t.Errorf("%d words are in the journal, want 3", len(p.records())-before)
		}
		strange := runtime.Thread{ID: other.ID, Name: "taken over", Raw: encode("codex's")}
		p.do(p.storeThreads(t.Context(), "codex", []runtime.Thread{strange}, p.now()+1))
		p.fake.mu.Lock()
		p.fake.natives = []string{other.ID}
		p.fake.mu.Unlock()
		if made, err := p.Create(t.Context(), session.Create{}); !errors.Is(err, session.ErrForeignConversation) {
			t.Errorf("made %+v, %v", made, err)
		}
		if now, err := p.Lookup(t.Context(), other.ID); err != nil || now.Runtime != "other" || now.Title != session.NewChatTitle ||
			string(now.Thread) == `"codex's"` {
			t.Errorf("it is %+v by now, %v", now, err)
		}
	})
}

// A runtime's signals about a deleted conversation restore nothing, whichever id it uses; the same id is free for a
// new conversation.
func TestLateWordsOfADeletedConversation(t *testing.T) {
	eachPair(t, func(t *testing.T, p pair) {
		gone := p.session("a")
		_, err := p.Delete(t.Context(), gone.ID)
		p.do(err)
		p.index.Forget(gone.ID)
		p.other.item("a", "t", runtime.Item{ID: "i", Role: "user", Type: "userMessage"}, true)
		p.do(p.storeThreads(t.Context(), "other", []runtime.Thread{{NativeID: "a", Raw: encode("again")}}, p.now()+1))
		p.flush()
		page, err := p.List(t.Context(), session.ListQuery{})
		p.do(err)
		if len(page.Sessions) != 0 {
			t.Errorf("it is back: %+v", page.Sessions)
		}
		again := p.session("a")
		p.index.Forget(gone.ID) // another session has its id by now
		p.other.item("a", "t", runtime.Item{ID: "i", Role: "user", Type: "userMessage"}, true)
		if stored := p.stored(again.ID); len(stored) != 1 {
			t.Errorf("of the new conversation of that name are stored %+v", stored)
		}
		p.fake.begin("a", "t")
		p.flush()
		if found, err := p.Lookup(t.Context(), "a"); err != nil || found.Runtime != "codex" {
			t.Errorf("codex's conversation of that name is %+v, %v", found, err)
		}
	})
}

// A restart continues with the surviving processes of all runtimes, and settles the work of the others.
func TestRestartAdoptsBoth(t *testing.T) {
	eachPair(t, func(t *testing.T, p pair) {
		one, two, codex := p.session("a"), p.session("b"), p.create()
		first, second, third := p.send(one.ID), p.send(two.ID), p.send(codex.ID)
		p.flush()
		p.close()
		lives := p.other.processes[one.ID]
		q := openPair(t, p.db, p.fake.generation, lives)
		if q.running(one) != first || q.running(codex) != third {
			t.Fatalf("%q and %q run on in processes that survived", q.running(one), q.running(codex))
		}
		if turn := q.turn(two.ID, second); turn.Status != runtime.TurnInterrupted {
			t.Errorf("the process of %+v did not survive", turn)
		}
		for generation, want := range map[string]string{lives: first, p.fake.generation: third} {
			known, err := q.Resumption(t.Context(), generation)
			if err != nil || len(known.Turns) != 1 || known.Turns[0].TurnID != want {
				t.Errorf("an adapter goes on from %+v, %v", known, err)
			}
		}
		q.other.serve(one.ID, lives)
		q.other.threads = p.other.threads
		if steered := q.send(one.ID); steered != first {
			t.Errorf("a message went to %s", steered)
		}
		q.other.leave(one.ID)
		if turn := q.turn(one.ID, first); turn.Status != runtime.TurnInterrupted || q.running(codex) != third {
			t.Errorf("stored %+v; %q runs in codex", turn, q.running(codex))
		}
	})
}

func said(text string) transcript.Entry {
	return transcript.Entry{MessageID: "m", Role: "user", Type: "message", Content: text, Status: "complete"}
}

// A client names the runtime of a session when it opens one, and can list the sessions of one runtime.
func TestRuntimeOfASession(t *testing.T) {
	eachPair(t, func(t *testing.T, p pair) {
		model := "a-model-of-codex"
		_, err := p.EditControls(t.Context(), p.create().ID, session.ControlEdit{Defaults: true, Edit: func(c session.Controls) session.Controls {
			c.Model = &model
			return c
		}})
		p.do(err)
		other := p.session("a")
		codex := p.create()
		if other.Controls.Model != nil || p.other.began[0].Model != "" || codex.Controls.Model == nil ||
			*codex.Controls.Model != model {
			t.Errorf("models %v and %v: the default one is the default runtime's", other.Controls.Model, codex.Controls.Model)
		}

		var unknown *session.UnknownRuntimeError
		if _, err := p.Create(t.Context(), session.Create{Runtime: "cohdex"}); !errors.As(err, &unknown) ||
			fmt.Sprint(unknown.Known) != "[codex other]" {
			t.Errorf("an unknown runtime: %v", err)
		}
		p.other.mu.Lock()
		p.other.down = true
		p.other.mu.Unlock()
		if _, err := p.Create(t.Context(), session.Create{Runtime: "other"}); !errors.Is(err, runtime.ErrUnavailable) {
			t.Errorf("a runtime that is away: %v", err)
		}
		p.do(p.UpsertTranscript(t.Context(), other.ID, said("find me")))
		p.do(p.UpsertTranscript(t.Context(), codex.ID, said("find me, too")))
		for want, queries := range map[string][]session.ListQuery{
			other.ID: {{Runtime: "other"}, {Runtime: "other", Text: "find"}, {Runtime: "other", Limit: 1}},
			codex.ID: {{Runtime: "codex", Text: "find"}, {Text: "too"}},
		} {
			for _, query := range queries {
				page, err := p.List(t.Context(), query)
				if err != nil || len(page.Sessions) != 1 || page.Sessions[0].ID != want || page.NextCursor != "" {
					t.Errorf("%+v lists %+v, %v", query, page, err)
				}
			}
		}
		if _, err := p.List(t.Context(), session.ListQuery{Runtime: "cohdex"}); !errors.As(err, &unknown) {
			t.Errorf("a list of an unknown runtime: %v", err)
		}
	})
}

// The sessions of a runtime that is no longer configured stay readable. The error says how to enable the runtime.
func TestSessionsOfAFormerRuntime(t *testing.T) {
	eachPair(t, func(t *testing.T, p pair) {
		s := p.session("a")
		turnID := p.send(s.ID)
		p.do(p.UpsertTranscript(t.Context(), s.ID, said("kept")))
		k := p.reopen() // with codex alone
		if detail, err := k.Get(t.Context(), s.ID); err != nil || len(detail.Transcript) == 0 ||
			detail.Session.Runtime != "other" {
			t.Errorf("read %+v, %v", detail, err)
		}
		if turn := k.turn(s.ID, turnID); turn.Status != runtime.TurnInterrupted {
			t.Errorf("its turn is %+v", turn)
		}
		if page, err := k.List(t.Context(), session.ListQuery{Runtime: "other"}); err != nil || len(page.Sessions) != 1 {
			t.Errorf("listed %+v, %v", page, err)
		}
		_, err := k.Send(t.Context(), s.ID, session.Message{Text: "hi"})
		if !errors.Is(err, runtime.ErrUnavailable) || !strings.Contains(err.Error(), "HARNESS_RUNTIMES") {
			t.Errorf("a message is refused with %v", err)
		}
		_, err = k.Delete(t.Context(), s.ID)
		k.do(err)
	})
}

// Every frame about another runtime names it: its lines, its texts, and this server's lines in its name. Frames of
// codex name none.
func TestFramesNameTheirRuntime(t *testing.T) {
	eachPair(t, func(t *testing.T, p pair) {
		other, codex := p.session("a"), p.create()
		turn := p.send(other.ID)
		p.other.leave(other.ID) // this server ends its turn
		_, err := p.Rename(t.Context(), other.ID, "mine")
		p.do(err)
		p.end(codex.ID, p.send(codex.ID))
		p.flush()
		named := 0
		for _, record := range p.records() {
			frames, err := stream.Frames(record)
			p.do(err)
			for _, frame := range frames {
				said := record.Type == stream.EventNotification || record.Type == stream.EventRequest
				if want := map[bool]string{true: "other"}[said && record.SessionID == other.ID]; frame.Runtime != want {
					t.Errorf("%s of %s names the runtime %q, want %q", frame.Type, record.SessionID, frame.Runtime, want)
				}
				if frame.Runtime != "" {
					named++
				}
			}
		}
		if turn == "" || named < 4 {
			t.Errorf("%d frames name the other runtime", named)
		}
	})
}

// An archived or deleted session ends its process; a process that serves a whole runtime keeps running.
func TestWhatIsPutAwayKeepsNoProcess(t *testing.T) {
	eachPair(t, func(t *testing.T, p pair) {
		away, gone, codex := p.session("a"), p.session("b"), p.create()
		for _, s := range []session.Session{away, codex} {
			_, err := p.Archive(t.Context(), s.ID)
			p.do(err)
		}
		_, err := p.Delete(t.Context(), gone.ID)
		p.do(err)
		if got := strings.Join(p.other.closed, " "); got != away.ID+" "+gone.ID || len(p.fake.closed) != 0 {
			t.Errorf("closed %s, and %v of codex", got, p.fake.closed)
		}
	})
}
