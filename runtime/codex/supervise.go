package codex

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"harness/runtime"
	"harness/runtime/process"
	"harness/runtime/process/shim"
)

// colours are the terminal's; 0.101 writes them into pipes, too.
var colours = regexp.MustCompile(`\x1b\[[0-9;]*m`)

// supervise keeps one codex process running until the context ends.
func (c *Codex) supervise(ctx context.Context) {
	c.inherit(ctx)
	backoff := c.options.BackoffMin
	for ctx.Err() == nil {
		began := time.Now()
		ready, err := c.runOnce(ctx)
		if ctx.Err() != nil {
			break
		}
		if ready && time.Since(began) >= steady {
			backoff = c.options.BackoffMin
		}
		if c.replaced(err) {
			continue
		}
		c.down(err, backoff, ready && backoff == c.options.BackoffMin)
		timer := time.NewTimer(backoff)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
		}
		backoff = min(backoff*2, c.options.BackoffMax)
	}
	c.set(func(s *runtime.Status) { s.State, s.Reason, s.PID = runtime.StateStopped, "codex is stopped", 0 })
}

// down notes that a process is gone and when another follows. One that was fine until now is back in a moment (soon): callers wait for it
// instead of failing.
func (c *Codex) down(err error, retry time.Duration, soon bool) {
	c.options.Logger.Error().Err(err).Dur("retry_in", retry).Msg("codex is down")
	c.set(func(s *runtime.Status) {
		s.State, s.Reason = runtime.StateUnavailable, err.Error()
		if soon {
			s.State = runtime.StateStarting
		}
		s.Restarts++
	})
}

// replaced tells that a process was ended to give its memory back, so that the next one is started at once.
func (c *Codex) replaced(err error) bool {
	var recycled *recycledError
	if !errors.As(err, &recycled) {
		return false
	}
	c.options.Logger.Info().Int64("mib", recycled.bytes>>20).Msg("codex was idle and is replaced to give memory back")
	return true
}

// runOnce starts one process and returns when it is gone and everything about it was said. The error says why it is gone.
func (c *Codex) runOnce(ctx context.Context) (ready bool, err error) {
	l, err := c.open(ctx)
	if err != nil {
		return false, err
	}
	return c.run(ctx, l)
}

// run is runOnce for a process that runs, or ran, already. A process that is to outlive us is left to its shim when the context ends.
func (c *Codex) run(ctx context.Context, l *link) (ready bool, err error) {
	log := c.options.Logger.With().Str("generation", l.generation).Logger()
	conn := newConn(l.generation, l.wire, c.out, &c.counters, log)
	conn.seed(l)
	conn.onStarted = sync.OnceFunc(func() { c.started(conn, l) })
	if len(l.hello) > 0 && !l.over {
		conn.hello = l.hello
		conn.onStarted()
	}
	go conn.read()

	var cause error
	if !l.over {
		cause = c.live(ctx, conn, l)
	}
	var hung *hungError
	errors.As(cause, &hung)
	var recycled *recycledError
	errors.As(cause, &recycled)
	ready = c.Status().Generation == conn.generation
	if keep := l.shim != nil && !l.over && c.options.KeepOnStop && ctx.Err() != nil; keep {
		l.shim.Detach()
		<-conn.gone
		l.release()
		c.set(func(s *runtime.Status) { c.conn = nil })
		return ready, ctx.Err()
	}
	if !l.over {
		grace := stopGrace
		if hung != nil {
			grace = 0 // it is killed; what is waited for is a shim that hangs, too
		}
		l.stop(grace)
		// Sweep before the last words are read: what is swept may be what holds the pipe open.
		c.sweep()
	}
	<-conn.gone
	conn.reportFormer()
	l.release()
	exit := l.exit()
	if hung != nil {
		exit.Reason = fmt.Sprintf("it did not answer for %s", hung.after)
	}
	if recycled != nil {
		exit.Reason = fmt.Sprintf("it held %d MiB while it was idle", recycled.bytes>>20)
	}
	c.ended(conn, l, exit)
	if cause == nil {
		cause = fmt.Errorf("codex ended (%s); it is being restarted, its stderr is in the log", exitText(exit))
	}
	return ready, cause
}

// ended tells of a process's end, and lets go of what its shim kept once that is stored.
func (c *Codex) ended(conn *conn, l *link, exit runtime.Exit) {
	if !l.over {
		c.set(func(s *runtime.Status) {
			s.PID, s.Generation, s.LastExit, s.Shim = 0, "", &exit, nil
			// supervise says in a moment whether callers may wait for the next one.
			s.State, s.Reason = runtime.StateStarting, "codex ended"
			c.conn = nil
		})
	}
	stored := make(chan struct{})
	batch := runtime.Batch{Generation: conn.generation, Signals: []runtime.Signal{
		{Kind: runtime.SignalExited, Generation: conn.generation, ReceivedAt: exit.At, Exit: &exit}}}
	if l.shim == nil {
		c.out.push(batch)
		return
	}
	batch.Stored = func() { close(stored) }
	c.out.push(batch)
	limit := time.NewTimer(forgetLimit)
	defer limit.Stop()
	select {
	case <-stored:
		l.shim.Forget()
	case <-limit.C:
		// The next server finds the folder and tells of the end again; the store knows that it has heard it.
	}
}

// live shakes hands and then waits for the end. Nil when the process ended by itself after it was ready, *hungError when it had to be
// killed, *recycledError when it is to be replaced.
func (c *Codex) live(ctx context.Context, conn *conn, l *link) error {
	if len(l.hello) == 0 {
		if err := c.shakeHands(ctx, conn); err != nil {
			return err
		}
		if l.shim != nil {
			l.shim.Note(orElse(conn.hello, `{}`))
		}
	}
	overdue := time.NewTimer(c.options.CallTimeout)
	defer overdue.Stop()
	var looks <-chan time.Time
	health := watch{conn: conn, every: c.options.HangAfter / watchSteps}
	if health.every > 0 {
		ticker := time.NewTicker(health.every)
		defer ticker.Stop()
		looks = ticker.C
	}
	saving, enough := context.WithCancel(ctx)
	var saver sync.WaitGroup
	defer saver.Wait()
	defer enough()
	retired := make(chan error, 1)
	if c.options.UnloadAfter > 0 || c.options.RecycleBytes > 0 {
		saver.Go(func() {
			if err := c.giveBack(saving, conn, l); err != nil {
				retired <- err
			}
		})
	}
	for {
		select {
		case <-l.done:
		case <-conn.gone:
			// It closed its stdout: alive or not, it is of no use.
		case <-ctx.Done():
		case err := <-retired:
			return err
		case <-overdue.C:
			conn.reportFormer()
			continue
		case <-looks:
			if err := c.examine(&health); err != nil {
				// Stopped, it would not hear of any other signal.
				l.wire.kill()
				return err
			}
			continue
		}
		return nil
	}
}

func (c *Codex) shakeHands(ctx context.Context, conn *conn) error {
	hello := object{
		"clientInfo":   object{"name": "harness", "title": "Harness", "version": c.options.ClientVersion},
		"capabilities": object{"experimentalApi": true, "requestAttestation": false},
	}
	_, err := conn.call(ctx, c.options.StartTimeout, "initialize", hello)
	if conn.inherited && alreadyInitialized(err) {
		// The server before us got that far and no further.
		conn.onStarted()
		err = nil
	}
	if err != nil {
		if errors.Is(err, runtime.ErrTimeout) {
			return fmt.Errorf("codex did not answer initialize within %s: check that CODEX_BIN is codex and that CODEX_HOME is readable", c.options.StartTimeout)
		}
		return fmt.Errorf("codex failed to initialize: %w; its stderr is in the log", err)
	}
	if err := conn.send(ctx, outgoing{Method: "initialized"}); err != nil {
		return fmt.Errorf("codex failed to initialize: %w", err)
	}
	return nil
}

// started runs in the reader or before it, so that SignalStarted stands in the total order.
func (c *Codex) started(conn *conn, l *link) {
	var hello struct {
		UserAgent string `json:"userAgent"`
		Home      string `json:"codexHome"`
	}
	_ = json.Unmarshal(conn.hello, &hello)
	c.set(func(s *runtime.Status) {
		c.conn, c.version, c.home = conn, parseVersion(hello.UserAgent), hello.Home
		s.State, s.Reason, s.PID, s.Generation, s.Shim = runtime.StateReady, "", l.pid, conn.generation, l.keeper()
		s.Version = firstOf(c.version.String(), hello.UserAgent)
	})
	c.out.push(runtime.Batch{Generation: conn.generation, Signals: []runtime.Signal{
		{Kind: runtime.SignalStarted, Generation: conn.generation, ReceivedAt: time.Now()}}})
}

// sweep kills what carries our mark and none of the assignments to spare.
func (c *Codex) sweep(spare ...string) {
	// Not the supervision's context: leftovers go away at the end, too.
	ctx, cancel := context.WithTimeout(context.Background(), sweepLimit)
	defer cancel()
	killed, err := process.Sweep(ctx, c.options.Mark, spare...)
	if err != nil {
		c.options.Logger.Error().Err(err).Msg("leftover codex processes remain")
	}
	if killed > 0 {
		c.counters.orphans.Add(int64(killed))
		c.options.Logger.Warn().Int("processes", killed).Msg("killed what a codex process left behind")
	}
}

func (c *Codex) environment() []string {
	env := slices.DeleteFunc(os.Environ(), func(assignment string) bool {
		name, _, _ := strings.Cut(assignment, "=")
		return slices.Contains(c.options.DropEnv, name) || name == process.MarkVariable || name == shim.GenerationVariable
	})
	if c.options.Home != "" {
		env = append(env, "CODEX_HOME="+c.options.Home)
	}
	return append(env, c.options.Env...)
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
