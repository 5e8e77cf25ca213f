package js_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"harness/extensions"
	"harness/extensions/js"
	"harness/extensions/process"
	"harness/extensions/sdk"
	"harness/tests/extensionstest"
)

// registry loads all extensions below a folder with both hosts.
func registry(t testing.TB, root string, jobs extensions.Jobs, actions extensions.Actions,
	settings extensions.Settings) *extensions.Registry {
	t.Helper()
	children, err := process.New(context.Background(), process.Options{Dir: filepath.Join(t.TempDir(), "children"),
		Logger: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	r := extensions.New(extensions.Options{
		Roots: []extensions.Root{{Type: extensions.ConfiguredRoot, Path: root}},
		Hosts: []extensions.Host{newHost(js.Limits{}), children}, Jobs: jobs, Actions: actions, Settings: settings,
		Logger: zerolog.Nop(), LoadTimeout: time.Minute,
	})
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := r.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	if problems := r.Load(context.Background()); len(problems) > 0 {
		t.Fatal(problems)
	}
	return r
}

// world is the part of the product that extensions act on.
type world struct {
	mu       sync.Mutex
	jobs     []sdk.EnqueueInput
	requests []sdk.ActionRequest
}

func (w *world) EnqueueJob(_ context.Context, input sdk.EnqueueInput) (sdk.EnqueueOutcome, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.jobs = append(w.jobs, input)
	return sdk.EnqueueOutcome{Status: sdk.Enqueued, Job: sdk.Job{ID: fmt.Sprint("j", len(w.jobs)), Type: input.Type,
		ProjectID: input.ProjectID, State: "queued"}}, nil
}

func (w *world) Execute(_ context.Context, call extensions.ActionCall) sdk.EmitResult {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.requests = append(w.requests, call.Request)
	return sdk.EmitResult{Kind: sdk.ActionResult, ModuleName: call.ModuleName, ActionType: call.Request.ActionType,
		Status: string(sdk.Performed)}
}

func (w *world) SessionSettings(_ context.Context, id string) (map[string]json.RawMessage, error) {
	return map[string]json.RawMessage{"reviewNotes": json.RawMessage(fmt.Sprint(id != "quiet"))}, nil
}

// The examples load and work as documented: TypeScript embedded, Python as a process.
func TestExamples(t *testing.T) {
	t.Parallel()
	w := &world{}
	r := registry(t, "../../docs/examples/agents", w, w, w)
	emit := func(eventType, payload string) []sdk.EmitResult {
		return r.Emit(t.Context(), &extensions.Event{Type: eventType, Payload: json.RawMessage(payload)},
			extensions.Scope{ProjectID: "p", SessionID: "s", TurnID: "t1"})
	}
	one := func(results []sdk.EmitResult, module string) sdk.EmitResult {
		t.Helper()
		for _, result := range results {
			if result.ModuleName == module {
				return result
			}
		}
		t.Fatalf("%s did not answer: %+v", module, results)
		return sdk.EmitResult{}
	}
	place := `"context":{"projectId":"p","sourceSessionId":"s","threadId":"th","turnId":"t1","itemId":"i1"}`
	if got := one(emit("file_change.approval_requested", `{`+place+`,"summary":"Edit a.txt","details":"+1 -1"}`),
		"review-notes"); got.Status != "performed" {
		t.Errorf("%+v", got)
	}
	if len(w.requests) != 1 || w.requests[0].IdempotencyKey != "review-notes:t1:i1" ||
		!strings.Contains(string(w.requests[0].Payload), "Waiting for approval: Edit a.txt — +1 -1") {
		t.Errorf("%+v", w.requests)
	}
	if got := one(emit("turn.completed", `{`+place+`,"hadFileChangeRequests":true,"turnTranscriptSnapshot":"hello"}`),
		"review-notes"); got.Status != "enqueued" {
		t.Errorf("%+v", got)
	}
	quiet := strings.Replace(place, `"s"`, `"quiet"`, 1)
	if got := one(emit("turn.completed", `{`+quiet+`,"hadFileChangeRequests":true}`),
		"review-notes"); got.Kind != sdk.HandlerResult {
		t.Errorf("%+v", got)
	}
	suggestion := `{"requestKey":"k","sessionId":"s","projectId":"p","threadId":"th","turnId":"t1","userRequest":"more","turnTranscript":"x"}`
	if got := one(emit("suggest_request.requested", suggestion), "turn-log"); got.Status != "enqueued" || got.Job == nil {
		t.Errorf("%+v", got)
	}
	if got := one(emit("suggest_request.requested", `{}`), "turn-log"); got.Kind != sdk.HandlerError ||
		got.Error != "'projectId'" {
		t.Errorf("%+v", got)
	}
	if got := one(emit("app_server.turn.completed", `{"context":{"threadId":"th"}}`),
		"turn-log"); got.Kind != sdk.HandlerResult {
		t.Errorf("%+v", got)
	}
	if len(w.jobs) != 6 {
		t.Errorf("%+v", w.jobs)
	}
}

// many writes n extensions that answer with a generation number.
func many(t testing.TB, root string, n, generation int) {
	t.Helper()
	files := map[string]string{}
	for i := range n {
		files[fmt.Sprintf("m%02d/events.mjs", i)] =
			`import { answer } from "./lib/answer.mjs"; export function registerAgentEvents(registry) { registry.on("e", async () => answer()); }`
		files[fmt.Sprintf("m%02d/lib/answer.mjs", i)] = fmt.Sprintf("export const answer = () => %d;", generation)
	}
	extensionstest.Put(t, root, files)
}

// LC-04 with real machines: 50 extensions are swapped while emits run. No emit fails, and each one sees all old or all
// new extensions.
func TestReloadOfFifty(t *testing.T) {
	t.Parallel()
	const modules = 50
	root := extensionstest.Write(t, nil)
	many(t, root, modules, 0)
	r := registry(t, root, nil, nil, nil)
	stop := make(chan struct{})
	var emits, mixed, failed atomic.Int64
	var group sync.WaitGroup
	group.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			results := r.Emit(context.Background(), &extensions.Event{Type: "e"}, extensions.Scope{})
			emits.Add(1)
			if len(results) != modules {
				failed.Add(1)
				continue
			}
			for _, result := range results {
				if result.Kind != sdk.HandlerResult {
					failed.Add(1)
				} else if string(result.Details) != string(results[0].Details) {
					mixed.Add(1)
				}
			}
		}
	})
	for generation := 1; generation <= 2; generation++ {
		many(t, root, modules, generation)
		if result := r.Reload(t.Context(), fmt.Sprint("reload-", generation)); len(result.Errors) > 0 {
			t.Errorf("%+v", result)
		}
		results := r.Emit(t.Context(), &extensions.Event{Type: "e"}, extensions.Scope{})
		if want := fmt.Sprintf(`{"value":%d}`, generation); len(results) != modules || string(results[0].Details) != want {
			t.Errorf("after the reload: %d results, %+v", len(results), results[0])
		}
	}
	close(stop)
	group.Wait()
	if emits.Load() == 0 || failed.Load() > 0 || mixed.Load() > 0 {
		t.Errorf("%d emits, %d failed, %d mixed", emits.Load(), failed.Load(), mixed.Load())
	}
}
