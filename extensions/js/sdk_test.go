package js_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"harness/extensions"
	"harness/extensions/js"
	"harness/extensions/sdk"
	"harness/tests/extensionstest"
)

// The SDKs for JavaScript and Go return the same results for the same values (EX-19, EX-20, EX-29 to EX-32).
func TestSDKsAgree(t *testing.T) {
	t.Parallel()
	values := []string{
		`null`, `1`, `"x"`, `[]`, `{}`, `{"kind":"handler_error","error":"e"}`,
		`{"kind":"handler_error","error":"e","eventType":"o"}`, `{"kind":"handler_error"}`, `{"kind":"handler_result"}`,
		`{"kind":"handler_result","details":{"a":1}}`, `{"kind":"handler_result","details":3}`,
		`{"status":"enqueued","job":{"id":"1","type":"t","projectId":"p","state":"queued"}}`,
		`{"status":"enqueued","job":{"id":1}}`,
		`{"kind":"enqueue_result","status":"already_queued","job":{"id":"1","type":"t","projectId":"p","state":"running"}}`,
		`{"kind":"action_result","actionType":"approval.decide","status":"performed","requestId":"r","details":{"b":2}}`,
		`{"kind":"action_result","actionType":"approval.decide","status":"odd"}`,
		`{"kind":"action_request","actionType":"x","payload":{}}`, `{"actionType":"queue.enqueue","status":"conflict"}`,
		`{"actionType":"queue.enqueue","status":"forbidden"}`,
	}
	code := `import * as sdk from "@codex-manager/agent-runtime-sdk";
		export function registerAgentEvents(registry) {
			registry.on("e", ({payload: {values}}) => {
				const results = values.map((value) => sdk.toAgentEventEmitResult("m", "t", value));
				const plan = sdk.selectActionExecutionPlan(results);
				return {
					results, plan,
					classes: results.filter((one) => one.kind === "action_result").map((one) => sdk.classifyReconciledActionStatus(one.status)),
					winners: [sdk.selectEnqueueWinner(results), sdk.selectEnqueueWinner(results, "prefer_existing"), sdk.selectEnqueueWinner([])],
					first: sdk.selectFirstSuccessfulAction(results),
					error: sdk.toAgentEventHandlerError("m", "t", new Error("boom")),
				};
			});
		}`
	module := load(t, newHost(js.Limits{}), code)
	payload := `{"values":[`
	want := map[string]any{}
	var results []sdk.EmitResult
	classes := []sdk.ActionClass{}
	for i, value := range values {
		if i > 0 {
			payload += ","
		}
		payload += value
		result := sdk.ToAgentEventEmitResult("m", "t", json.RawMessage(value))
		results = append(results, result)
		if result.Kind == sdk.ActionResult {
			classes = append(classes, sdk.ClassifyReconciledActionStatus(sdk.ActionStatus(result.Status)))
		}
	}
	plan := sdk.SelectActionExecutionPlan(results)
	want["results"], want["classes"] = results, classes
	want["plan"] = map[string]any{"winner": plan.Winner, "reconciled": plan.Reconciled, "failed": plan.Failed}
	want["winners"] = []*sdk.EmitResult{sdk.SelectEnqueueWinner(results, ""),
		sdk.SelectEnqueueWinner(results, sdk.PreferExisting), nil}
	want["first"] = sdk.SelectFirstSuccessfulAction(results)
	want["error"] = sdk.ToAgentEventHandlerError("m", "t", errBoom{})
	out, err := module.Handle(t.Context(), 0, &extensions.Event{Type: "e", Payload: json.RawMessage(payload + "]}")},
		&extensionstest.Tools{})
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got, expected any
	if json.Unmarshal(out, &got) != nil || json.Unmarshal(raw, &expected) != nil {
		t.Fatalf("%s", out)
	}
	if !reflect.DeepEqual(got, expected) {
		t.Errorf("JavaScript says\n%s\nGo says\n%s", out, raw)
	}
}

type errBoom struct{}

func (errBoom) Error() string { return "boom" }
