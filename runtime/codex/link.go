package codex

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"time"

	"github.com/google/uuid"

	"harness/runtime"
	"harness/runtime/process"
	"harness/runtime/process/shim"
)

// link is one codex process as the adapter sees it: a child of ours, one behind a shim, or what a dead shim's codex has left to read.
type link struct {
	generation string
	wire       pipes
	pid        int
	done       <-chan struct{}
	exit       func() runtime.Exit
	stop       func(grace time.Duration)
	release    func()

	// shim is nil for a child of ours. over says that the process is dead and there is only something left to read.
	shim *shim.Attached
	over bool
	// resume is what is stored of a process that outlived another server; hello is what it answered to that server's initialize.
	resume runtime.Resumption
	hello  json.RawMessage
	former map[string]formerCall
}

// open starts codex, behind a shim when it is to outlive us.
func (c *Codex) open(ctx context.Context) (*link, error) {
	bin, err := exec.LookPath(c.options.Bin)
	if err != nil && !errors.Is(err, exec.ErrDot) {
		return nil, fmt.Errorf("codex is missing (%w): set CODEX_BIN to the codex executable or install it with: npm install -g @openai/codex", err)
	}
	id, err := uuid.NewV7()
	if err != nil {
		return nil, fmt.Errorf("name a codex process: %w", err)
	}
	generation, args := id.String(), []string{"app-server"}
	if c.options.Shims != nil && c.options.Detach {
		ctx, cancel := context.WithTimeout(ctx, c.options.StartTimeout)
		defer cancel()
		a, err := c.options.Shims.Spawn(ctx, shim.Spec{
			Generation: generation, Runtime: Name, Path: bin, Args: args, Dir: c.options.Dir, Mark: c.options.Mark, StopGrace: stopGrace,
			Confine: c.options.Confine, Stage: c.options.Stage,
		}, c.environment(), c.stderr(generation))
		if err != nil {
			return nil, fmt.Errorf("codex does not start (%w): check that CODEX_BIN names an executable of this platform", err)
		}
		return shimLink(generation, a), nil
	}
	p, err := process.Start(ctx, process.Spec{
		Path: bin, Args: args, Env: c.environment(), Dir: c.options.Dir, Mark: c.options.Mark, Stderr: c.stderr(generation),
		Confine: c.options.Confine, Stage: c.options.Stage,
	})
	if err != nil {
		return nil, fmt.Errorf("codex does not start (%w): check that CODEX_BIN names an executable of this platform", err)
	}
	return &link{
		generation: generation, wire: pipes{in: p.Stdin(), out: p.Stdout(), kill: p.Kill}, pid: p.PID(), done: p.Done(), exit: p.Exit,
		stop: p.Stop, release: p.Release,
	}, nil
}

func shimLink(generation string, a *shim.Attached) *link {
	return &link{
		generation: generation, wire: pipes{in: a, out: a, kill: a.Kill, once: a.WriteOnce, call: a.WriteCall, settled: a.Settled, ack: a.Ack}, pid: a.PID(), done: a.Done(),
		exit: a.Exit, stop: a.Stop, release: a.Release, shim: a, hello: a.State.Note,
	}
}

// keeper is the shim as operators see it, nil for a child of ours.
func (l *link) keeper() *runtime.ShimStatus {
	if l.shim == nil {
		return nil
	}
	return &runtime.ShimStatus{PID: l.shim.State.PID, Version: l.shim.State.Version, Servers: l.shim.Attachment}
}

func (c *Codex) stderr(generation string) func([]byte) {
	log := c.options.Logger.With().Str("generation", generation).Logger()
	return func(line []byte) { log.Info().Str("stream", "stderr").Msg(colours.ReplaceAllString(string(line), "")) }
}

// inherit takes over what an earlier server left: it goes on with the codex that still runs, tells what dead ones said and nobody heard,
// and ends whatever it can not go on with. It returns when nothing is left of the past, the living codex included.
func (c *Codex) inherit(ctx context.Context) {
	found := c.found()
	var keep *shim.Found
	if n := len(found); n > 0 && c.options.Detach && found[n-1].Alive {
		keep = &found[n-1]
		found = found[:n-1]
		c.sweep(shim.GenerationVariable + "=" + keep.Generation)
	} else {
		defer c.sweep()
	}
	for _, f := range found {
		if ctx.Err() != nil {
			return
		}
		c.bury(ctx, f)
	}
	if keep == nil || ctx.Err() != nil {
		return
	}
	l, err := c.attach(ctx, *keep)
	if err != nil {
		if ctx.Err() != nil {
			return
		}
		c.options.Logger.Warn().Err(err).Str("generation", keep.Generation).Int("pid", keep.State.RuntimePID).
			Msg("a running codex can not be taken over; ending it")
		c.bury(ctx, *keep)
		c.sweep()
		return
	}
	c.options.Logger.Info().Str("generation", l.generation).Int("pid", l.pid).Int64("from", l.resume.Offset).Int("turns", len(l.resume.Turns)).
		Msg("went on with a codex that outlived its server")
	_, err = c.run(ctx, l)
	if ctx.Err() == nil && !c.replaced(err) {
		c.down(err, 0, true)
	}
}

// found are the shims of earlier servers, oldest first.
func (c *Codex) found() []shim.Found {
	if c.options.Shims == nil {
		return nil
	}
	all, err := shim.Discover(c.options.Shims.RunDir)
	if err != nil {
		c.options.Logger.Error().Err(err).Msg("shims of earlier servers could not be looked for")
	}
	own := all[:0]
	for _, f := range all {
		if f.State.Runtime == Name || f.State.Runtime == "" {
			own = append(own, f)
		}
	}
	return own
}

func (c *Codex) attach(ctx context.Context, f shim.Found) (*link, error) {
	resume, err := c.resumption(ctx, f.Generation)
	if err != nil {
		return nil, err
	}
	a, err := shim.Attach(ctx, f, resume.Offset, c.stderr(f.Generation))
	if err != nil {
		return nil, err
	}
	l := shimLink(f.Generation, a)
	l.resume = resume
	c.recall(f, l)
	return l, nil
}

// bury ends a shim that is not to go on and tells what its codex said before the end.
func (c *Codex) bury(ctx context.Context, f shim.Found) {
	after, killed, err := shim.Reap(ctx, f)
	if killed > 0 {
		c.counters.orphans.Add(int64(killed))
	}
	if err != nil {
		c.options.Logger.Error().Err(err).Str("generation", f.Generation).Msg("a codex of an earlier server could not be ended")
		return
	}
	resume, err := c.resumption(ctx, f.Generation)
	if err != nil {
		c.options.Logger.Error().Err(err).Str("generation", f.Generation).Msg("what a codex of an earlier server said last stays unread")
		return
	}
	l := shimLink(f.Generation, shim.Replay(after, resume.Offset))
	l.resume, l.over = resume, true
	c.recall(after, l)
	_, _ = c.run(ctx, l)
}

// recall finds out which calls of earlier servers are open.
func (c *Codex) recall(f shim.Found, l *link) {
	var err error
	if l.former, err = formerCalls(f, l.shim.State, l.resume.Offset); err != nil {
		c.options.Logger.Warn().Err(err).Str("generation", f.Generation).
			Msg("the spool could not be searched for answers; a call of an earlier server may be reported although codex answered it")
	}
}

func (c *Codex) resumption(ctx context.Context, generation string) (runtime.Resumption, error) {
	if c.options.Resume == nil {
		return runtime.Resumption{}, nil
	}
	return c.options.Resume(ctx, generation)
}

// seed gives a connection the state it would have, had it heard everything from the start.
func (c *conn) seed(l *link) {
	if l.shim == nil {
		return
	}
	c.offset, c.attachment = l.resume.Offset, l.shim.Attachment
	c.nextID = c.attachment << attachmentShift
	c.inherited = l.shim.Attachment > 1
	for _, turn := range l.resume.Turns {
		c.turns.notice(runtime.Signal{ThreadID: turn.ThreadID, Change: runtime.TurnStarted{TurnID: turn.TurnID}})
	}
	c.former = l.former
	for _, request := range l.resume.Requests {
		c.requests[string(request.RequestID)] = openRequest{thread: request.ThreadID, turn: request.TurnID}
	}
}
