package sdk_test

import (
	"encoding/json"
	"errors"
	"testing"

	"harness/extensions/sdk"
)

func encoded(t *testing.T, value any) string {
	t.Helper()
	raw, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// EX-01, EX-02.
func TestProfile_EX01_EX02(t *testing.T) {
	t.Parallel()
	got := encoded(t, sdk.Profile{RuntimeProfileID: "p", RuntimeProfileVersion: "1.0.0",
		CoreAPIVersion: sdk.AgentRuntimeCoreAPIVersion})
	if want := `{"runtimeProfileId":"p","runtimeProfileVersion":"1.0.0","coreApiVersion":1}`; got != want {
		t.Errorf("got %s", got)
	}
}

// EX-15, EX-18, EX-19: any JSON becomes one of the four kinds.
func TestToAgentEventEmitResult_EX19(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		``:                          `{"kind":"handler_result","moduleName":"m"}`,
		`null`:                      `{"kind":"handler_result","moduleName":"m"}`,
		`5`:                         `{"kind":"handler_result","moduleName":"m","details":{"value":5}}`,
		`"x"`:                       `{"kind":"handler_result","moduleName":"m","details":{"value":"x"}}`,
		`[1]`:                       `{"kind":"handler_result","moduleName":"m","details":{"value":[1]}}`,
		`{"a":1}`:                   `{"kind":"handler_result","moduleName":"m","details":{"value":{"a":1}}}`,
		`{"kind":7}`:                `{"kind":"handler_result","moduleName":"m","details":{"value":{"kind":7}}}`,
		`{"kind":"handler_result"}`: `{"kind":"handler_result","moduleName":"m"}`,
		`{"kind":"handler_result","details":{"a":1},"moduleName":"x"}`:                                    `{"kind":"handler_result","moduleName":"m","details":{"a":1}}`,
		`{"kind":"handler_result","details":"text"}`:                                                      `{"kind":"handler_result","moduleName":"m"}`,
		`{"status":"enqueued","job":{"id":"1","type":"t","projectId":"p","state":"queued"}}`:              `{"kind":"enqueue_result","moduleName":"m","status":"enqueued","job":{"id":"1","type":"t","projectId":"p","state":"queued"}}`,
		`{"kind":"enqueue_result","status":"already_queued","job":{"id":"1","type":"t","projectId":"p"}}`: `{"kind":"enqueue_result","moduleName":"m","status":"already_queued","job":{"id":"1","type":"t","projectId":"p","state":""}}`,
		`{"status":"enqueued","job":{"id":1}}`:                                                            `{"kind":"handler_result","moduleName":"m","details":{"value":{"status":"enqueued","job":{"id":1}}}}`,
		`{"actionType":"a","status":"conflict","requestId":"r","details":{"x":1}}`:                        `{"kind":"action_result","moduleName":"m","actionType":"a","status":"conflict","requestId":"r","details":{"x":1}}`,
		`{"actionType":"a","status":"great"}`:                                                             `{"kind":"handler_result","moduleName":"m","details":{"value":{"actionType":"a","status":"great"}}}`,
		`{"kind":"handler_error","error":"e"}`:                                                            `{"kind":"handler_error","moduleName":"m","eventType":"t","error":"e"}`,
		`{broken`:                                                                                         `{"kind":"handler_result","moduleName":"m"}`,
	} {
		if got := encoded(t, sdk.ToAgentEventEmitResult("m", "t", json.RawMessage(raw))); got != want {
			t.Errorf("%s\n got %s\nwant %s", raw, got, want)
		}
	}
}

// EX-20.
func TestToAgentEventHandlerError_EX20(t *testing.T) {
	t.Parallel()
	if got := encoded(t,
		sdk.ToAgentEventHandlerError("m", "t",
			errors.New("e"))); got != `{"kind":"handler_error","moduleName":"m","eventType":"t","error":"e"}` {
		t.Errorf("got %s", got)
	}
	if got := sdk.ToAgentEventHandlerError("m", "t", nil); got.Error == "" {
		t.Error("a failure without an error has no words")
	}
}

// EX-28, EX-29.
func TestClassify_EX28_EX29(t *testing.T) {
	t.Parallel()
	for status, want := range map[sdk.ActionStatus]sdk.ActionClass{
		sdk.Performed: sdk.Winner, sdk.AlreadyResolved: sdk.Reconciled, sdk.NotEligible: sdk.Reconciled,
		sdk.Conflict: sdk.Reconciled, sdk.Forbidden: sdk.FailedPath, sdk.Invalid: sdk.FailedPath, sdk.Failed: sdk.FailedPath,
		"other": sdk.FailedPath,
	} {
		if got := sdk.ClassifyReconciledActionStatus(status); got != want || (status != "other") != status.Valid() {
			t.Errorf("%s: %s, valid %v", status, got, status.Valid())
		}
	}
}

// EX-30, EX-31, EX-32.
func TestSelect_EX30_EX31_EX32(t *testing.T) {
	t.Parallel()
	action := func(name string, status sdk.ActionStatus) sdk.EmitResult {
		return sdk.EmitResult{Kind: sdk.ActionResult, ModuleName: name, Status: string(status)}
	}
	job := func(name, status string) sdk.EmitResult {
		return sdk.EmitResult{Kind: sdk.EnqueueResult, ModuleName: name, Status: status}
	}
	results := []sdk.EmitResult{job("q1", sdk.AlreadyQueued), action("a", sdk.Failed), action("b", sdk.AlreadyResolved),
		action("c", sdk.Performed), action("d", sdk.Performed), action("e", sdk.NotEligible), job("q2", sdk.Enqueued),
		{Kind: sdk.HandlerError, ModuleName: "h", Status: "performed"}}
	if got := sdk.SelectFirstSuccessfulAction(results); got == nil || got.ModuleName != "c" {
		t.Errorf("first successful: %+v", got)
	}
	plan := sdk.SelectActionExecutionPlan(results)
	names := func(list []sdk.EmitResult) (out string) {
		for _, r := range list {
			out += r.ModuleName
		}
		return out
	}
	if plan.Winner.ModuleName != "c" || names(plan.Reconciled) != "bde" || names(plan.Failed) != "a" {
		t.Errorf("plan: %s, %s, %s", plan.Winner.ModuleName, names(plan.Reconciled), names(plan.Failed))
	}
	for _, c := range []struct {
		strategy sdk.EnqueueStrategy
		list     []sdk.EmitResult
		want     string
	}{
		{"", results, "q2"}, {sdk.PreferEnqueued, results[:1], "q1"}, {sdk.PreferExisting, results, "q1"},
		{sdk.PreferExisting, results[6:], "q2"}, {sdk.PreferEnqueued, results[1:3], ""},
	} {
		got := ""
		if winner := sdk.SelectEnqueueWinner(c.list, c.strategy); winner != nil {
			got = winner.ModuleName
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.strategy, got, c.want)
		}
	}
	if empty := sdk.SelectActionExecutionPlan(nil); empty.Winner != nil || sdk.SelectFirstSuccessfulAction(nil) != nil {
		t.Error("nothing has no winner")
	}
}

// EX-21: which results are action requests.
func TestAsActionRequest(t *testing.T) {
	t.Parallel()
	raw, err := json.Marshal(sdk.NewAction(sdk.ActionQueueEnqueue, map[string]int{"a": 1}))
	if err != nil {
		t.Fatal(err)
	}
	request, ok := sdk.AsActionRequest(raw)
	if !ok || request.ActionType != "queue.enqueue" || string(request.Payload) != `{"a":1}` {
		t.Errorf("got %+v, %v", request, ok)
	}
	for _, raw := range []string{``, `null`, `[]`, `{"kind":"action_request"}`,
		`{"kind":"action_request","actionType":1,"payload":{}}`,
		`{"kind":"action_request","actionType":"a","payload":[]}`, `{"kind":"other","actionType":"a","payload":{}}`} {
		if _, ok := sdk.AsActionRequest(json.RawMessage(raw)); ok {
			t.Errorf("%s is no action request", raw)
		}
	}
}

func FuzzToAgentEventEmitResult(f *testing.F) {
	f.Add([]byte(`{"kind":"enqueue_result","status":"enqueued","job":{}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		result := sdk.ToAgentEventEmitResult("m", "t", raw)
		switch result.Kind {
		case sdk.EnqueueResult, sdk.ActionResult, sdk.HandlerResult, sdk.HandlerError:
		default:
			t.Errorf("kind %q", result.Kind)
		}
		if result.ModuleName != "m" || !json.Valid([]byte(encoded(t, result))) {
			t.Errorf("%+v", result)
		}
	})
}
