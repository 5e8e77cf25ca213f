package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"harness/internal/services/tools"
)

// record stores events in memory, and checks the order of each call's events.
type record struct {
	t  *testing.T
	mu sync.Mutex
	// events by call, in order.
	events map[string][]tools.Event
	// opened is the last call.
	opened tools.Call
	calls  int
	cutOff bool
	// refuse is the type of event that the store refuses.
	refuse string
	// opens is called when a call is opened; it may be nil.
	opens func()
}

var errStore = errors.New("the store is full")

func newRecord(t *testing.T) *record { return &record{t: t, events: map[string][]tools.Event{}} }

func (r *record) Open(_ context.Context, call tools.Call, requested tools.Requested) (tools.Call, bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls++
	call.ID, call.Attempt = fmt.Sprintf("call-%d", r.calls), 1
	r.events[call.ID], r.opened = []tools.Event{requested}, call
	if r.opens != nil {
		r.opens()
	}
	return call, r.cutOff, nil
}

func (r *record) Record(_ context.Context, call tools.Call, events ...tools.Event) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, event := range events {
		if event.Type() == r.refuse {
			return errStore
		}
		r.events[call.ID] = append(r.events[call.ID], event)
	}
	return nil
}

// types returns the types of a call's events.
func (r *record) types(id string) (types []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, event := range r.events[id] {
		types = append(types, strings.TrimPrefix(event.Type(), "tool."))
	}
	return types
}

func last[T tools.Event](r *record, id string) (found T) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, event := range r.events[id] {
		if one, is := event.(T); is {
			found = one
		}
	}
	return found
}

// person answers approval requests.
type person func(ctx context.Context, call tools.Call) (tools.Answer, error)

func (p person) Ask(ctx context.Context, call tools.Call, _ tools.Class, _ string) (tools.Answer, error) {
	return p(ctx, call)
}

func noPerson(t *testing.T) person {
	return func(_ context.Context, call tools.Call) (tools.Answer, error) {
		t.Errorf("a person was asked about %s", call.Tool)
		return tools.Answer{}, errors.New("no person is there")
	}
}

func answers(answer tools.Answer) person {
	return func(context.Context, tools.Call) (tools.Answer, error) { return answer, nil }
}

func unconfined() map[tools.Class]tools.Sandbox {
	in := map[tools.Class]tools.Sandbox{}
	for _, class := range tools.Classes() {
		in[class] = tools.NewInProcess()
	}
	return in
}

func call(name, input string) tools.Call {
	return tools.Call{SessionID: "s", Tool: name, Input: json.RawMessage(input), Workspace: "/w"}
}

var (
	ran    = []string{"call.requested", "call.policy_evaluated", "call.approved", "call.started", "call.completed"}
	denied = []string{"call.requested", "call.policy_evaluated", "call.denied"}
	asked  = []string{"call.requested", "call.policy_evaluated", "call.policy_evaluated", "call.approved", "call.started",
		"call.completed"}
)

// TL-02, TL-03, TL-10, TL-20, TL-24, TL-29: the outcomes of calls, each with its events in order and one decision; only
// approved calls run.
func TestOutcomesOfCalls(t *testing.T) {
	t.Parallel()
	auto, ask := tools.Policy{Mode: tools.ModeAuto}, tools.Policy{}
	allow := tools.Overrides{AllowTools: []string{"a.write"}}
	for name, c := range map[string]struct {
		tool, input string
		policy      tools.Policy
		person      person
		runtime     *tools.Opinion
		cutOff      bool
		types       []string
		output      string
		runs        int
	}{
		"read in auto":       {tool: "a.read", policy: auto, types: ran, output: `{"n":1}`, runs: 1},
		"named as agents do": {tool: "a_read", policy: auto, types: ran, output: `{"n":1}`, runs: 1},
		"write in auto, yes": {tool: "a.write", policy: auto, person: answers(tools.Answer{Allow: true, Actor: "ann"}),
			types: asked, output: `{"n":1}`, runs: 1},
		"write in ask, no": {tool: "a.write", policy: ask,
			person: answers(tools.Answer{Actor: "ann", Reason: "not on a Friday"}),
			types:  slices.Insert(slices.Clone(denied), 1, "call.policy_evaluated"),
			output: `{"error":"denied by ann: not on a Friday"}`},
		"no person is there": {tool: "a.write", policy: tools.Policy{NonInteractive: true}, types: denied,
			output: `{"error":"approval required"}`},
		"denied by a rule": {tool: "a.write",
			policy: tools.Policy{Mode: tools.ModeYolo, Overrides: tools.Overrides{DenyTools: []string{"a.write"}}},
			types:  denied, output: `{"error":"denied by policy: override:deny_tool"}`},
		"denied by a runtime": {tool: "a.read", policy: auto,
			runtime: &tools.Opinion{Result: tools.Deny, Rule: "plan mode"},
			types:   slices.Insert(slices.Clone(denied), 1, "call.policy_evaluated"),
			output:  `{"error":"denied by policy: plan mode"}`},
		"unknown": {tool: "a.none", policy: tools.Policy{Mode: tools.ModeYolo}, types: denied,
			output: `{"error":"unknown tool: a.none"}`},
		"bad input": {tool: "a.read", input: `{"path":1,"z":2}`, policy: auto, types: denied,
			output: `{"error":"invalid tool input: /path must be string"}`},
		"bad output": {tool: "a.bad", policy: auto, types: ran,
			output: `{"error":"invalid tool output: / must have required property 'n'"}`, runs: 1},
		"a failure": {tool: "a.fails", policy: auto, types: ran, output: `{"error":"no such file"}`, runs: 1},
		"a panic": {tool: "a.breaks", policy: auto, types: ran,
			output: `{"error":"the tool a.breaks broke: oh"}`, runs: 1},
		"too slow": {tool: "a.slow", policy: auto, types: ran, output: `{"error":"timed out after 1ms"}`,
			runs: 1},
		"no sandbox": {tool: "a.exec", policy: tools.Policy{Mode: tools.ModeYolo}, types: denied,
			output: `{"error":"tools of class dangerous have no sandbox to run in; the operator has to configure one"}`},
		"cut off, but harmless": {tool: "a.read", policy: auto, cutOff: true, types: ran, output: `{"n":1}`, runs: 1},
		"cut off, yolo": {tool: "a.write", policy: tools.Policy{Mode: tools.ModeYolo}, cutOff: true,
			person: answers(tools.Answer{Actor: "ann"}), types: slices.Insert(slices.Clone(denied), 1, "call.policy_evaluated"),
			output: `{"error":"denied by ann"}`},
		"cut off, allowed": {tool: "a.write", policy: tools.Policy{Overrides: allow}, cutOff: true,
			person: answers(tools.Answer{Allow: true, Actor: "ann"}), types: asked, output: `{"n":1}`, runs: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runs := 0
			make := func(name string, class tools.Class, work func(context.Context) (json.RawMessage, error)) tools.Tool {
				one := tool(name, class)
				one.Input, one.Output = json.RawMessage(pathInput), json.RawMessage(`{"type":"object","required":["n"]}`)
				one.Run = func(ctx context.Context, _ tools.Job) (json.RawMessage, error) {
					runs++
					return work(ctx)
				}
				return one
			}
			good := func(context.Context) (json.RawMessage, error) { return json.RawMessage(`{"n":1}`), nil }
			slow := make("a.slow", tools.ReadOnly, func(ctx context.Context) (json.RawMessage, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			})
			slow.Timeout = time.Millisecond
			all := registry(t, make("a.read", tools.ReadOnly, good), make("a.write", tools.Write, good),
				make("a.exec", tools.Dangerous, good), slow,
				make("a.bad", tools.ReadOnly, func(context.Context) (json.RawMessage, error) { return json.RawMessage(`{}`), nil }),
				make("a.fails", tools.ReadOnly, func(context.Context) (json.RawMessage, error) {
					return nil, tools.Failf("no such file")
				}),
				make("a.breaks", tools.ReadOnly, func(context.Context) (json.RawMessage, error) { panic("oh") }))
			rec, in := newRecord(t), unconfined()
			rec.cutOff = c.cutOff
			delete(in, tools.Dangerous)
			if c.person == nil {
				c.person = noPerson(t)
			}
			if c.input == "" {
				c.input = `{"path":"p"}`
			}
			executor := tools.NewExecutor(tools.Options{Registry: all, Recorder: rec, Approver: c.person, Sandboxes: in})
			outcome, err := executor.Do(t.Context(), call(c.tool, c.input), c.policy, c.runtime)
			if err != nil {
				t.Fatal(err)
			}
			if string(outcome.Output) != c.output || outcome.IsError != strings.Contains(c.output, "error") || runs != c.runs ||
				outcome.Denied != (c.types[len(c.types)-1] == "call.denied") {
				t.Errorf("%+v after %d runs", outcome, runs)
			}
			if types := rec.types(outcome.CallID); !slices.Equal(types, c.types) {
				t.Errorf("the events are %v, want %v", types, c.types)
			}
			decision := last[tools.Approved](rec, outcome.CallID).Snapshot
			if outcome.Denied {
				decision = last[tools.Denied](rec, outcome.CallID).Snapshot
			}
			evaluated := 0
			for _, one := range c.types {
				if one == "call.policy_evaluated" {
					evaluated++
				}
			}
			if c.runtime != nil && (decision.Sources[0].Source != tools.SourceRuntime || decision.Sources[0].Rule != c.runtime.Rule) {
				t.Errorf("what the runtime thinks is shown as %+v", decision.Sources[0])
			}
			if len(decision.Sources) != evaluated || decision.Mode == "" ||
				(decision.Decision == tools.Allow) == outcome.Denied {
				t.Errorf("the decision says %+v", decision)
			}
			if ended := last[tools.Completed](rec, outcome.CallID); !outcome.Denied &&
				(ended.ExecutedBy != "harness" || ended.Name == "" ||
					ended.ExecutionEnv != tools.InProcess || ended.Sandbox.TimeoutMS == 0 || string(ended.ResultPreview) != c.output ||
					ended.Snapshot.Decision != tools.Allow) {
				t.Errorf("its end says %+v", ended)
			}
		})
	}
}

// A call that the agent abandoned during its approval does not run if the approval comes late. Its record says that it
// was abandoned.
func TestAGivenUpCallNeverRuns(t *testing.T) {
	t.Parallel()
	one := tool("a.write", tools.Write)
	one.Run = func(context.Context, tools.Job) (json.RawMessage, error) { t.Error("it ran"); return nil, nil }
	for name, late := range map[string]func(cancel context.CancelFunc) (tools.Answer, error){
		"asked no more": func(cancel context.CancelFunc) (tools.Answer, error) {
			cancel()
			return tools.Answer{}, context.Canceled
		},
		"approved after": func(cancel context.CancelFunc) (tools.Answer, error) {
			cancel()
			return tools.Answer{Allow: true, Actor: "ann"}, nil
		},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		rec := newRecord(t)
		executor := tools.NewExecutor(tools.Options{Registry: registry(t, one), Recorder: rec, Sandboxes: unconfined(),
			Approver: person(func(context.Context, tools.Call) (tools.Answer, error) { return late(cancel) })})
		_, err := executor.Do(ctx, call("a.write", `{}`), tools.Policy{}, nil)
		if !errors.Is(err, context.Canceled) || !slices.Equal(rec.types("call-1"), denied) ||
			!last[tools.Denied](rec, "call-1").Cancelled {
			t.Errorf("%s: %v, %v", name, err, rec.types("call-1"))
		}
	}
	// For a call without an approval request, the last check before the run counts.
	ctx, cancel := context.WithCancel(t.Context())
	rec := newRecord(t)
	rec.opens = cancel
	executor := tools.NewExecutor(tools.Options{Registry: registry(t, one), Recorder: rec, Sandboxes: unconfined(), Approver: noPerson(t)})
	_, err := executor.Do(ctx, call("a.write", `{}`), tools.Policy{Mode: tools.ModeYolo}, nil)
	if !errors.Is(err, context.Canceled) || !slices.Equal(rec.types("call-1"), denied) || !last[tools.Denied](rec, "call-1").Cancelled {
		t.Errorf("not asked about: %v, %v", err, rec.types("call-1"))
	}
}

// Nothing runs that could not be recorded first.
func TestNothingRunsUnrecorded(t *testing.T) {
	t.Parallel()
	for _, refuse := range []string{"tool.call.policy_evaluated", "tool.call.approved", "tool.call.started"} {
		one := tool("a.read", tools.ReadOnly)
		one.Run = func(context.Context, tools.Job) (json.RawMessage, error) {
			t.Errorf("it ran without %s", refuse)
			return nil, nil
		}
		rec := newRecord(t)
		rec.refuse = refuse
		executor := tools.NewExecutor(tools.Options{Registry: registry(t, one), Recorder: rec, Approver: noPerson(t),
			Sandboxes: unconfined()})
		if _, err := executor.Do(t.Context(), call("a.read", `{}`), tools.Policy{Mode: tools.ModeAuto}, nil); !errors.Is(err,
			errStore) {
			t.Errorf("without %s: %v", refuse, err)
		}
	}
}

type shelf struct{ kept []byte }

func (s *shelf) Content(_ context.Context, call tools.Call, id string) ([]byte, error) {
	if id != "of-"+call.SessionID {
		return nil, tools.Failf("this session has no artifact %s", id)
	}
	return []byte("its bytes"), nil
}

func (s *shelf) Keep(_ context.Context, _ tools.Call, name, contentType string, content []byte) (
	json.RawMessage, error) {
	s.kept = content
	return json.RawMessage(`{"name":"` + name + `","type":"` + contentType + `"}`), nil
}

// TL-19, TL-21: output arrives in deltas before the end, with complete characters; a long result is an artifact with a
// short preview.
func TestOutputAndLongResults(t *testing.T) {
	t.Parallel()
	long := `{"text":"` + strings.Repeat("é", 10_000) + `"}`
	one := tool("a.read", tools.ReadOnly)
	one.Run = func(_ context.Context, job tools.Job) (json.RawMessage, error) {
		for _, chunk := range []string{"one \xc3", "\xa9\n", "\xff"} {
			if _, err := job.Stdout.Write([]byte(chunk)); err != nil {
				return nil, err
			}
		}
		_, err := job.Stderr.Write([]byte("careful"))
		return json.RawMessage(long), err
	}
	rec, kept := newRecord(t), &shelf{}
	executor := tools.NewExecutor(tools.Options{Registry: registry(t, one), Recorder: rec, Approver: noPerson(t),
		Sandboxes: unconfined(), Artifacts: kept})
	outcome, err := executor.Do(t.Context(), call("a.read", `{}`), tools.Policy{Mode: tools.ModeAuto}, nil)
	if err != nil || string(outcome.Output) != long || string(kept.kept) != long {
		t.Fatalf("%v; %d bytes answered, %d kept", err, len(outcome.Output), len(kept.kept))
	}
	var said []string
	for _, event := range rec.events["call-1"] {
		if output, is := event.(tools.Output); is {
			said = append(said, output.Stream+":"+output.Delta)
		}
	}
	if want := []string{"stdout:one ", "stdout:é\n", "stdout:\uFFFD", "stderr:careful"}; !slices.Equal(said, want) {
		t.Errorf("it said %q, want %q", said, want)
	}
	ended := last[tools.Completed](rec, "call-1")
	var preview string
	if err := json.Unmarshal(ended.ResultPreview, &preview); err != nil || len([]rune(preview)) != 512 ||
		!strings.HasPrefix(long, preview) {
		t.Errorf("the preview is %s (%v)", ended.ResultPreview, err)
	}
	if string(ended.ResultRef) != `{"name":"tool_result.json","type":"application/json"}` ||
		ended.Stdout != "one é\n\uFFFD" || ended.Stderr != "careful" {
		t.Errorf("its end says %+v", ended)
	}
}

// TL-17: a run with too much output is stopped, whether or not it handles the error.
func TestEndlessOutputIsStopped(t *testing.T) {
	t.Parallel()
	for name, write := range map[string]func(context.Context, tools.Job) (json.RawMessage, error){
		"on stdout": func(ctx context.Context, job tools.Job) (json.RawMessage, error) {
			for ctx.Err() == nil {
				_, _ = job.Stdout.Write(make([]byte, 64<<10)) // it ignores the error
			}
			return json.RawMessage(`{}`), nil
		},
		"in its result": func(context.Context, tools.Job) (json.RawMessage, error) {
			return json.RawMessage(`{"a":"` + strings.Repeat("x", 2<<20) + `"}`), nil
		},
	} {
		one := tool("a.read", tools.ReadOnly)
		one.Run = write
		rec := newRecord(t)
		executor := tools.NewExecutor(tools.Options{Registry: registry(t, one), Recorder: rec, Approver: noPerson(t),
			Sandboxes: unconfined()})
		outcome, err := executor.Do(t.Context(), call("a.read", `{}`), tools.Policy{Mode: tools.ModeAuto}, nil)
		if err != nil || !outcome.IsError || !strings.Contains(string(outcome.Output), "above its limit of 1048576 bytes") {
			t.Errorf("%s: %v, %.200s", name, err, outcome.Output)
		}
	}
}

// TL-27: concurrent calls each get their own result.
func TestCallsAtOnce(t *testing.T) {
	t.Parallel()
	var there atomic.Int32
	one := tool("a.read", tools.ReadOnly)
	meet := make(chan struct{})
	one.Run = func(ctx context.Context, job tools.Job) (json.RawMessage, error) {
		if there.Add(1) == 2 {
			close(meet)
		}
		select {
		case <-meet:
			return job.Input, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	rec := newRecord(t)
	executor := tools.NewExecutor(tools.Options{Registry: registry(t, one), Recorder: rec, Approver: noPerson(t),
		Sandboxes: unconfined()})
	var group sync.WaitGroup
	for _, input := range []string{`{"a":1}`, `{"a":2}`} {
		group.Go(func() {
			outcome, err := executor.Do(t.Context(), call("a.read", input), tools.Policy{Mode: tools.ModeAuto}, nil)
			if err != nil || string(outcome.Output) != input || !slices.Equal(rec.types(outcome.CallID), ran) {
				t.Errorf("%s: %v, %s", input, err, outcome.Output)
			}
		})
	}
	group.Wait()
}

// TL-02: errors for invalid input have the upstream daemon's text (and also name the superfluous members).
func TestTheWordsForBadInput(t *testing.T) {
	t.Parallel()
	rows := vectors(t, "tool_validate")
	if len(rows) != 5 {
		t.Fatalf("%d vectors, want 5", len(rows))
	}
	var manifest tools.Manifest
	if err := json.Unmarshal(vectors(t, "tool_manifest")[0].Manifest, &manifest); err != nil {
		t.Fatal(err)
	}
	one := tool(manifest.Tools[0].Name, tools.ReadOnly)
	one.Input = manifest.Tools[0].InputSchema
	rec := newRecord(t)
	executor := tools.NewExecutor(tools.Options{Registry: registry(t, one), Recorder: rec, Approver: noPerson(t),
		Sandboxes: unconfined()})
	for _, v := range rows {
		outcome, err := executor.Do(t.Context(), call(v.Tool, string(v.Input)), tools.Policy{Mode: tools.ModeAuto}, nil)
		if err != nil || outcome.IsError == v.Result.OK {
			t.Errorf("%s: %v, %s", v.Input, err, outcome.Output)
		}
		for _, words := range v.Result.Errors {
			if !strings.Contains(string(outcome.Output), words) {
				t.Errorf("%s: %s, want %q", v.Input, outcome.Output, words)
			}
		}
	}
}

// EV-19: for an artifact in an input, the hash, the events and the approval have the reference, and the run has the
// bytes. Another session's artifact is refused.
func TestTheInputHasAReferenceTheRunTheBytes(t *testing.T) {
	t.Parallel()
	one := tool("a.write", tools.ReadOnly)
	one.Input = json.RawMessage(`{"type":"object","properties":{"from":{"type":"string"}},"additionalProperties":false}`)
	one.Artifact = "from"
	var given []byte
	one.Run = func(_ context.Context, job tools.Job) (json.RawMessage, error) {
		given = job.Artifact
		return json.RawMessage(`{}`), nil
	}
	rec := newRecord(t)
	executor := tools.NewExecutor(tools.Options{Registry: registry(t, one), Recorder: rec, Approver: noPerson(t),
		Sandboxes: unconfined(), Artifacts: &shelf{}})
	do := func(input string) tools.Outcome {
		t.Helper()
		made := call("a.write", input)
		made.SessionID = "s1"
		outcome, err := executor.Do(t.Context(), made, tools.Policy{Mode: tools.ModeAuto}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return outcome
	}
	const input = `{"from":"of-s1"}`
	if outcome := do(input); outcome.IsError || string(given) != "its bytes" {
		t.Errorf("the run got %q and answered %s", given, outcome.Output)
	}
	want, err := tools.Hash(json.RawMessage(input))
	if err != nil {
		t.Fatal(err)
	}
	for _, event := range rec.events["call-1"] {
		if raw, err := json.Marshal(event); err != nil || strings.Contains(string(raw), "its bytes") {
			t.Errorf("%s has %s (%v)", event.Type(), raw, err)
		}
	}
	if asked := rec.opened; asked.InputHash != want || string(asked.Input) != input {
		t.Errorf("asked for is %s of %s, want %s", asked.InputHash, asked.Input, want)
	}
	given = nil
	if outcome := do(`{"from":"of-s2"}`); !outcome.IsError || given != nil ||
		!strings.Contains(string(outcome.Output), "no artifact of-s2") {
		t.Errorf("another session's: %s, the run got %q", outcome.Output, given)
	}
	if do(`{}`); given != nil {
		t.Errorf("without a reference the run got %q", given)
	}
}
