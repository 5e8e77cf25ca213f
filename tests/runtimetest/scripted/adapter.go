// Package scripted is an agent that is not codex, and its adapter. It has a process for each conversation, different
// names, ids, messages and verdicts, and several signals in a line. It shows that the core depends on no provider:
// the conformance suite and the services' tests run it.
package scripted

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/rs/zerolog"

	"harness/internal/runtime"
	"harness/internal/runtime/process/shim"
	"harness/internal/runtime/processes"
	"harness/internal/runtime/stdio"
)

// Name is the runtime's name.
const Name = "scripted"

// TokenVariable is the variable with the agent's token.
const TokenVariable = "SCRIPTED_TOKEN"

// PlantedToken is the token of the agent on servers. Tests check that it does not leak.
const PlantedToken = "planted-4711-token"

// Options configure New.
type Options struct {
	// Bin is the program that calls Agent, Env its environment for that.
	Bin string
	Env []string
	// EnvOf returns additional variables of a conversation's process, nil for none.
	EnvOf func(thread string) []string
	// Marker is as in stdio.Launch.
	Marker string
	Sink   runtime.Sink
	Resume func(ctx context.Context, generation string) (runtime.Resumption, error)
	Logger zerolog.Logger
	// Shims is the host of processes that outlive a server, nil for none; KeepOnStop leaves them running.
	Shims      *shim.Host
	KeepOnStop bool
	// StartTimeout bounds the start of a process (30 s).
	StartTimeout time.Duration
	// Max and Idle are as in processes.Options.
	Max  int
	Idle time.Duration
}

// Runtime is the adapter.
type Runtime struct {
	options  Options
	launcher *stdio.Launcher
	set      *processes.Set[*process]
	working  sync.WaitGroup

	mu       sync.Mutex
	started  bool
	stopping bool
	failure  error // why the last start failed
	talks    map[string]string
	running  map[string]func()   // of conversations with a turn: releases their process
	lost     map[string]bool     // conversations that Lose made it forget
	live     map[string]*process // by conversation
}

// process serves one conversation.
type process struct {
	*stdio.Supervisor
	retire chan struct{}
	gone   func() // notifies the set, nil for a process without conversations
}

var _ runtime.Adapter = (*Runtime)(nil)

// New makes an adapter. Start starts it.
func New(options Options) *Runtime {
	options.StartTimeout = cmp.Or(options.StartTimeout, 30*time.Second)
	r := &Runtime{options: options, talks: map[string]string{}, running: map[string]func(){}, live: map[string]*process{}}
	r.launcher = stdio.NewLauncher(stdio.Launch{
		Name: Name, Remedy: "check its path", Marker: options.Marker, Env: options.Env, Shims: options.Shims,
		Detach: options.Shims != nil,
		Logger: options.Logger, Command: func() (string, []string, error) {
			path, err := exec.LookPath(options.Bin)
			return path, nil, err
		},
	})
	r.set = processes.New(processes.Options[*process]{Runtime: Name, Max: options.Max, Idle: options.Idle,
		Start: r.startProcess, End: r.endProcess})
	return r
}

// Name implements runtime.Adapter.
func (r *Runtime) Name() string { return Name }

// Capabilities implements runtime.Adapter. It confines nothing, so it only supports sessions without a sandbox.
func (r *Runtime) Capabilities() runtime.Capabilities {
	return runtime.Capabilities{Streaming: true, Resume: true, Reconstruct: true, Interrupt: true, Approvals: true, ToolInput: true,
		DenyReason: true, ApproveForSession: true, SurvivesRestart: r.options.Shims != nil,
		ProcessPer: runtime.ProcessPerThread, Sandboxes: []string{"danger-full-access"},
		ApprovalPolicies: []string{"untrusted"}, NetworkAccess: []string{"enabled"}, NativeToolsOff: true,
		Facts: runtime.Facts{Auth: runtime.AuthKey, State: runtime.StateMemory, Resume: runtime.ResumeNative, Replay: runtime.ReplaySafe,
			Cancellation: runtime.CancelGuaranteed, Isolation: []string{runtime.IsolationProcess}}.TakesTools("")}
}

// Auth implements runtime.Adapter. The agent needs a token in its environment (TokenVariable).
func (r *Runtime) Auth(context.Context) (runtime.AuthStatus, error) {
	for _, set := range r.options.Env {
		if token, found := strings.CutPrefix(set, TokenVariable+"="); found && token != "" {
			return runtime.AuthStatus{State: runtime.AuthFound, Credentials: []string{runtime.CredentialAPIKey}}, nil
		}
	}
	return runtime.AuthStatus{State: runtime.AuthMissing, Credentials: []string{}, Remedy: "set " + TokenVariable}, nil
}

// Models implements runtime.Adapter.
func (r *Runtime) Models(context.Context) ([]runtime.Model, error) {
	return []runtime.Model{
		{ID: "quick", Name: "Quick", Default: true, Efforts: []string{}},
		{ID: "thorough", Name: "Thorough", Efforts: []string{"low", "high"}, DefaultEffort: "low"},
	}, nil
}

// CloseThread implements runtime.Threads.
func (r *Runtime) CloseThread(ctx context.Context, threadID string) error {
	return r.set.Close(ctx, threadID)
}

// Status implements runtime.Adapter.
func (r *Runtime) Status() runtime.Status {
	r.mu.Lock()
	status := runtime.Status{State: runtime.StateReady, Version: "7.1"}
	switch {
	case !r.started || r.stopping:
		status.State, status.Reason = runtime.StateStopped, "it is not started"
	case r.failure != nil:
		status.State, status.Reason = runtime.StateUnavailable, r.failure.Error()
	}
	r.mu.Unlock()
	processes.Report(r.set, &status)
	return status
}

// Start implements runtime.Adapter. It adopts the processes of earlier servers.
func (r *Runtime) Start(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.started {
		return nil
	}
	r.started = true
	left := r.launcher.Found()
	r.launcher.Spare(left)
	for _, found := range left {
		r.inherit(ctx, found)
	}
	return nil
}

// inherit adopts one process, or publishes its last lines. The caller holds mu.
func (r *Runtime) inherit(ctx context.Context, found shim.Found) {
	var greeted hello
	var stored state
	resumption, err := r.options.Resume(ctx, found.Generation)
	if err == nil {
		_ = json.Unmarshal(resumption.State, &stored) // it may have no output
		var now shim.State
		if now, err = shim.Status(ctx, found); err == nil {
			_ = json.Unmarshal(now.Note, &greeted) // an earlier server may not have greeted it
		}
	}
	thread := cmp.Or(greeted.Thread, stored.Thread)
	p := r.newProcess(thread, []shim.Found{found})
	r.talks[thread] = greeted.Conversation
	release, gone, adopted := r.set.Adopt(thread, p, time.Now())
	p.gone = gone
	_ = p.Start(ctx) // Start itself never fails
	if !adopted {
		r.options.Logger.Warn().Err(err).Str("generation", found.Generation).
			Msg("a process of an earlier server has no conversation")
		return
	}
	r.live[thread] = p
	if len(resumption.Turns) > 0 {
		r.running[thread] = release
	} else {
		release()
	}
	r.attend(thread, p)
}

// newProcess makes the supervisor of a conversation's process, which adopts an inherited one.
func (r *Runtime) newProcess(thread string, inherit []shim.Found) *process {
	p := &process{retire: make(chan struct{})}
	p.Supervisor = stdio.NewSupervisor(r.launcher, stdio.Options{
		Serves: thread, Once: true, Program: func() (stdio.Program, error) {
			if r.options.EnvOf == nil || thread == "" {
				return stdio.Program{}, nil
			}
			return stdio.Program{Env: r.options.EnvOf(thread)}, nil
		},
		KeepOnStop: r.options.KeepOnStop, StartTimeout: r.options.StartTimeout,
		Resume: r.options.Resume, Inherit: func() []shim.Found { return inherit },
		Speak: func(line *stdio.Conn) stdio.Protocol {
			return &protocol{Conn: line, thread: thread, limit: r.options.StartTimeout, conversation: func() string {
				return r.conversationOf(thread)
			}}
		},
		Sink: func(batch runtime.Batch) {
			// A subscriber may resume at once after an end, so record the end before its publication.
			for _, signal := range batch.Signals {
				_, ended := signal.Change.(runtime.TurnCompleted)
				if ended || signal.Kind == runtime.SignalExited {
					r.rest(thread)
				}
				if signal.Kind == runtime.SignalExited && p.gone != nil {
					p.gone()
				}
			}
			r.options.Sink(batch)
		},
		Attend: func(ctx context.Context, _ *stdio.Conn, _ int) error {
			select {
			case <-p.retire:
				return &stdio.RetiredError{Exit: "it was not used", Message: "it is resumed on demand"}
			case <-ctx.Done():
				return nil
			}
		},
	})
	return p
}

// attend waits for the end of a process.
func (r *Runtime) attend(thread string, p *process) {
	r.working.Go(func() {
		<-p.Done()
		r.mu.Lock()
		if r.live[thread] == p {
			delete(r.live, thread)
		}
		r.mu.Unlock()
		r.rest(thread)
		p.gone()
	})
}

// rest releases the process of a conversation after its turn.
func (r *Runtime) rest(thread string) {
	r.mu.Lock()
	release := r.running[thread]
	delete(r.running, thread)
	r.mu.Unlock()
	if release != nil {
		release()
	}
}

func (r *Runtime) conversationOf(thread string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.talks[thread]
}

func (r *Runtime) startProcess(ctx context.Context, thread string, gone func()) (*process, error) {
	p := r.newProcess(thread, nil)
	p.gone = gone
	_ = p.Start(ctx) // Start itself never fails
	line, used, err := p.Use(ctx)
	r.mu.Lock()
	r.failure = err
	if err == nil {
		var greeted hello
		_ = json.Unmarshal(line.Hello(), &greeted) // the protocol made it
		r.talks[thread], r.live[thread] = greeted.Conversation, p
	}
	r.mu.Unlock()
	if err != nil {
		return nil, errors.Join(err, p.Stop(context.WithoutCancel(ctx)))
	}
	used()
	r.attend(thread, p)
	return p, nil
}

func (r *Runtime) endProcess(_ string, p *process) {
	r.mu.Lock()
	keep := r.stopping && r.options.KeepOnStop
	r.mu.Unlock()
	if !keep {
		close(p.retire)
	} else if err := p.Stop(context.Background()); err != nil {
		r.options.Logger.Error().Err(err).Msg("a process did not stop")
	}
	<-p.Done()
}

// Stop implements runtime.Adapter.
func (r *Runtime) Stop(ctx context.Context) error {
	r.mu.Lock()
	r.stopping = true
	r.mu.Unlock()
	err := r.set.Stop(ctx)
	if err == nil {
		r.working.Wait()
	}
	return err
}

// Threads implements runtime.Adapter.
func (r *Runtime) Threads() runtime.Threads { return r }

// StartThread implements runtime.Threads.
func (r *Runtime) StartThread(ctx context.Context, in runtime.StartThread) (runtime.Thread, error) {
	if err := r.Capabilities().CheckControls(Name, in.ApprovalPolicy, in.Sandbox, in.NetworkAccess); err != nil {
		return runtime.Thread{}, err
	}
	return r.enter(ctx, cmp.Or(in.SessionID, uuid.NewString()), "")
}

// ResumeThread implements runtime.Threads.
func (r *Runtime) ResumeThread(ctx context.Context, in runtime.ResumeThread) (runtime.Thread, error) {
	return r.enter(ctx, in.ThreadID, in.NativeID)
}

func (r *Runtime) enter(ctx context.Context, thread, conversation string) (runtime.Thread, error) {
	_, release, err := r.use(ctx, thread, conversation)
	if err != nil {
		return runtime.Thread{}, err
	}
	release()
	return runtime.Thread{ID: thread, NativeID: r.conversationOf(thread), Source: Name}, nil
}

func (r *Runtime) use(ctx context.Context, thread, conversation string) (*process, func(), error) {
	r.mu.Lock()
	if r.talks[thread] == "" && conversation != "" {
		r.talks[thread] = conversation
	}
	r.mu.Unlock()
	return r.set.Use(ctx, thread)
}

// StartTurn implements runtime.Threads. It refuses a message to a busy conversation with ErrTurnActive.
func (r *Runtime) StartTurn(ctx context.Context, in runtime.StartTurn) (runtime.StartedTurn, error) {
	r.mu.Lock()
	lost := r.lost[in.ThreadID]
	if in.History != "" {
		delete(r.lost, in.ThreadID)
	}
	r.mu.Unlock()
	if lost && in.Continues && in.History == "" {
		return runtime.StartedTurn{}, fmt.Errorf("%w: the scripted agent was made to forget it", runtime.ErrThreadNotFound)
	}
	p, release, err := r.use(ctx, in.ThreadID, in.NativeID)
	if err != nil {
		return runtime.StartedTurn{}, err
	}
	r.mu.Lock()
	_, busy := r.running[in.ThreadID]
	if !busy {
		r.running[in.ThreadID] = release
	}
	r.mu.Unlock()
	if busy {
		release()
		return runtime.StartedTurn{}, runtime.ErrTurnActive
	}
	result, err := r.call(ctx, p, "prompt", order{Text: text(in.Input)})
	if err != nil {
		r.rest(in.ThreadID)
		return runtime.StartedTurn{}, err
	}
	var w word
	if err := json.Unmarshal(result, &w); err != nil {
		return runtime.StartedTurn{}, fmt.Errorf("begin a turn of the scripted agent: %w", err)
	}
	return runtime.StartedTurn{TurnID: r.launcher.Natives.Known(w.Round)}, nil
}

// Lose makes the agent accept messages to a conversation only with its history.
func (r *Runtime) Lose(threadID string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lost == nil {
		r.lost = map[string]bool{}
	}
	r.lost[threadID] = true
}

func text(input []json.RawMessage) string {
	var out bytes.Buffer
	for _, part := range input {
		var t struct{ Text string }
		_ = json.Unmarshal(part, &t) // the agent ignores parts without a text
		out.WriteString(t.Text)
	}
	return out.String()
}

func (r *Runtime) call(ctx context.Context, p *process, method string, params order) (json.RawMessage, error) {
	line, used, err := p.Use(ctx)
	if err != nil {
		return nil, err
	}
	defer used()
	return line.Call(ctx, r.options.StartTimeout, method, params)
}

// InterruptTurn implements runtime.Threads.
func (r *Runtime) InterruptTurn(ctx context.Context, threadID, turnID string) error {
	r.mu.Lock()
	p := r.live[threadID]
	r.mu.Unlock()
	if p == nil {
		return runtime.ErrNoActiveTurn
	}
	_, err := r.call(ctx, p, "halt", order{Of: turnID})
	return err
}

// CheckReply implements runtime.Threads.
func (r *Runtime) CheckReply(ref runtime.RequestRef, reply runtime.Reply) error {
	_, err := verdict(ref, reply)
	return err
}

func verdict(ref runtime.RequestRef, reply runtime.Reply) (order, error) {
	var id string
	if err := json.Unmarshal(ref.RequestID, &id); err != nil {
		return order{}, fmt.Errorf("read the request's id: %w", err)
	}
	for field, given := range map[string]bool{"choice": len(reply.Choice) > 0, "option": reply.Option != "",
		"response":     len(reply.Raw) > 0,
		"updatedInput": len(reply.UpdatedInput) > 0, "remember": len(reply.Remember) > 0} {
		if given {
			return order{}, &runtime.ReplyError{Field: field, Message: "the scripted agent has no place for it"}
		}
	}
	words := map[string]string{"accept": "yes", "decline": "no", "cancel": "abort"}
	out := order{Verdict: words[reply.Decision], Of: id, Why: reply.Message, Text: string(reply.Answers)}
	switch {
	case reply.Refusal != "":
		out.Verdict, out.Why = "no", reply.Refusal
	case out.Verdict == "":
		return order{}, &runtime.ReplyError{Field: "decision", Message: "accept, decline or cancel"}
	case reply.Scope == "session" && reply.Decision == "accept":
		out.Verdict = "always"
	}
	return out, nil
}

// Answer implements runtime.Threads.
func (r *Runtime) Answer(ctx context.Context, ref runtime.RequestRef, reply runtime.Reply) error {
	r.mu.Lock()
	p := r.live[ref.ThreadID]
	r.mu.Unlock()
	if p == nil {
		return runtime.ErrRequestGone
	}
	line, used, err := p.Use(ctx) // a takeover may be in progress
	if err != nil {
		return runtime.WithKind(runtime.ErrRequestGone, err)
	}
	defer used()
	if line.Generation() != ref.Generation {
		return runtime.ErrRequestGone
	}
	out, err := verdict(ref, reply)
	if err != nil {
		return err
	}
	encoded, err := json.Marshal(out)
	if err != nil {
		return fmt.Errorf("word a verdict: %w", err)
	}
	if !line.Claim(ref.RequestID) {
		return runtime.ErrRequestGone
	}
	if err := line.SendOnce(context.WithoutCancel(ctx), ref.RequestID, append(encoded, '\n')); err != nil {
		return runtime.WithKind(runtime.ErrRequestGone, err)
	}
	return nil
}
