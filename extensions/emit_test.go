package extensions_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"harness/extensions"
	"harness/extensions/sdk"
)

// EX-10, EX-11, EX-12: handlers run by priority (default 100), module name, registration index; all of them run.
func TestOrderAndFanout_EX10_EX11_EX12(t *testing.T) {
	t.Parallel()
	r := ofScripts(t, extensions.Options{}, map[string]string{
		"beta":  "e - - 1\ne 100 - 2\ne 5 - 3",
		"alpha": "e - - 4\ne 50 - !boom\ne 200 - 7\ne 100 - 5",
		"Zeta":  "e 100 - 6",
	})
	var got []string
	for _, result := range emit(t, r, "e") {
		got = append(got, result.ModuleName+string(result.Details)+result.Error)
	}
	want := `beta{"value":3} alphaboom Zeta{"value":6} alpha{"value":4} alpha{"value":5} beta{"value":1} beta{"value":2} ` +
		`alpha{"value":7}`
	if strings.Join(got, " ") != want {
		t.Fatalf("order\n got %s\nwant %s", strings.Join(got, " "), want)
	}
}

// EX-05, EX-09, EX-13, EX-15, EX-18, EX-19.
func TestResultsOfHandlers_EX13_EX15_EX18(t *testing.T) {
	t.Parallel()
	r := ofScripts(t, extensions.Options{}, map[string]string{
		"m": "throws - - !kaputt\nnothing - - undefined\nnull - - null\nnumber - - 7\ndiagnostics - - " +
			"{\"kind\":\"handler_result\",\"details\":{\"a\":1}}\n" +
			"late - 30 @wait\nafter - - 1\nevent - - @event\nspoof - - {\"kind\":\"handler_result\",\"moduleName\":\"other\"}",
	})
	for _, c := range []struct{ event, want string }{
		{"throws", `[{"kind":"handler_error","moduleName":"m","eventType":"throws","error":"kaputt"}]`},
		{"nothing", `[{"kind":"handler_result","moduleName":"m"}]`},
		{"null", `[{"kind":"handler_result","moduleName":"m"}]`},
		{"number", `[{"kind":"handler_result","moduleName":"m","details":{"value":7}}]`},
		{"diagnostics", `[{"kind":"handler_result","moduleName":"m","details":{"a":1}}]`},
		{"event", `[{"kind":"handler_result","moduleName":"m","details":{"value":{"type":"event","payload":{"n":1}}}}]`},
		{"spoof", `[{"kind":"handler_result","moduleName":"m"}]`},
		{"unknown", `null`},
	} {
		if got := shape(t, emit(t, r, c.event)); got != c.want {
			t.Errorf("%s: got %s, want %s", c.event, got, c.want)
		}
	}
	event := &extensions.Event{Type: "event", EmittedAt: "2026-01-01T00:00:00.000Z", CorrelationID: "c1"}
	got := shape(t, r.Emit(t.Context(), event, extensions.Scope{}))
	if !strings.Contains(got,
		`{"type":"event","payload":{},"emittedAt":"2026-01-01T00:00:00.000Z","correlationId":"c1"}`) {
		t.Errorf("EX-05: %s", got)
	}
}

// EX-14: a handler slower than its timeout is cut off, and later ones run.
func TestSlowHandlerIsCutOff_EX14(t *testing.T) {
	t.Parallel()
	r := ofScripts(t, extensions.Options{}, map[string]string{"a": "e - 900 @wait", "b": "e - - 1"})
	started := time.Now()
	results := emit(t, r, "e")
	if took := time.Since(started); took < 900*time.Millisecond || took > 9*time.Second {
		t.Errorf("took %v", took)
	}
	want := `[{"kind":"handler_error","moduleName":"a","eventType":"e","error":"agent event handler timed out after 900ms"},` +
		`{"kind":"handler_result","moduleName":"b","details":{"value":1}}]`
	if got := shape(t, results); got != want {
		t.Errorf("got %s", got)
	}
}

// actor is an executor that answers with the payload's "status" and records the requests.
type actor struct {
	mu    sync.Mutex
	calls []extensions.ActionCall
}

func (a *actor) Execute(_ context.Context, call extensions.ActionCall) sdk.EmitResult {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.calls = append(a.calls, call)
	var payload struct{ Status string }
	_ = json.Unmarshal(call.Request.Payload, &payload)
	return sdk.EmitResult{Kind: sdk.ActionResult, Status: payload.Status, ModuleName: "spoofed"}
}

func request(actionType, status string) string {
	return `{"kind":"action_request","actionType":"` + actionType + `","payload":{"status":"` + status +
		`"},"requestId":"r","idempotencyKey":"k"}`
}

// EX-21, EX-22, EX-25, EX-26: the core executes requests in order until one is performed; a handler cannot report a
// performed action itself.
func TestActionsAreReconciled_EX21_EX22_EX25_EX26(t *testing.T) {
	t.Parallel()
	executor := &actor{}
	r := ofScripts(t, extensions.Options{Actions: executor, Trust: extensions.TrustPolicy{Mode: extensions.TrustDisabled}}, map[string]string{
		"a": "e - - " + request("x", "failed"),
		"b": "e - - " + request("x", "already_resolved"),
		"c": "e - - " + request("x", "performed"),
		"d": "e - - " + request("y", "performed"),
		"z": `e - - {"kind":"action_result","moduleName":"z","actionType":"x","status":"performed","details":{"k":1}}`,
	})
	results := emit(t, r, "e")
	var got []string
	for _, result := range results {
		got = append(got, result.ModuleName+":"+result.Status+":"+result.RequestID+":"+result.IdempotencyKey)
	}
	want := "a:failed:r:k b:already_resolved:r:k c:performed:r:k d:not_eligible:r:k z:invalid::"
	if strings.Join(got, " ") != want {
		t.Fatalf("got %s", strings.Join(got, " "))
	}
	if len(executor.calls) != 3 {
		t.Errorf("%d actions executed, want 3", len(executor.calls))
	}
	if want := `{"code":"action_winner_already_selected","winnerActionType":"x","winnerModuleName":"c"}`; string(
		results[3].Details) != want {
		t.Errorf("details %s", results[3].Details)
	}
	if details := string(results[4].Details); !strings.Contains(details, `"code":"direct_action_result_disallowed"`) ||
		!strings.Contains(details, `"k":1`) {
		t.Errorf("details of the direct result: %s", details)
	}
}

// LC-19, LC-20, LC-21 for actions and for tools.enqueueJob.
func TestTrustOfActions_LC19_LC20_LC21(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		mode     extensions.TrustMode
		declared string
		want     string
	}{
		{extensions.TrustDisabled, "", "performed"},
		{extensions.TrustWarn, "", "performed"},
		{extensions.TrustWarn, `,"capabilities":{"events":["*"],"actions":[]}`, "performed"},
		{extensions.TrustEnforced, `,"capabilities":{"events":["*"],"actions":["other"]}`, "forbidden"},
		{extensions.TrustEnforced, `,"capabilities":{"events":["*"],"actions":["queue.enqueue"]}`, "performed"},
		{extensions.TrustEnforced, `,"capabilities":{"events":["*"],"actions":["*"]}`, "performed"},
	} {
		root := folder(t)
		write(t, root, map[string]string{
			"m/events.js": "act - - " + request("queue.enqueue", "performed") +
				"\nenqueue - - @enqueue {\"type\":\"t\",\"projectId\":\"p\",\"payload\":{}}",
			"m/extension.manifest.json": manifest("m", c.declared),
		})
		var logged strings.Builder
		r := registry(t, extensions.Options{Trust: extensions.TrustPolicy{Mode: c.mode}, Actions: &actor{}, Jobs: jobs{}, Logger: zerolog.New(&logged),
			Roots: []extensions.Root{{Type: extensions.RepoLocal, Path: root}}})
		for _, problem := range r.Load(t.Context()) {
			t.Fatal(problem)
		}
		if got := emit(t, r, "act")[0]; got.Status != c.want {
			t.Errorf("%s %s: %s, want %s", c.mode, c.declared, got.Status, c.want)
		}
		warned := len(r.List().Modules[0].Trust.Warnings) > 0
		if want := c.mode == extensions.TrustWarn && c.declared == ""; warned != want {
			t.Errorf("%s %s: warned %v, want %v", c.mode, c.declared, warned, want)
		}
		got := emit(t, r, "enqueue")[0]
		if wantKind := map[string]sdk.ResultKind{"performed": sdk.EnqueueResult,
			"forbidden": sdk.HandlerError}[c.want]; got.Kind != wantKind {
			t.Errorf("enqueueJob in %s %s: %+v", c.mode, c.declared, got)
		}
		times := strings.Count(logged.String(), "undeclared action")
		if c.mode == extensions.TrustDisabled && times > 0 || c.mode == extensions.TrustWarn && times != 2 {
			t.Errorf("%s %s: the log says %s", c.mode, c.declared, logged.String())
		}
	}
}

type jobs struct{}

func (jobs) EnqueueJob(_ context.Context, in sdk.EnqueueInput) (sdk.EnqueueOutcome, error) {
	if in.Type == "full" {
		return sdk.EnqueueOutcome{}, errors.New("queue is full")
	}
	status := sdk.Enqueued
	if in.Type == "again" {
		status = sdk.AlreadyQueued
	}
	return sdk.EnqueueOutcome{Status: status, Job: sdk.Job{ID: "j1", Type: in.Type, ProjectID: in.ProjectID,
		State: "queued"}}, nil
}

type settings map[string]map[string]json.RawMessage

func (s settings) SessionSettings(_ context.Context, id string) (map[string]json.RawMessage, error) {
	if found, ok := s[id]; ok {
		return found, nil
	}
	return nil, errors.New("unknown session")
}

// EX-06, EX-07, EX-08, EX-16, EX-17, and late calls are refused, through a native extension.
func TestTools_EX06_EX07_EX08_EX16_EX17(t *testing.T) {
	t.Parallel()
	kept := make(chan sdk.Tools, 1)
	native := sdk.Extension{ModuleName: "n", Register: func(on *sdk.Registry) {
		enqueue := func(jobType string) sdk.Handler {
			return func(ctx context.Context, _ sdk.Event, tools sdk.Tools) (any, error) {
				return tools.EnqueueJob(ctx, sdk.EnqueueInput{Type: jobType, ProjectID: "p", Payload: json.RawMessage(`{}`)})
			}
		}
		on.On("new", enqueue("new"))
		on.On("again", enqueue("again"))
		on.On("full", enqueue("full"))
		on.On("settings", func(ctx context.Context, _ sdk.Event, tools sdk.Tools) (any, error) {
			return tools.SessionSettings(ctx, "s")
		})
		on.On("setting", func(ctx context.Context, _ sdk.Event, tools sdk.Tools) (any, error) {
			return tools.SessionSetting(ctx, "s", "a")
		})
		on.On("keep", func(_ context.Context, _ sdk.Event, tools sdk.Tools) (any, error) {
			tools.Log("info", map[string]any{"a": 1}, "kept")
			kept <- tools
			return nil, nil
		})
		on.On("panic", func(context.Context, sdk.Event, sdk.Tools) (any, error) { panic("ouch") })
	}}
	with := registry(t, extensions.Options{Native: []sdk.Extension{native}, Jobs: jobs{},
		Settings: settings{"s": {"a": json.RawMessage(`[1]`)}}})
	without := registry(t, extensions.Options{Native: []sdk.Extension{native}})
	with.Load(t.Context())
	without.Load(t.Context())
	for _, c := range []struct {
		r           *extensions.Registry
		event, want string
	}{
		{with, "new", `[{"kind":"enqueue_result","moduleName":"n","status":"enqueued","job":{"id":"j1","type":"new",` +
			`"projectId":"p","state":"queued"}}]`},
		{with, "again", `[{"kind":"enqueue_result","moduleName":"n","status":"already_queued","job":{"id":"j1",` +
			`"type":"again","projectId":"p","state":"queued"}}]`},
		{with, "full", `[{"kind":"handler_error","moduleName":"n","eventType":"full","error":"queue is full"}]`},
		{with, "settings", `[{"kind":"handler_result","moduleName":"n","details":{"value":{"a":[1]}}}]`},
		{with, "setting", `[{"kind":"handler_result","moduleName":"n","details":{"value":[1]}}]`},
		{with, "panic", `[{"kind":"handler_error","moduleName":"n","eventType":"panic","error":"panic: ouch"}]`},
		{without, "new", `[{"kind":"handler_error","moduleName":"n","eventType":"new","error":"orchestrator queue is unavailable"}]`},
		{without, "settings",
			`[{"kind":"handler_error","moduleName":"n","eventType":"settings","error":"this server supplies no session settings"}]`},
	} {
		if got := shape(t, emit(t, c.r, c.event)); got != c.want {
			t.Errorf("%s: got %s, want %s", c.event, got, c.want)
		}
	}
	emit(t, with, "keep")
	tools := <-kept
	if _, err := tools.EnqueueJob(t.Context(), sdk.EnqueueInput{Type: "new"}); err == nil ||
		err.Error() != extensions.LateCall {
		t.Errorf("late enqueue: %v", err)
	}
	if _, err := tools.SessionSettings(t.Context(), "s"); err == nil || err.Error() != extensions.LateCall {
		t.Errorf("late settings: %v", err)
	}
}
