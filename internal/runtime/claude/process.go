package claude

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"harness/internal/runtime"
	"harness/internal/runtime/process/shim"
	"harness/internal/runtime/stdio"
)

// process serves one conversation.
type process struct {
	*stdio.Supervisor
	retire chan struct{}
	gone   func() // removes it from the set, nil for a process without a session
	// spoken is its protocol, nil before the connection.
	spoken atomic.Pointer[protocol]
}

// busy returns the running turn, "" for none.
func (p *process) busy() string {
	spoken := p.spoken.Load()
	if spoken == nil || p.Current() == nil {
		return ""
	}
	return spoken.now().busy
}

// newProcess makes the supervisor of a conversation's process, which may attach to an inherited one.
func (r *Runtime) newProcess(t *conversation, about hello, carried state, inherit []shim.Found) *process {
	p := &process{retire: make(chan struct{})}
	options := r.setup.Supervise
	options.Serves, options.Once = t.thread, true
	options.Inherit = func() []shim.Found { return inherit }
	options.Program = func() (stdio.Program, error) { return r.program(about) }
	options.Speak = func(line *stdio.Conn) stdio.Protocol {
		spoken := newProtocol(line, about, carried, options.StartTimeout, r.models.learn)
		if r.setup.Door != nil && about.Thread != "" {
			spoken.tools = r.setup.Servers(r.setup.Door.Of(about.Thread))
		}
		p.spoken.Store(spoken)
		return spoken
	}
	options.Started = func(*stdio.Conn) string {
		version := p.spoken.Load().now().version
		r.mu.Lock()
		r.version = cmp.Or(version, r.version)
		r.mu.Unlock()
		return version
	}
	options.Sink = func(batch runtime.Batch) { r.sink(t, p, batch) }
	options.Attend = func(ctx context.Context, line *stdio.Conn, _ int) error { return r.attendTo(ctx, p, line) }
	p.Supervisor = stdio.NewSupervisor(r.launcher, options)
	return p
}

// program returns the arguments and the environment of a conversation's process.
func (r *Runtime) program(about hello) (stdio.Program, error) {
	session := cmp.Or(about.Thread, about.Native)
	dir, err := r.stateOf(session)
	if err != nil {
		return stdio.Program{}, err
	}
	native := cmp.Or(about.Cleared, about.Native)
	resume, err := written(dir, native)
	if err != nil {
		return stdio.Program{}, err
	}
	program := stdio.Program{Args: about.Controls.arguments(native, resume), Dir: about.Controls.Cwd}
	if about.NativeToolsOff {
		// Claude Code has a tool to search for tools.
		program.Args, program.Env = append(program.Args, "--tools", ""), []string{"ENABLE_TOOL_SEARCH=false"}
	}
	if r.setup.Door != nil && about.Thread != "" {
		program.Env = append(program.Env, runtime.DoorEnv(r.setup.Door.URL(), r.setup.Door.Of(about.Thread))...)
	}
	home, keep, err := r.home(session)
	if err == nil && home.Dir != "" {
		program.Env, program.Keep = append(append(program.Env, home.Env()...), "CLAUDE_CONFIG_DIR="+dir), keep
	}
	return program, err
}

// sink passes on the output of a process, and keeps the process while it is busy.
func (r *Runtime) sink(t *conversation, p *process, batch runtime.Batch) {
	if t.thread == "" { // it has no session
		if batch.Stored != nil {
			batch.Stored()
		}
		return
	}
	// The consumer of an end may continue at once, so release the process before publishing the end. An ended process
	// is unused, and the next one starts after it.
	ended := false
	for _, signal := range batch.Signals {
		switch signal.Change.(type) {
		case runtime.TurnStarted:
			r.keep(t)
		case runtime.TurnCompleted, runtime.BackgroundChanged:
			ended = true
		}
		if signal.Kind == runtime.SignalExited && p.gone != nil {
			r.set.Leaving(t.thread)
		}
	}
	if spoken := p.spoken.Load(); ended && spoken != nil {
		if m := spoken.now(); m.busy == "" && m.background == 0 {
			t.unhold()
		}
	}
	r.setup.Supervise.Sink(batch)
	for _, signal := range batch.Signals {
		if signal.Kind == runtime.SignalExited {
			t.mu.Lock()
			t.carryOn(p)
			t.mu.Unlock()
			t.unhold()
			if p.gone != nil {
				p.gone()
			}
		}
	}
}

// carryOn stores the state for the next process, which may start as soon as this one is gone. The caller holds mu.
func (t *conversation) carryOn(p *process) {
	if spoken := p.spoken.Load(); spoken != nil {
		t.carried = spoken.now().carried
	}
}

// keep keeps the process of a turn until it is idle.
func (r *Runtime) keep(t *conversation) {
	if release, kept := r.set.Keep(t.thread); kept && !t.hold(release) {
		release()
	}
}

// attend waits for the end of a process.
func (r *Runtime) attend(t *conversation, p *process) {
	r.working.Go(func() {
		<-p.Done()
		t.mu.Lock()
		if t.live == p {
			t.carryOn(p)
			t.live = nil
		}
		t.mu.Unlock()
		t.unhold()
		p.gone()
	})
}

// inherit attaches to one process, or publishes its remaining output. It ends and returns a process without a
// session.
func (r *Runtime) inherit(ctx context.Context, found shim.Found) (stray *process) {
	var about hello
	var stored state
	resumption, err := r.setup.Supervise.Resume(ctx, found.Generation)
	if err == nil {
		_ = json.Unmarshal(resumption.State, &stored) // it may have no output
		var now shim.State
		if now, err = shim.Status(ctx, found); err == nil {
			_ = json.Unmarshal(now.Note, &about) // the earlier server may not have greeted it
		}
	}
	about.Thread = cmp.Or(about.Thread, stored.Thread)
	about.Controls = about.Controls.strict()
	if about.Thread == "" || r.forgotten(ctx, about.Thread) {
		r.setup.Launch.Logger.Warn().Err(err).Str("generation", found.Generation).
			Msg("orphaned Claude Code process; terminating")
		return r.endStray(ctx, about, found)
	}
	t := r.conversation(about.Thread, about.Native)
	p := r.newProcess(t, about, stored, []shim.Found{found})
	release, gone, adopted := r.set.Adopt(t.thread, p, time.Now())
	p.gone = gone
	if adopted {
		t.mu.Lock()
		t.live, t.controls, t.carried, t.recalled = p, about.Controls, stored.carry(), true
		t.mu.Unlock()
	}
	_ = p.Start(ctx) // Start itself never fails
	if !adopted {
		r.setup.Launch.Logger.Warn().Err(err).Str("generation", found.Generation).
			Msg("two Claude Code processes for one session; terminating one")
		close(p.retire)
		r.working.Go(func() { <-p.Done() })
		return nil
	}
	if len(resumption.Turns) == 0 && stored.Background == 0 || !t.hold(release) {
		release()
	}
	r.attend(t, p)
	return nil
}

// endStray ends a process without a session. It publishes nothing.
func (r *Runtime) endStray(ctx context.Context, about hello, found shim.Found) *process {
	p := r.newProcess(&conversation{}, about, state{}, []shim.Found{found})
	close(p.retire)
	_ = p.Start(ctx) // Start itself never fails
	r.working.Go(func() { <-p.Done() })
	return p
}

// recall loads the state of a conversation from its last process under an earlier server.
func (r *Runtime) recall(ctx context.Context, t *conversation) error {
	t.mu.Lock()
	recalled := t.recalled
	t.mu.Unlock()
	if recalled || r.setup.LastState == nil {
		return nil
	}
	raw, err := r.setup.LastState(ctx, t.thread)
	if err != nil {
		return fmt.Errorf("recall what was allowed in session %s: %w", t.thread, err)
	}
	var last state
	if len(raw) > 0 && json.Unmarshal(raw, &last) == nil {
		t.mu.Lock()
		t.carried = last.carry()
		t.mu.Unlock()
	}
	return nil
}

// nativeToolsOff reports whether the agent's own tools are disabled in a conversation.
func (r *Runtime) nativeToolsOff(ctx context.Context, t *conversation) (bool, error) {
	t.mu.Lock()
	off := t.nativeToolsOff
	t.mu.Unlock()
	if off || r.setup.NativeToolsOff == nil {
		return off, nil
	}
	return r.setup.NativeToolsOff(ctx, t.thread)
}

// startProcess starts the process of a conversation.
func (r *Runtime) startProcess(ctx context.Context, thread string, gone func()) (*process, error) {
	t := r.conversation(thread, "")
	if err := r.recall(ctx, t); err != nil {
		return nil, err
	}
	bare, err := r.nativeToolsOff(ctx, t)
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	carried := t.carried
	about := hello{Thread: thread, Native: t.native, Cleared: carried.Cleared, Controls: t.controls, NativeToolsOff: bare}
	t.recalled = true
	t.mu.Unlock()
	p := r.newProcess(t, about, carried, nil)
	p.gone = gone
	_ = p.Start(ctx) // Start itself never fails
	_, used, err := p.Use(ctx)
	if err != nil {
		err = errors.Join(err, p.Stop(context.WithoutCancel(ctx)))
	}
	spoken := p.spoken.Load()
	if refused := spoken != nil && spoken.now().failure != ""; !refused { // the process works, except for this conversation
		r.mu.Lock()
		r.failure = err
		r.mu.Unlock()
	}
	if err != nil {
		return nil, err
	}
	used()
	t.mu.Lock()
	t.live = p
	t.mu.Unlock()
	r.attend(t, p)
	return p, nil
}

// endProcess ends the process of a conversation, or leaves it to the next server.
func (r *Runtime) endProcess(_ string, p *process) {
	r.mu.Lock()
	keep := r.stopping && r.setup.Supervise.KeepOnStop
	r.mu.Unlock()
	if !keep {
		close(p.retire)
	} else if err := p.Stop(context.Background()); err != nil {
		r.setup.Launch.Logger.Error().Err(err).Msg("a Claude Code process did not stop")
	}
	<-p.Done()
}
