package jobs_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"harness/internal/platform/database"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/queue"
	"harness/queue/jobs"
	"harness/transcript"
)

// QU-21: with expectResponse none a job completes without a structured answer, and its result has the worker's text.
// The worker is created once per owner and agent, hidden, and prepared once.
func TestQU21AnInstructionIsCarriedOutByAHiddenWorker(t *testing.T) {
	each(t, func(t *testing.T, db *database.DB) {
		b := newBench(t, db, func(_ *jobs.Options, f *fakeSessions) {
			f.answer = func(_ <-chan struct{}, message string) (string, error) {
				if message == "Say nothing." {
					return "", nil
				}
				return "READY", nil
			}
		})
		bootstrap := object{"bootstrapInstruction": object{"key": "k1", "instructionText": "Boot."}}
		job := b.instruct(bootstrap)
		if job.State != queue.Completed || string(job.Result) != `{"status":"ok","outputText":"READY"}` || *job.DedupeKey != "p:source-1:t-1:review" || *job.SourceSessionID != source {
			t.Errorf("ended as %+v", job)
		}
		if *job.ThreadID != "worker-1" || *job.TurnID != "turn-3" {
			t.Errorf("ran in %s %s", *job.ThreadID, *job.TurnID)
		}
		b.instruct(bootstrap)
		var kinds []string
		for _, sent := range b.sessions.messages() {
			id, text, _ := strings.Cut(sent, " ")
			kinds = append(kinds, id+" "+strings.SplitN(text, "\n", 2)[0])
		}
		want := []string{"worker-1 # Worker orientation", "worker-1 Boot.", "worker-1 Do it.", "worker-1 Do it."}
		if !reflect.DeepEqual(kinds, want) {
			t.Errorf("sent %q", kinds)
		}
		in := b.sessions.created[0]
		if len(b.sessions.created) != 1 || !in.SystemOwned || in.Cwd != "/project" || b.sessions.titles["worker-1"] != "Project supervisor" {
			t.Errorf("made %+v called %q", b.sessions.created, b.sessions.titles)
		}
		workers, err := b.workers.WorkerSessions(t.Context(), "p")
		if err != nil || !reflect.DeepEqual(workers, []session.AgentSession{{Agent: "supervisor", SessionID: "worker-1"}}) {
			t.Errorf("workers %v, %v", workers, err)
		}
		if works, err := b.workers.Works(t.Context(), "worker-1"); err != nil || !works {
			t.Errorf("the worker works: %t, %v", works, err)
		}
		if err := db.Update(t.Context(), func(tx database.Tx) error {
			dismissed, err := b.workers.DismissWorkersIn(t.Context(), tx, "p")
			if !reflect.DeepEqual(dismissed, []string{"worker-1"}) {
				t.Errorf("dismissed %v", dismissed)
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
		if works, err := b.workers.Works(t.Context(), "worker-1"); err != nil || works {
			t.Errorf("the dismissed worker works: %t, %v", works, err)
		}
		if job := b.instruct(nil); *job.ThreadID != "worker-2" {
			t.Errorf("after the worker was forgotten it ran in %s", *job.ThreadID)
		}
		if job := b.instruct(object{"instructionText": "Say nothing."}); job.State != queue.Completed || string(job.Result) != `{"status":"ok"}` {
			t.Errorf("without an answer it ended as %s %s %q", job.State, job.Result, failure(job))
		}
	})
}

// A worker whose session no longer exists is replaced once; if the next session is missing too, the job fails.
func TestAStaleWorkerIsReplacedOnce(t *testing.T) {
	each(t, func(t *testing.T, db *database.DB) {
		b := newBench(t, db)
		b.instruct(nil)
		b.sessions.mu.Lock()
		b.sessions.gone["worker-1"] = true
		b.sessions.mu.Unlock()
		if job := b.instruct(nil); job.State != queue.Completed || *job.ThreadID != "worker-2" || job.Attempts != 1 {
			t.Errorf("ended as %+v", job)
		}
		b.sessions.mu.Lock()
		for n := range 9 {
			b.sessions.gone[fmt.Sprintf("worker-%d", n)] = true
		}
		b.sessions.mu.Unlock()
		if job := b.instruct(nil); job.State != queue.Failed || job.Attempts != 2 {
			t.Errorf("with no worker that lives it ended as %s after %d attempts", job.State, job.Attempts)
		}
	})
}

// A worker's requests are settled without a person: approvals declined, questions canceled, tool calls failed.
func TestRequestsOfWorkersAreSettled(t *testing.T) {
	each(t, func(t *testing.T, db *database.DB) {
		b := newBench(t, db, func(_ *jobs.Options, f *fakeSessions) {
			f.answer = func(done <-chan struct{}, message string) (string, error) {
				if message != "Do it." {
					return "READY", nil
				}
				f.mu.Lock()
				for _, kind := range []runtime.RequestKind{runtime.RequestApproval, runtime.RequestToolInput, runtime.RequestToolCall} {
					f.asked = append(f.asked, session.Request{ID: string(kind), Kind: kind, SessionID: "worker-1"})
				}
				f.mu.Unlock()
				f.publish("worker-1", "item-2")
				for {
					f.mu.Lock()
					left := len(f.asked)
					f.mu.Unlock()
					if left == 0 {
						return "asked in vain", nil
					}
					select {
					case <-time.After(5 * time.Millisecond):
					case <-done:
						return "", errors.New("interrupted")
					}
				}
			}
		})
		b.instruct(nil)
		settled := map[string]bool{}
		for _, one := range b.sessions.settled {
			settled[one] = true
		}
		for _, want := range []string{"approval decline false by orchestrator", "tool_input cancel false by orchestrator", "tool_call  false by orchestrator"} {
			if !settled[want] {
				t.Errorf("settled %q, want %q", b.sessions.settled, want)
			}
		}
	})
}

// A turn without an item, and one that never ends, are interrupted and retried.
func TestTurnsThatDoNotEnd(t *testing.T) {
	each(t, func(t *testing.T, db *database.DB) {
		hang := func(done <-chan struct{}, _ string) (string, error) {
			<-done
			return "", errors.New("interrupted")
		}
		for name, c := range map[string]struct {
			change func(*jobs.Options, *fakeSessions)
			reason string
		}{
			"no items": {func(o *jobs.Options, f *fakeSessions) {
				f.answer, f.noItems, o.Timing.EmptyTurn = hang, true, 30*time.Millisecond
			}, "made no item progress"},
			"no end": {func(o *jobs.Options, f *fakeSessions) { f.answer, o.Timing.Turn = hang, 30*time.Millisecond }, "timed out"},
			"fails": {func(_ *jobs.Options, f *fakeSessions) {
				f.answer = func(<-chan struct{}, string) (string, error) { return "", errors.New("model refused") }
			}, "model refused"},
		} {
			b := newBench(t, db, c.change)
			job := b.instruct(nil)
			wantAttempts := 2
			if name == "fails" {
				wantAttempts = 1
			}
			if job.State != queue.Failed || !strings.Contains(failure(job), c.reason) || job.Attempts != wantAttempts {
				t.Errorf("%s: %s %q after %d attempts", name, job.State, failure(job), job.Attempts)
			}
			if name != "fails" && b.sessions.interrupt != 2 {
				t.Errorf("%s: %d interrupts", name, b.sessions.interrupt)
			}
			b.stop() // so that this queue does not run the next case's jobs
		}
	})
}

// A cancel interrupts the worker's turn, and the entries that the job promised are settled as canceled.
func TestQU12CancelInterruptsTheTurn(t *testing.T) {
	each(t, func(t *testing.T, db *database.DB) {
		began := make(chan struct{}, 1)
		b := newBench(t, db, func(_ *jobs.Options, f *fakeSessions) {
			f.answer = func(done <-chan struct{}, message string) (string, error) {
				if message != "Do it." {
					return "READY", nil
				}
				began <- struct{}{}
				<-done
				return "", errors.New("interrupted")
			}
		})
		job := b.enqueue(object{"supplementalTargets": []object{{"messageId": "m-1", "type": "review", "canceledFallback": "Review was canceled."}}})
		<-began
		if entry := b.entry("m-1"); entry.Status != transcript.Streaming || entry.Content != "review queued..." {
			t.Errorf("while it runs: %+v", entry)
		}
		if _, err := b.queue.Cancel(t.Context(), job.ID, "api_cancel"); err != nil {
			t.Fatal(err)
		}
		if ended := b.wait(job.ID); ended.State != queue.Canceled {
			t.Errorf("ended %s", ended.State)
		}
		if entry := b.entry("m-1"); entry.Status != transcript.Canceled || entry.Content != "Review was canceled." {
			t.Errorf("after the cancel: %+v", entry)
		}
	})
}

// QU-10, QU-11, QU-13: a completed job leaves no placeholder: its fallback replaces them, and the worker's own entries
// stay.
func TestQU10QU11QU13TargetsOfACompletedJob(t *testing.T) {
	each(t, func(t *testing.T, db *database.DB) {
		var b *bench
		b = newBench(t, db, func(_ *jobs.Options, f *fakeSessions) {
			f.answer = func(_ <-chan struct{}, message string) (string, error) {
				if message == "Do it." {
					b.upsert(transcript.Entry{MessageID: "written", TurnID: "t-1", Role: "system", Type: "review", Content: "Looks right.", Status: transcript.Streaming})
					b.upsert(transcript.Entry{MessageID: "finished", TurnID: "t-1", Role: "system", Type: "review", Content: "All done.", Status: transcript.Complete})
				}
				return "READY", nil
			}
		})
		b.instruct(object{"anchorItemId": "item-9", "supplementalTargets": []object{
			{"messageId": "untouched", "type": "review", "placeholderTexts": []string{"Reviewing...", "Still reviewing"}, "completeFallback": "Nothing to say."},
			{"messageId": "default", "type": "review"},
			{"messageId": "written", "type": "review", "completeFallback": "never used"},
			{"messageId": "finished", "type": "review", "completeFallback": "never used"},
		}})
		for id, want := range map[string]string{"untouched": "Nothing to say.", "default": "review completed.", "written": "Looks right.", "finished": "All done."} {
			entry := b.entry(id)
			if entry.Status != transcript.Complete || entry.Content != want || entry.CompletedAt == nil && id != "finished" {
				t.Errorf("%s is %+v", id, entry)
			}
		}
		if details := b.entry("untouched").Details; details == nil || !strings.Contains(*details, `"anchorItemId": "item-9"`) {
			t.Errorf("details %v", details)
		}
	})
}

// QU-11, QU-12, QU-13: a failed job's targets show the failure and its reason, except targets that were already
// complete.
func TestQU12TargetsOfAFailedJob(t *testing.T) {
	each(t, func(t *testing.T, db *database.DB) {
		b := newBench(t, db, func(_ *jobs.Options, f *fakeSessions) {
			f.answer = func(<-chan struct{}, string) (string, error) { return "", errors.New("model refused") }
		})
		b.upsert(transcript.Entry{MessageID: "finished", TurnID: "t-1", Role: "system", Type: "review", Content: "All done.", Status: transcript.Complete})
		job := b.instruct(object{"expectResponse": "assistant_text", "supplementalTargets": []object{
			{"messageId": "own", "type": "review", "errorFallback": "Review failed"}, {"messageId": "default", "type": "review"}, {"messageId": "finished", "type": "review"}}})
		for id, want := range map[string]string{"own": "Review failed (" + failure(job) + ")", "default": "review failed. (" + failure(job) + ")"} {
			if entry := b.entry(id); entry.Status != transcript.Failed || entry.Content != want {
				t.Errorf("%s is %+v", id, entry)
			}
		}
		if entry := b.entry("finished"); entry.Status != transcript.Complete || entry.Content != "All done." {
			t.Errorf("finished is %+v", entry)
		}
		if entry := b.entry("agent-job-output::" + job.ID); entry.Status != transcript.Failed || entry.Content != "Agent job failed: "+failure(job) {
			t.Errorf("output is %+v", entry)
		}
	})
}

// expectResponse assistant_text: the text is an entry of the source session, a progress event and the result.
func TestAssistantText(t *testing.T) {
	each(t, func(t *testing.T, db *database.DB) {
		b := newBench(t, db, func(_ *jobs.Options, f *fakeSessions) {
			f.answer = func(_ <-chan struct{}, message string) (string, error) {
				if message == "silence" {
					return "", nil
				}
				return "The change is safe.", nil
			}
		})
		job := b.instruct(object{"expectResponse": "assistant_text"})
		if entry := b.entry("agent-job-output::" + job.ID); entry.Type != "agent.jobOutput" || entry.Content != "The change is safe." || entry.Status != transcript.Complete || entry.TurnID != "t-1" {
			t.Errorf("output %+v", entry)
		}
		if job := b.instruct(object{"expectResponse": "assistant_text", "instructionText": "silence"}); job.State != queue.Failed || failure(job) != "worker turn ended without a text" {
			t.Errorf("without a text: %s %q", job.State, failure(job))
		}
	})
}

// executor records the actions that it was asked to perform and replays earlier results.
type executor struct {
	mu   sync.Mutex
	done []jobs.Intent
	keys map[string]bool
}

func (e *executor) Execute(_ context.Context, intent jobs.Intent) (jobs.ActionResult, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.keys[intent.IdempotencyKey] {
		return jobs.ActionResult{ActionType: intent.ActionType, Status: "performed", Replayed: true}, nil
	}
	e.keys[intent.IdempotencyKey] = true
	e.done = append(e.done, intent)
	return jobs.ActionResult{ActionType: intent.ActionType, Status: "performed"}, nil
}

// QU-14, QU-15, QU-17, QU-19, QU-20: intents are checked, scoped to the job's session and turn, and executed in order.
// If a second job gives the same answer with its members in another order, the first result is replayed. An invalid
// answer fails the job.
func TestQU14QU15QU17QU19QU20ActionIntents(t *testing.T) {
	each(t, func(t *testing.T, db *database.DB) {
		does := &executor{keys: map[string]bool{}}
		var mu sync.Mutex
		say := ""
		b := newBench(t, db, func(o *jobs.Options, f *fakeSessions) {
			o.Actions = does
			f.answer = func(_ <-chan struct{}, message string) (string, error) {
				mu.Lock()
				defer mu.Unlock()
				if message == "Do it." {
					return say, nil
				}
				return "READY", nil
			}
		})
		results := func(text string) (queue.Job, string) {
			mu.Lock()
			say = text
			mu.Unlock()
			job := b.instruct(object{"expectResponse": "action_intents"})
			var result struct{ ActionResults json.RawMessage }
			if job.State == queue.Completed {
				if err := json.Unmarshal(job.Result, &result); err != nil {
					t.Fatal(err)
				}
			}
			return job, string(result.ActionResults)
		}
		intents := func(list ...string) string {
			return `{"kind":"action_intents","intents":[` + strings.Join(list, ",") + `]}`
		}
		upsert := `{"kind":"action_request","actionType":"transcript.upsert","payload":{"sessionId":"source-1","entry":{"messageId":"m","turnId":"t-1","n":[1,{"b":2,"a":1}]}}}`
		permuted := `{"payload":{"entry":{"n":[1,{"a":1,"b":2}],"turnId":"t-1","messageId":"m"},"sessionId":"source-1"},"actionType":"transcript.upsert","kind":"action_request"}`
		if _, got := results("```json\n" + intents(upsert) + "\n```"); got != `[{"actionType":"transcript.upsert","status":"performed"}]` {
			t.Errorf("performed %s", got)
		}
		if _, got := results(intents(permuted)); got != `[{"actionType":"transcript.upsert","status":"performed","replayed":true}]` {
			t.Errorf("replayed %s", got)
		}
		if len(does.done) != 1 || does.done[0].SourceSessionID != source || does.done[0].TurnID != "t-1" || does.done[0].Agent != "supervisor" || !strings.HasPrefix(does.done[0].IdempotencyKey, "auto:") {
			t.Errorf("executed %+v", does.done)
		}
		for _, foreign := range []string{
			`{"kind":"action_request","actionType":"transcript.upsert","payload":{"sessionId":"other"}}`,
			`{"kind":"action_request","actionType":"transcript.upsert","payload":{"entry":{"turnId":"t-2"}}}`,
			`{"kind":"action_request","actionType":"approval.decide","payload":{"turnId":7}}`,
			`{"kind":"action_request","actionType":"turn.steer.create","payload":{"threadId":"other"}}`,
		} {
			if _, got := results(intents(foreign)); !strings.Contains(got, `"status":"forbidden"`) {
				t.Errorf("%s: %s", foreign, got)
			}
		}
		if len(does.done) != 1 {
			t.Errorf("executed %+v", does.done)
		}
		many := make([]string, 33)
		for i := range many {
			many[i] = upsert
		}
		for name, bad := range map[string]string{"no JSON": "I did it.", "two objects": intents() + intents(), "other kind": `{"kind":"done","intents":[]}`, "no intents": `{"kind":"action_intents"}`,
			"no request": intents(`{"kind":"note"}`), "another kind of request": intents(`{"kind":"note","actionType":"x","payload":{}}`), "no payload": intents(`{"kind":"action_request","actionType":"x","payload":[]}`), "33 intents": intents(many...)} {
			if job, _ := results(bad); job.State != queue.Failed || !strings.Contains(failure(job), "action intents") {
				t.Errorf("%s: %s %q", name, job.State, failure(job))
			}
		}
		if job, got := results(intents(many[:32]...)); job.State != queue.Completed || strings.Count(got, "replayed") != 32 {
			t.Errorf("32 intents: %s %s", job.State, got)
		}
	})
}

// The fallback intents of a job are executed when its worker performed no action: once no attempt follows, and not if
// the worker acted.
func TestFallbackIntents(t *testing.T) {
	each(t, func(t *testing.T, db *database.DB) {
		does := &executor{keys: map[string]bool{}}
		say, fail := "", error(nil)
		b := newBench(t, db, func(o *jobs.Options, f *fakeSessions) {
			o.Actions = does
			f.answer = func(_ <-chan struct{}, message string) (string, error) {
				if message == "Do it." {
					return say, fail
				}
				return "READY", nil
			}
		})
		action := func(n int) string {
			return fmt.Sprintf(`{"kind":"action_request","actionType":"session.rename","payload":{"sessionId":"source-1","title":"%d"}}`, n)
		}
		for n, c := range []struct {
			say      string
			fail     error
			state    queue.State
			attempts int
			executed string
		}{
			{"I cannot say.", nil, queue.Failed, 1, action(0)},
			{`{"kind":"action_intents","intents":[]}`, nil, queue.Completed, 1, action(1)},
			{`{"kind":"action_intents","intents":[` + action(100) + `]}`, nil, queue.Completed, 1, action(100)},
			{"", errors.New("refused"), queue.Failed, 1, action(3)},
			{"", runtime.ErrTransient, queue.Failed, 2, action(4)},
		} {
			say, fail = c.say, c.fail
			before := len(does.done)
			job := b.instruct(object{"expectResponse": "action_intents", "fallbackIntents": []json.RawMessage{json.RawMessage(action(n))}})
			if job.State != c.state || job.Attempts != c.attempts || len(does.done) != before+1 || !strings.Contains(c.executed, string(does.done[before].Payload)) {
				t.Errorf("%d: %s %q after %d attempts, executed %+v", n, job.State, failure(job), job.Attempts, does.done[before:])
			}
		}
	})
}

// completionSignal: the job ends when the suggestion is stored, or with its fallback when the time expires; the turn is
// interrupted.
func TestQU09CompletionSignal(t *testing.T) {
	each(t, func(t *testing.T, db *database.DB) {
		hang := func(done <-chan struct{}, message string) (string, error) {
			if message != "Do it." {
				return "READY", nil
			}
			<-done
			return "", errors.New("interrupted")
		}
		b := newBench(t, db, func(o *jobs.Options, f *fakeSessions) { f.answer, o.SuggestWait = hang, 2*time.Second })
		job := b.enqueue(object{"completionSignal": object{"kind": "suggested_request", "requestKey": "key"}})
		if _, err := b.suggestions.Upsert(t.Context(), source, "key", jobs.Suggestion{Status: jobs.SuggestionComplete, Suggestion: "Go on."}); err != nil {
			t.Fatal(err)
		}
		if ended := b.wait(job.ID); ended.State != queue.Completed || string(ended.Result) != `{"status":"ok"}` {
			t.Errorf("ended as %s %s %s", ended.State, ended.Result, failure(ended))
		}
		if ended := b.instruct(object{"completionSignal": object{"kind": "suggested_request", "requestKey": "late"}}); ended.State != queue.Completed {
			t.Errorf("after its deadline it is %s", ended.State)
		}
		if found, known, err := b.suggestions.Find(t.Context(), source, "late"); err != nil || !known || found.Status != jobs.SuggestionComplete || found.Suggestion != jobs.FallbackSuggestion("") {
			t.Errorf("the fallback is %+v, %v", found, err)
		}
	})
}

func TestBadInstructions(t *testing.T) {
	t.Parallel()
	definition := jobs.Definitions(jobs.Options{})[0]
	targets := make([]object, 9)
	for i := range targets {
		targets[i] = object{"messageId": fmt.Sprint(i), "type": "t"}
	}
	for reason, change := range map[string]object{
		"agent": {"agent": " "}, "instructionText": {"instructionText": ""}, "expectResponse": {"expectResponse": "poem"}, "bootstrapInstruction": {"bootstrapInstruction": object{"key": "k"}},
		"at most 8": {"supplementalTargets": targets}, "twice": {"supplementalTargets": []object{targets[0], targets[0]}}, "messageId": {"supplementalTargets": []object{{"type": "t"}}},
		"completionSignal": {"completionSignal": object{"kind": "bell"}}, "fallbackIntents need": {"fallbackIntents": []object{{}}},
		"intent 0": {"expectResponse": "action_intents", "fallbackIntents": []object{{"kind": "note"}}}, "not an agent instruction": {"agent": 7},
		"effort must be": {"effort": "ultra"}, "agent is too long": {"agent": strings.Repeat("agent", 400)}, "turnId is too long": {"turnId": strings.Repeat("t", 1537)},
		"messageId is too long":  {"supplementalTargets": []object{{"type": "t", "messageId": strings.Repeat("m", 1537)}}},
		"requestKey is too long": {"completionSignal": object{"kind": "suggested_request", "requestKey": strings.Repeat("k", 1537)}},
	} {
		payload := object{"agent": "a", "jobKind": "k", "projectId": "p", "sourceSessionId": "s", "threadId": "s", "turnId": "t", "instructionText": "x"}
		for name, value := range change {
			payload[name] = value
		}
		encoded, err := json.Marshal(payload)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := definition.Validate(encoded); err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("%v: %v", change, err)
		}
	}
	stored, err := definition.Validate(json.RawMessage(`{"x":1,"instructionText":"<x>","turnId":"t","threadId":"s","sourceSessionId":"s","projectId":"p","jobKind":"k","agent":"a"}`))
	if want := `{"agent":"a","jobKind":"k","projectId":"p","sourceSessionId":"s","threadId":"s","turnId":"t","instructionText":"<x>","expectResponse":"none"}`; err != nil || string(stored) != want {
		t.Errorf("stored %s, %v", stored, err)
	}
}
