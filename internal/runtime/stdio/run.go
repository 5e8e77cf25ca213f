package stdio

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"harness/internal/runtime"
)

// forgetLimit bounds the wait until the end of a process is stored.
const forgetLimit = 2 * time.Second

// runOnce starts one process. It returns after the process is gone and all its output is published. The error is the
// reason of the end.
func (s *Supervisor) runOnce(ctx context.Context) (ready bool, err error) {
	l, err := s.launcher.open(ctx, s.options.StartTimeout, s.options.Program)
	if err != nil {
		return false, err
	}
	return s.run(ctx, l)
}

// run is runOnce for an existing process. One that should outlive the server stays with its shim when the context ends.
func (s *Supervisor) run(ctx context.Context, l *link) (ready bool, err error) {
	conn := newConn(s.launcher, l.generation, l.pipes, s.out, s.options.Speak)
	conn.seed(l)
	conn.onStarted = sync.OnceFunc(func() { s.started(conn, l) })
	if len(l.hello) > 0 && !l.over {
		conn.Started(l.hello)
	}
	go conn.read()

	var cause error
	if !l.over {
		cause = s.live(ctx, conn, l)
	}
	var hung *hungError
	errors.As(cause, &hung)
	var retired *RetiredError
	errors.As(cause, &retired)
	var killed *EndedError
	errors.As(cause, &killed)
	ready = s.Status().Generation == conn.generation
	if keep := l.shim != nil && !l.over && s.options.KeepOnStop && ctx.Err() != nil; keep {
		l.shim.Detach()
		<-conn.gone
		l.release()
		s.set(func(*runtime.Status) { s.conn = nil })
		return ready, ctx.Err()
	}
	if !l.over {
		grace := stopGrace
		if hung != nil || killed != nil {
			grace = 0 // the process is killed; this also waits for a hung shim
		}
		l.stop(grace)
		// Sweep before reading the rest of the output: a leftover process may hold the pipe open.
		s.launcher.ended(l.generation)
		s.launcher.sweep()
	}
	<-conn.gone
	conn.reportOrphaned(true)
	l.release()
	exit := l.exit()
	if hung != nil {
		exit.Reason = fmt.Sprintf("it did not answer for %s", hung.after)
	}
	if retired != nil {
		exit.Reason = retired.Exit
	}
	if killed != nil {
		exit.Reason = killed.Reason
	}
	s.ended(conn, l, exit)
	if cause == nil {
		cause = fmt.Errorf("%s ended (%s); it is being restarted, its stderr is in the log", s.name, exitText(exit))
	}
	return ready, cause
}

// ended publishes the end of a process. Once that is stored, it releases the files of the shim.
func (s *Supervisor) ended(conn *Conn, l *link, exit runtime.Exit) {
	if !l.over {
		s.set(func(status *runtime.Status) {
			status.PID, status.Generation, status.LastExit, status.Shim = 0, "", &exit, nil
			// supervise soon reports whether callers may wait for the next one. An agent that is down stays down: it ended
			// before it was ready.
			if status.State != runtime.StateUnavailable {
				status.State, status.Reason = runtime.StateStarting, s.name+" ended"
			}
			s.conn = nil
		})
	}
	stored := make(chan struct{})
	batch := runtime.Batch{Generation: conn.generation, Signals: []runtime.Signal{
		{Kind: runtime.SignalExited, Generation: conn.generation, Serves: s.options.Serves, ReceivedAt: exit.At,
			Exit: &exit}}}
	if l.shim == nil {
		s.out.push(batch)
		return
	}
	batch.Stored = func() { close(stored) }
	s.out.push(batch)
	select {
	case <-stored:
		l.shim.Forget()
	case <-time.After(forgetLimit):
		// The next server finds the folder and publishes the end again; the store ignores the repetition.
	}
}

// live does the handshake and then waits for the end. It returns nil when the process exited by itself after it was
// ready. It returns *hungError for a hung process, *EndedError after End, and *RetiredError after Retire.
func (s *Supervisor) live(ctx context.Context, conn *Conn, l *link) error {
	if len(l.hello) == 0 {
		if err := conn.protocol.Greet(ctx); err != nil {
			return err
		}
		if l.shim != nil {
			hello := conn.Hello()
			if len(hello) == 0 {
				hello = []byte(`{}`)
			}
			l.shim.Note(hello)
		}
	}
	overdue := time.After(s.options.CallTimeout)
	var polls <-chan time.Time
	health := watch{conn: conn, every: s.options.HangAfter / watchSteps}
	health.prober, _ = conn.protocol.(Prober)
	if health.every > 0 && health.prober != nil {
		ticker := time.NewTicker(health.every)
		defer ticker.Stop()
		polls = ticker.C
	}
	attending, enough := context.WithCancel(ctx)
	var attendant sync.WaitGroup
	defer attendant.Wait()
	defer enough()
	retired := make(chan error, 1)
	if s.options.Attend != nil {
		attendant.Go(func() {
			if err := s.options.Attend(attending, conn, l.pid); err != nil {
				retired <- err
			}
		})
	}
	for {
		select {
		case <-l.done:
		case <-conn.gone:
			// The process closed its stdout. It is useless, even if it is still alive.
		case <-ctx.Done():
		case err := <-retired:
			return err
		case killed := <-conn.ending:
			l.pipes.kill()
			return killed
		case <-overdue:
			conn.reportOrphaned(false)
			continue
		case <-polls:
			if err := s.examine(&health); err != nil {
				// A stopped process would not receive any other signal.
				l.pipes.kill()
				return err
			}
			continue
		}
		return nil
	}
}

// started runs in the reader or before it, so that SignalStarted keeps the total order.
func (s *Supervisor) started(conn *Conn, l *link) {
	version := s.options.Started(conn)
	s.set(func(status *runtime.Status) {
		s.conn = conn
		status.State, status.Reason, status.PID, status.Generation, status.Shim =
			runtime.StateReady, "", l.pid, conn.generation, l.keeper()
		status.Version = version
	})
	s.out.push(runtime.Batch{Generation: conn.generation, Signals: []runtime.Signal{
		{Kind: runtime.SignalStarted, Generation: conn.generation, Serves: s.options.Serves, ReceivedAt: time.Now()}}})
}

func exitText(exit runtime.Exit) string {
	switch {
	case exit.Reason != "":
		return exit.Reason
	case exit.Signal != nil:
		return "signal " + *exit.Signal
	case exit.Code != nil:
		return fmt.Sprintf("exit code %d", *exit.Code)
	}
	return "cause unknown"
}
