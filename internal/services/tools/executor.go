package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// Options configure an Executor.
type Options struct {
	Registry *Registry
	Recorder Recorder
	Approver Approver
	// Sandboxes are the sandboxes by class. Tools of a class without one do not run.
	Sandboxes map[Class]Sandbox
	// Limits of each class. Timeout bounds a tool without its own limit (default 2 minutes).
	Limits  map[Class]Limits
	Timeout time.Duration
	// Artifacts stores long results; nil truncates them.
	Artifacts Artifacts
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Bounds of an event: a result above inlineBytes is an artifact with a preview.
const (
	inlineBytes  = 8000
	previewRunes = 512
	defaultRun   = 2 * time.Minute
	defaultSaid  = 1 << 20
)

// Executor runs calls: it is the only way from an agent to a tool.
type Executor struct{ opts Options }

// NewExecutor makes an Executor.
func NewExecutor(opts Options) *Executor {
	if opts.Timeout <= 0 {
		opts.Timeout = defaultRun
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	return &Executor{opts: opts}
}

// Registry returns the available tools.
func (e *Executor) Registry() *Registry { return e.opts.Registry }

// Outcome is the result of a call for the agent.
type Outcome struct {
	CallID string
	// Output is the tool's output in its output schema; {"error": ...} if it failed or was denied.
	Output json.RawMessage
	// IsError means that it failed or was denied, Denied that it was denied.
	IsError, Denied bool
	Snapshot        Snapshot
}

// Do runs a call if its input, the policy and, if needed, a person allow it. runtime is the opinion of the agent's
// runtime, nil for none. An error is the server's (the store refuses, or no approval can be requested) or ctx's: then
// nothing runs. A failure of the call itself is an Outcome.
func (e *Executor) Do(ctx context.Context, call Call, policy Policy, runtime *Opinion) (Outcome, error) {
	if !utf8.Valid(call.Input) {
		return Outcome{}, fmt.Errorf("the input of a call of %s is no UTF-8", call.Tool)
	}
	var err error
	if call.InputHash, err = Hash(call.Input); err != nil {
		return Outcome{}, fmt.Errorf("the input of a call of %s: %w", call.Tool, err)
	}
	tool, known := e.opts.Registry.find(call.Tool)
	if known {
		call.Tool = tool.Name
	}
	call, cutOff, err := e.opts.Recorder.Open(ctx, call, Requested{Class: tool.Class})
	if err != nil {
		return Outcome{}, err
	}
	d := decision{Executor: e, call: call, tool: tool, policy: policy}
	if runtime != nil {
		d.opinions = append(d.opinions, Opinion{SourceRuntime, runtime.Result, runtime.Rule})
	}
	return d.run(ctx, d.ours(ctx, known, cutOff))
}

// decision is a call in progress.
type decision struct {
	*Executor
	call     Call
	tool     registered
	policy   Policy
	opinions []Opinion
	// refusal describes why a call is invalid, for the agent; "" for a valid one.
	refusal string
	answer  Answer
}

// ours returns this server's opinion.
func (d *decision) ours(ctx context.Context, known, cutOff bool) Opinion {
	refuse := func(rule, why string) Opinion {
		d.refusal = why
		return Opinion{SourceHarness, Deny, rule}
	}
	if !known {
		return refuse("unknown_tool", "unknown tool: "+d.call.Tool)
	}
	if wrong := d.tool.input.check(d.call.Input); wrong != "" {
		return refuse("input_schema", "invalid tool input: "+wrong)
	}
	own := d.policy.Evaluate(d.tool.Name, d.tool.Class)
	if own.Result == Deny {
		return own
	}
	// A call that cannot be confined does not run, and the server requests no approval for it.
	sandbox := d.sandbox()
	if sandbox == nil {
		return refuse("no_sandbox",
			fmt.Sprintf("tools of class %s have no sandbox to run in; the operator has to configure one", d.tool.Class))
	}
	if err := sandbox.Check(ctx); err != nil {
		return refuse("sandbox_unavailable", fmt.Sprintf("the sandbox %s does not work here: %v", sandbox.Name(), err))
	}
	if cutOff && own.Result == Allow && d.tool.Class != ReadOnly {
		// An interrupted call may have completed its work: repeating it needs a new decision in any mode.
		return Opinion{SourceHarness, Ask, "replay:requires_reapproval"}
	}
	return own
}

func (d *decision) run(ctx context.Context, own Opinion) (Outcome, error) {
	d.opinions = append(d.opinions, own)
	evaluated := make([]Event, 0, len(d.opinions))
	for _, one := range d.opinions {
		evaluated = append(evaluated, Evaluated{one})
	}
	if err := d.opts.Recorder.Record(ctx, d.call, evaluated...); err != nil {
		return Outcome{}, err
	}
	snapshot := d.policy.Settle(d.opinions...)
	if snapshot.Decision == Ask {
		answer, err := d.opts.Approver.Ask(ctx, d.call, d.tool.Class, d.tool.Description)
		if gone := ctx.Err(); gone != nil {
			return Outcome{}, errors.Join(gone, d.cancelled(ctx, snapshot))
		}
		if err != nil {
			return d.deny(ctx, snapshot, "no approval could be requested: "+err.Error())
		}
		d.answer = answer
		opinion := Opinion{SourceUser, Deny, "user_denied"}
		if answer.Allow {
			opinion = Opinion{SourceUser, Allow, "user_approved"}
		}
		d.opinions = append(d.opinions, opinion)
		if err := d.opts.Recorder.Record(ctx, d.call, Evaluated{opinion}); err != nil {
			return Outcome{}, err
		}
		snapshot = d.policy.Settle(d.opinions...)
	}
	if snapshot.Decision != Allow {
		return d.deny(ctx, snapshot, d.reason(snapshot))
	}
	return d.execute(ctx, snapshot)
}

// reason explains why the call is denied; the same facts give the same text.
func (d *decision) reason(snapshot Snapshot) string {
	switch {
	case d.refusal != "":
		return d.refusal
	case d.answer.Actor != "" && d.answer.Reason != "":
		return fmt.Sprintf("denied by %s: %s", d.answer.Actor, d.answer.Reason)
	case d.answer.Actor != "":
		return "denied by " + d.answer.Actor
	}
	return snapshot.Reason()
}

func (d *decision) deny(ctx context.Context, snapshot Snapshot, reason string) (Outcome, error) {
	snapshot.Decision = Deny
	denied := Denied{Snapshot: snapshot, Actor: d.answer.Actor, Reason: reason}
	if err := d.opts.Recorder.Record(ctx, d.call, denied); err != nil {
		return Outcome{}, err
	}
	return Outcome{CallID: d.call.ID, Output: failure(reason), IsError: true, Denied: true, Snapshot: snapshot}, nil
}

// cancelled records that the agent abandoned the call before a decision.
func (d *decision) cancelled(ctx context.Context, snapshot Snapshot) error {
	snapshot.Decision = Deny
	snapshot.Sources = append(snapshot.Sources, Opinion{SourceRuntime, Deny, "cancelled"})
	return d.opts.Recorder.Record(context.WithoutCancel(ctx), d.call,
		Denied{Snapshot: snapshot, Reason: "cancelled: the agent gave the call up", Cancelled: true})
}

func failure(message string) json.RawMessage {
	out, err := json.Marshal(struct {
		Error string `json:"error"`
	}{strings.ToValidUTF8(message, "\uFFFD")})
	if err != nil {
		panic("tools: a text has no JSON: " + err.Error()) // a bug in the program
	}
	return out
}
