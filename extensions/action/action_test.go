package action_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/rs/zerolog"

	"harness/extensions"
	"harness/extensions/action"
	"harness/extensions/sdk"
	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/tests/dbtest"
	"harness/tests/lifecycletest"
	"harness/transcript"
)

// product implements the executor's interfaces and records the calls.
type product struct {
	mu   sync.Mutex
	done []string
	fail error
}

func (p *product) note(format string, args ...any) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.fail != nil {
		return p.fail
	}
	p.done = append(p.done, fmt.Sprintf(format, args...))
	return nil
}

func (p *product) UpsertTranscript(_ context.Context, session string, entry transcript.Entry) error {
	if session == "gone" {
		return fmt.Errorf("session gone: %w", action.ErrGone)
	}
	details := "-"
	if entry.Details != nil {
		details = *entry.Details
	}
	return p.note("upsert %s %s %s %s", session, entry.MessageID, entry.Content, details)
}

func (p *product) Approval(_ context.Context, id string) (action.Approval, error) {
	if id == "unknown" {
		return action.Approval{}, fmt.Errorf("approval %s: %w", id, action.ErrGone)
	}
	return action.Approval{SessionID: "s1", TurnID: "t1"}, nil
}

func (p *product) Decide(_ context.Context, d action.Decision) error {
	if d.ApprovalID == "settled" {
		return fmt.Errorf("%s: %w", d.ApprovalID, action.ErrResolved)
	}
	return p.note("decide %s %s %s %s", d.ApprovalID, d.Decision, strings.TrimSpace(d.Scope+" "+d.Message), d.Actor)
}

func (p *product) Steer(_ context.Context, session, turn, text string) error {
	if turn == "over" {
		return fmt.Errorf("turn %s: %w", turn, action.ErrConflict)
	}
	return p.note("steer %s %s %s", session, turn, text)
}

func (p *product) EnqueueJob(_ context.Context, in sdk.EnqueueInput) (sdk.EnqueueOutcome, error) {
	switch in.Type {
	case "unknown":
		return sdk.EnqueueOutcome{}, fmt.Errorf("%w: no such job type", action.ErrInvalid)
	case "full":
		return sdk.EnqueueOutcome{}, errors.New("queue is full")
	}
	outcome := sdk.EnqueueOutcome{Status: sdk.Enqueued, Job: sdk.Job{ID: "j1", Type: in.Type, ProjectID: in.ProjectID,
		State: "queued"}}
	if in.Type == "again" {
		outcome.Status = sdk.AlreadyQueued
		return outcome, nil
	}
	return outcome, p.note("enqueue %s %s", in.Type, in.ProjectID)
}

// executor makes an executor on a store. The journal is stopped at the end of the test.
func executor(t *testing.T, db *database.DB, p *product) *action.Executor {
	t.Helper()
	j := journal.New(db, journal.Options{Logger: zerolog.Nop()})
	lifecycletest.Run(t, j)
	return action.New(action.Options{Journal: j, DB: db, Transcripts: p, Approvals: p, Turns: p, Jobs: p,
		Logger: zerolog.Nop()})
}

func call(actionType, payload, key string) extensions.ActionCall {
	return extensions.ActionCall{ModuleName: "m", Extension: "@t/m",
		Scope: extensions.Scope{ProjectID: "p1", SessionID: "s1", TurnID: "t1"},
		Request: sdk.ActionRequest{Kind: "action_request", ActionType: actionType, Payload: json.RawMessage(payload),
			RequestID: "r", IdempotencyKey: key}}
}

func entry(session, turn, content string) string {
	return `{"sessionId":"` + session + `","entry":{"messageId":"m1","turnId":"` + turn +
		`","role":"system","type":"note","content":"` + content + `","status":"complete","details":{"a":1}}}`
}

// EX-23, EX-24, EX-27, EX-28: every action type, its validation, scope lock and outcomes.
func TestActions_EX23_EX24_EX27_EX28(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		p := &product{}
		e := executor(t, db, p)
		for _, c := range []struct{ actionType, payload, status, code, done string }{
			{"other.thing", `{}`, "invalid", "unknown_action_type", ""},

			{"transcript.upsert", entry("s1", "t1", "hi"), "performed", "", `upsert s1 m1 hi {"a":1}`},
			{"transcript.upsert", entry("s2", "t1", "hi"), "forbidden", "scope_mismatch", ""},
			{"transcript.upsert", entry("s1", "t2", "hi"), "forbidden", "scope_mismatch", ""},
			{"transcript.upsert", `{"sessionId":"s1"}`, "invalid", "invalid_payload", ""},
			{"transcript.upsert", strings.Replace(entry("s1", "t1", "hi"), "system", "root", 1), "invalid",
				"invalid_payload", ""},
			{"transcript.upsert", strings.Replace(entry("s1", "t1", "hi"), "complete", "done", 1), "invalid",
				"invalid_payload", ""},
			{"transcript.upsert", strings.Replace(entry("s1", "t1", "hi"), `"hi"`, `7`, 1), "invalid", "invalid_payload", ""},
			{"transcript.upsert", strings.Replace(entry("s1", "t1", "hi"), `"m1"`, `"`+strings.Repeat("m", 1537)+`"`, 1),
				"invalid", "invalid_payload", ""},
			{"transcript.upsert", `[]`, "invalid", "invalid_payload", ""},

			{"approval.decide", `{"approvalId":"a","decision":"accept"}`, "performed", "",
				"decide a accept turn extension:@t/m"},
			{"approval.decide", `{"approvalId":"a","decision":"decline","scope":"session"}`, "performed", "",
				"decide a decline session extension:@t/m"},
			{"approval.decide", `{"approvalId":"a","decision":"decline","message":"no"}`, "performed", "",
				"decide a decline turn no extension:@t/m"},
			{"approval.decide", `{"approvalId":"a","decision":"decline","message":7}`, "invalid", "invalid_payload", ""},
			{"approval.decide", `{"approvalId":"settled","decision":"accept"}`, "already_resolved", "already_resolved", ""},
			{"approval.decide", `{"approvalId":"unknown","decision":"accept"}`, "not_eligible", "not_found", ""},
			{"approval.decide", `{"approvalId":"a","decision":"maybe"}`, "invalid", "invalid_payload", ""},
			{"approval.decide", `{"approvalId":"a","decision":"accept","scope":"ever"}`, "invalid", "invalid_payload", ""},
			{"approval.decide", `{"decision":"accept"}`, "invalid", "invalid_payload", ""},

			{"turn.steer.create", `{"sessionId":"s1","turnId":"t1","input":"go"}`, "performed", "", "steer s1 t1 go"},
			{"turn.steer.create", `{"sessionId":"s1","turnId":"t9","input":"go"}`, "forbidden", "scope_mismatch", ""},
			{"turn.steer.create", `{"sessionId":"s1","turnId":"t1","input":" "}`, "invalid", "invalid_payload", ""},

			{"queue.enqueue", `{"type":"x","projectId":"p1","payload":{}}`, "performed", "", "enqueue x p1"},
			{"queue.enqueue", `{"type":"again","projectId":"p1","payload":{}}`, "already_resolved", "already_queued", ""},
			{"queue.enqueue", `{"type":"x","projectId":"p2","payload":{}}`, "forbidden", "scope_mismatch", ""},
			{"queue.enqueue", `{"type":"x","projectId":"p1","sourceSessionId":"s9","payload":{}}`, "forbidden",
				"scope_mismatch", ""},
			{"queue.enqueue", `{"type":"x","projectId":"p1","payload":[]}`, "invalid", "invalid_payload", ""},
			{"queue.enqueue", `{"type":"unknown","projectId":"p1","payload":{}}`, "invalid", "invalid_payload", ""},
			{"queue.enqueue", `{"type":"full","projectId":"p1","payload":{}}`, "failed", "execution_failed", ""},
		} {
			p.done = nil
			got := e.Execute(t.Context(), call(c.actionType, c.payload, ""))
			var details struct{ Code string }
			if len(got.Details) > 0 {
				if err := json.Unmarshal(got.Details, &details); err != nil {
					t.Fatal(err)
				}
			}
			if got.Status != c.status || details.Code != c.code || strings.Join(p.done, ",") != c.done || got.RequestID != "r" ||
				got.ModuleName != "m" {
				t.Errorf("%s %s:\n got %s %s %v\nwant %s %s %s", c.actionType, c.payload, got.Status, got.Details, p.done, c.status,
					c.code, c.done)
			}
		}
		// Outside a turn or session the scope is unlimited.
		free := call("turn.steer.create", `{"sessionId":"s1","turnId":"over","input":"go"}`, "")
		free.Scope = extensions.Scope{}
		if got := e.Execute(t.Context(), free); got.Status != "conflict" {
			t.Errorf("turn that is over: %s", got.Status)
		}
		gone := call("transcript.upsert", entry("gone", "t1", "x"), "")
		gone.Scope = extensions.Scope{}
		if got := e.Execute(t.Context(), gone); got.Status != "not_eligible" {
			t.Errorf("session that is gone: %s", got.Status)
		}
		job := call("queue.enqueue", `{"type":"x","projectId":"session:s1","payload":{}}`, "")
		job.Scope.ProjectID = ""
		if got := e.Execute(t.Context(), job); got.Status != "performed" {
			t.Errorf("a session without a project owns its jobs: %s %s", got.Status, got.Details)
		}
	})
}

// QU-17, QU-18: one key acts once, even in another process on the same store and with JSON members in any order.
// Another request with the same key conflicts.
func TestIdempotency(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		p := &product{}
		e := executor(t, db, p)
		first := e.Execute(t.Context(), call("turn.steer.create", `{"sessionId":"s1","turnId":"t1","input":"go"}`, "k1"))
		again := e.Execute(t.Context(),
			call("turn.steer.create", `{ "input":"\u0067o", "turnId":"t1","sessionId":"s1"}`, "k1"))
		if first.Status != "performed" || again.Status != "performed" || len(p.done) != 1 ||
			!strings.Contains(string(again.Details), `"replayed":true`) {
			t.Errorf("%s, %s %s, %v", first.Status, again.Status, again.Details, p.done)
		}
		if got := e.Execute(t.Context(), call("turn.steer.create", `{"sessionId":"s1","turnId":"t1","input":"stop"}`,
			"k1")); got.Status != "conflict" ||
			!strings.Contains(string(got.Details), "idempotency_key_conflict") {
			t.Errorf("another request: %s %s", got.Status, got.Details)
		}
		other := call("turn.steer.create", `{"sessionId":"s1","turnId":"t1","input":"stop"}`, "k1")
		other.Extension = "@t/other"
		if got := e.Execute(t.Context(), other); got.Status != "performed" {
			t.Errorf("another extension's key is its own: %s", got.Status)
		}
		// A failure is not stored: the same key may try again.
		p.fail = errors.New("runtime is down")
		if got := e.Execute(t.Context(), call("turn.steer.create", `{"sessionId":"s1","turnId":"t1","input":"x"}`,
			"k2")); got.Status != "failed" {
			t.Errorf("got %s", got.Status)
		}
		p.fail = nil
		if got := e.Execute(t.Context(), call("turn.steer.create", `{"sessionId":"s1","turnId":"t1","input":"x"}`,
			"k2")); got.Status != "performed" {
			t.Errorf("got %s", got.Status)
		}
		// Another process on the same store.
		p2 := &product{}
		if got := executor(t, db, p2).Execute(t.Context(),
			call("turn.steer.create", `{"sessionId":"s1","turnId":"t1","input":"go"}`, "k1")); got.Status != "performed" ||
			len(p2.done) != 0 {
			t.Errorf("after a restart: %s, %v", got.Status, p2.done)
		}
		// A request without a key gets one derived from the event's id and the request's content.
		p.done = nil
		derived := call("turn.steer.create", `{"sessionId":"s1","turnId":"t1","input":"d"}`, "")
		derived.CorrelationID = "turn.completed|s1|t1"
		a := e.Execute(t.Context(), derived)
		derived.Request.Payload = json.RawMessage(`{"turnId":"t1","input":"d","sessionId":"s1"}`)
		b := e.Execute(t.Context(), derived)
		if len(p.done) != 1 || a.IdempotencyKey == "" || a.IdempotencyKey != b.IdempotencyKey {
			t.Errorf("%v, %q, %q", p.done, a.IdempotencyKey, b.IdempotencyKey)
		}
	})
}

// Many concurrent callers of one key: one acts, and all get its outcome.
func TestOneOfManyActs(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		p := &product{}
		e := executor(t, db, p)
		var group sync.WaitGroup
		for range 20 {
			group.Go(func() {
				if got := e.Execute(context.Background(), call("turn.steer.create", `{"sessionId":"s1","turnId":"t1","input":"go"}`,
					"k")); got.Status != "performed" {
					t.Errorf("%s %s", got.Status, got.Details)
				}
			})
		}
		group.Wait()
		if len(p.done) != 1 {
			t.Errorf("acted %d times", len(p.done))
		}
	})
}
