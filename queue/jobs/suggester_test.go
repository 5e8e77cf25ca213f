package jobs_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"harness/internal/platform/database"
	"harness/queue"
	"harness/queue/jobs"
)

// Await returns a suggestion as soon as it is stored, by whatever route, even if the job that would store it still
// runs.
func TestAwaitEndsWithTheStoredSuggestion(t *testing.T) {
	each(t, func(t *testing.T, db *database.DB) {
		held := make(chan struct{})
		defer close(held)
		b := newBench(t, db, func(_ *jobs.Options, f *fakeSessions) {
			f.answer = func(done <-chan struct{}, message string) (string, error) {
				if message != "Do it." {
					return "READY", nil
				}
				select {
				case <-held:
				case <-done:
				}
				return "", errors.New("interrupted")
			}
		})
		// The worker of this job would store its suggestion through the API: the job neither names the key nor has a
		// result.
		job := b.enqueue(nil)
		in := jobs.SuggestPayload{ProjectID: "p", SourceSessionID: source, Draft: "my draft"}
		type answered struct {
			out jobs.Suggested
			err error
		}
		await := func(jobID, key string) <-chan answered {
			answers := make(chan answered, 1)
			go func() {
				out, err := b.suggester.Await(t.Context(), in, jobs.Suggested{Status: "queued", JobID: jobID, RequestKey: key})
				answers <- answered{out, err}
			}()
			return answers
		}
		for _, c := range []struct {
			key              string
			stored           jobs.Suggestion
			status, suggests string
		}{
			{"good", jobs.Suggestion{Status: jobs.SuggestionComplete, Suggestion: "Run the tests."}, "ok", "Run the tests."},
			{"failed", jobs.Suggestion{Status: jobs.SuggestionError, Error: "no"}, "fallback", "my draft"},
			{"canceled", jobs.Suggestion{Status: jobs.SuggestionCanceled}, "fallback", "my draft"},
			{"deadline", jobs.Suggestion{Status: jobs.SuggestionComplete, Suggestion: jobs.FallbackSuggestion("")}, "fallback",
				"my draft"},
		} {
			answers := await(job.ID, c.key)
			for _, next := range []jobs.Suggestion{{Status: jobs.SuggestionStreaming}, c.stored} {
				if _, err := b.suggestions.Upsert(t.Context(), source, c.key, next); err != nil {
					t.Fatal(err)
				}
			}
			if got := <-answers; got.err != nil || got.out.Status != c.status || got.out.Suggestion != c.suggests {
				t.Errorf("%s: %+v", c.key, got)
			}
		}
		if now, err := b.queue.Job(t.Context(), job.ID); err != nil || now.State.Final() {
			t.Errorf("the job is %s, %v", now.State, err)
		}
		// A job that ends without a suggestion leaves the fallback; a caller whose context ends gets an error.
		answers := await(job.ID, "never")
		if _, err := b.queue.Cancel(t.Context(), job.ID, "api_cancel"); err != nil {
			t.Fatal(err)
		}
		if got := <-answers; got.err != nil || got.out.Status != "fallback" || got.out.Suggestion != "my draft" {
			t.Errorf("after the job's end: %+v", got)
		}
		gone, leave := context.WithCancel(t.Context())
		leave()
		if _, err := b.suggester.Await(gone, in, jobs.Suggested{JobID: b.enqueue(nil).ID, RequestKey: "never"}); !errors.Is(
			err, context.Canceled) {
			t.Errorf("a caller who left: %v", err)
		}
	})
}

// A job that promised a suggestion leaves one in every final state: no caller waits forever.
func TestAPromisedSuggestionIsSettled(t *testing.T) {
	each(t, func(t *testing.T, db *database.DB) {
		b := newBench(t, db, func(_ *jobs.Options, f *fakeSessions) {
			f.answer = func(_ <-chan struct{}, message string) (string, error) {
				if message == "fail" {
					return "", errors.New("model refused")
				}
				return "READY", nil
			}
		})
		for text, want := range map[string]jobs.Suggestion{
			"say nothing": {Status: jobs.SuggestionComplete, Suggestion: "my draft"},
			"fail":        {Status: jobs.SuggestionError, Error: "worker turn failed: model refused"},
		} {
			job := b.instruct(object{"instructionText": text, "dedupeKey": text, "fallbackSuggestionDraft": "my draft",
				"effort": "high", "model": "m", "completionSignal": object{"kind": "suggested_request", "requestKey": text}})
			found, known, err := b.suggestions.Find(t.Context(), source, text)
			if want.UpdatedAt = found.UpdatedAt; err != nil || !known || found != want {
				t.Errorf("%s: job %s, suggestion %+v, %v", text, job.State, found, err)
			}
		}
		if asked := b.sessions.instructions[len(b.sessions.instructions)-1]; asked.Effort != "high" || *asked.Model != "m" {
			t.Errorf("asked with %+v", asked)
		}
	})
}

// A worker's transcript has an entry for each of its turns: first its start, then its outcome.
func TestWorkersNoteTheirTurns(t *testing.T) {
	each(t, func(t *testing.T, db *database.DB) {
		began := make(chan struct{}, 1)
		b := newBench(t, db, func(_ *jobs.Options, f *fakeSessions) {
			f.answer = func(done <-chan struct{}, message string) (string, error) {
				switch message {
				case "fail":
					return "", errors.New("model refused")
				case "hold":
					began <- struct{}{}
					<-done
					return "", errors.New("interrupted")
				}
				return "READY", nil
			}
		})
		notes := func() map[string]string {
			found := map[string]string{}
			for _, entry := range b.entries("worker-1") {
				if entry.Type != "agent.worker.lifecycle" || entry.Role != "system" || entry.Details == nil ||
					entry.StartedAt == nil {
					t.Errorf("noted %+v", entry)
				}
				found[entry.MessageID] = string(entry.Status) + " " + entry.Content
			}
			return found
		}
		done := b.instruct(object{"bootstrapInstruction": object{"key": "k1", "instructionText": "Boot."},
			"itemId": "item-1"})
		failed := b.instruct(object{"instructionText": "fail"})
		// A stored suggestion ends its job before the turn ends.
		early := b.enqueue(object{"instructionText": "hold", "jobKind": "suggest_request",
			"completionSignal": object{"kind": "suggested_request", "requestKey": "k"}})
		<-began
		if _, err := b.suggestions.Upsert(t.Context(), source, "k",
			jobs.Suggestion{Status: jobs.SuggestionComplete, Suggestion: "Go on."}); err != nil {
			t.Fatal(err)
		}
		if job := b.wait(early.ID); job.State != queue.Completed {
			t.Errorf("ended %s", job.State)
		}
		canceled := b.enqueue(object{"instructionText": "hold", "dedupeKey": "canceled"})
		<-began
		last := "agent-worker-lifecycle::job::" + canceled.ID + "::turn-6"
		b.eventually("it shows while it runs", func() bool {
			return notes()[last] == `streaming Processing queue job "review".`
		})
		if _, err := b.queue.Cancel(t.Context(), canceled.ID, "api_cancel"); err != nil {
			t.Fatal(err)
		}
		b.eventually("it shows as canceled", func() bool { return strings.HasPrefix(notes()[last], "canceled ") })
		all := notes()
		for id, want := range map[string]string{
			"core-orientation::turn-1":         "complete Core queue-runner orientation completed.",
			"extension-bootstrap::k1::turn-2":  "complete Extension bootstrap instruction completed (k1).",
			"job::" + done.ID + "::turn-3":     `complete Queue job "review" completed.`,
			"job::" + failed.ID + "::turn-4":   `error Queue job "review" failed: worker turn failed: model refused`,
			"job::" + early.ID + "::turn-5":    `complete Queue job "suggest_request" completed.`,
			"job::" + canceled.ID + "::turn-6": `canceled Queue job "review" canceled.`,
		} {
			if got := all["agent-worker-lifecycle::"+id]; got != want {
				t.Errorf("%s: %q, want %q", id, got, want)
			}
		}
		if len(all) != 6 {
			t.Errorf("noted %v", all)
		}
	})
}
