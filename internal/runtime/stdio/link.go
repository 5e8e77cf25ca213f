package stdio

import (
	"context"
	"encoding/json"
	"time"

	"harness/internal/runtime"
	"harness/internal/runtime/process"
	"harness/internal/runtime/process/shim"
)

// link is one process for its supervisor: a child, a process behind a shim, or the unread output of a dead shim.
type link struct {
	generation string
	pipes      pipes
	pid        int
	done       <-chan struct{}
	exit       func() runtime.Exit
	stop       func(grace time.Duration)
	release    func()

	// shim is nil for a child. over means that the process is dead and only output is left.
	shim *shim.Attached
	over bool
	// found is the folder of an earlier server, resume its stored state, and hello the process's description of itself.
	found  *shim.Found
	resume runtime.Resumption
	hello  json.RawMessage
}

func childLink(generation string, p *process.Process) *link {
	return &link{
		generation: generation, pipes: pipes{in: p.Stdin(), out: p.Stdout(), kill: p.Kill}, pid: p.PID(), done: p.Done(),
		exit: p.Exit, stop: p.Stop, release: p.Release,
	}
}

func shimLink(generation string, a *shim.Attached) *link {
	return &link{
		generation: generation, pid: a.PID(), done: a.Done(), exit: a.Exit, stop: a.Stop, release: a.Release, shim: a,
		hello: a.State.Note, pipes: pipes{in: a, out: a, kill: a.Kill, once: a.WriteOnce, call: a.WriteCall,
			settled: a.Settled, note: a.Note, ack: a.Ack, stalled: a.Stalled},
	}
}

// keeper returns the state of the shim for operators, nil for a child.
func (l *link) keeper() *runtime.ShimStatus {
	if l.shim == nil {
		return nil
	}
	return &runtime.ShimStatus{PID: l.shim.State.PID, Version: l.shim.State.Version, Servers: l.shim.Attachment}
}

// inherit attaches to the processes of earlier servers. It continues with the newest live process, publishes the
// unread output of dead ones, and ends the others. It returns when none of them is left, including the live one; ran
// reports whether there was one.
func (s *Supervisor) inherit(ctx context.Context) (ran bool) {
	found := s.options.Inherit()
	var keep *shim.Found
	if n := len(found); n > 0 && s.launcher.launch.Detach && found[n-1].Alive {
		keep = &found[n-1]
		found = found[:n-1]
		s.launcher.spare(keep.Generation)
		s.launcher.sweep()
	} else {
		defer s.launcher.sweep()
	}
	for _, f := range found {
		if ctx.Err() != nil {
			return false
		}
		s.retireShim(ctx, f)
	}
	if keep == nil || ctx.Err() != nil {
		return false
	}
	l, err := s.attach(ctx, *keep)
	if err != nil {
		if ctx.Err() != nil {
			return false
		}
		s.log.Warn().Err(err).Str("generation", keep.Generation).Int("pid", keep.State.RuntimePID).
			Msg("a running " + s.name + " can not be taken over; ending it")
		s.launcher.ended(keep.Generation)
		s.retireShim(ctx, *keep)
		s.launcher.sweep()
		return false
	}
	s.log.Info().Str("generation", l.generation).Int("pid", l.pid).Int64("from", l.resume.Offset).Int("turns",
		len(l.resume.Turns)).
		Msg("went on with a " + s.name + " that outlived its server")
	_, err = s.run(ctx, l)
	if ctx.Err() == nil && !s.options.Once && !s.replaced(err) {
		s.down(err, 0, true)
	}
	return true
}

func (s *Supervisor) attach(ctx context.Context, f shim.Found) (*link, error) {
	resume, err := s.options.Resume(ctx, f.Generation)
	if err != nil {
		return nil, err
	}
	a, err := shim.Attach(ctx, f, resume.Offset, s.launcher.stderr(f.Generation))
	if err != nil {
		return nil, err
	}
	l := shimLink(f.Generation, a)
	l.found, l.resume = &f, resume
	return l, nil
}

// retireShim ends an unused shim and publishes the rest of its process's output.
func (s *Supervisor) retireShim(ctx context.Context, f shim.Found) {
	after, killed, err := shim.Reap(ctx, f)
	if killed > 0 {
		s.launcher.Counters.Orphans.Add(int64(killed))
	}
	if err != nil {
		s.log.Error().Err(err).Str("generation", f.Generation).Msg("a " + s.name + " of an earlier server could not be ended")
		return
	}
	resume, err := s.options.Resume(ctx, f.Generation)
	if err != nil {
		s.log.Error().Err(err).Str("generation", f.Generation).
			Msg("what a " + s.name + " of an earlier server said last stays unread")
		return
	}
	l := shimLink(f.Generation, shim.Replay(after, resume.Offset))
	l.found, l.resume, l.over = &after, resume, true
	_, _ = s.run(ctx, l)
}

// seed sets a connection to the state after all earlier output.
func (c *Conn) seed(l *link) {
	if l.shim == nil {
		return
	}
	c.offset, c.attachment = l.resume.Offset, l.shim.Attachment
	c.nextID = c.attachment << attachmentShift
	c.inherited = l.shim.Attachment > 1
	for _, request := range l.resume.Requests {
		c.requests[string(request.RequestID)] = openRequest{thread: request.ThreadID, turn: request.TurnID}
	}
	if l.found != nil {
		c.hello = l.hello
		for _, open := range l.shim.State.Calls {
			c.labels = append(c.labels, open.Label)
		}
		var err error
		if c.orphaned, err = orphanedCalls(*l.found, l.shim.State, l.resume.Offset, c.protocol.AnswerIn); err != nil {
			c.log.Warn().Err(err).
				Msg("the spool could not be searched for answers; a call of an earlier server may be reported although " +
					c.name + " answered it")
		}
		for _, described := range l.resume.Described {
			c.natives.describe(described)
		}
		c.protocol.Resume(l.resume)
		if err = c.reread(*l.found, l.resume.Offset); err != nil {
			c.log.Error().Err(err).Msg("the spool could not be read again; the beginning of what " + c.name +
				" is in the middle of saying is missing from the complete text")
		}
	}
}
