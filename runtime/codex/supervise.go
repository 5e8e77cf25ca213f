package codex

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"harness/runtime"
	"harness/runtime/process"
)

// colours are the terminal's; 0.101 writes them into pipes, too.
var colours = regexp.MustCompile(`\x1b\[[0-9;]*m`)

// supervise keeps one codex process running until the context ends.
func (c *Codex) supervise(ctx context.Context) {
	c.sweep()
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
		c.options.Logger.Error().Err(err).Dur("retry_in", backoff).Msg("codex is down")
		c.set(func(s *runtime.Status) {
			s.State, s.Reason = runtime.StateUnavailable, err.Error()
			if ready && backoff == c.options.BackoffMin {
				// It was fine until now and is back in a moment: callers wait for it instead of failing.
				s.State = runtime.StateStarting
			}
			s.Restarts++
		})
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

// runOnce starts one process and returns when it is gone and everything about it was said. The error says why it is gone.
func (c *Codex) runOnce(ctx context.Context) (ready bool, err error) {
	bin, err := exec.LookPath(c.options.Bin)
	if err != nil && !errors.Is(err, exec.ErrDot) {
		return false, fmt.Errorf("codex is missing (%w): set CODEX_BIN to the codex executable or install it with: npm install -g @openai/codex", err)
	}
	generation, err := uuid.NewV7()
	if err != nil {
		return false, fmt.Errorf("name a codex process: %w", err)
	}
	log := c.options.Logger.With().Str("generation", generation.String()).Logger()
	p, err := process.Start(ctx, process.Spec{
		Path: bin, Args: []string{"app-server"}, Env: c.environment(), Dir: c.options.Dir, Mark: c.options.Mark,
		Stderr: func(line []byte) { log.Info().Str("stream", "stderr").Msg(colours.ReplaceAllString(string(line), "")) },
	})
	if err != nil {
		return false, fmt.Errorf("codex does not start (%w): check that CODEX_BIN names an executable of this platform", err)
	}
	conn := newConn(generation.String(), wire{in: p.Stdin(), out: p.Stdout(), kill: p.Kill}, c.out, &c.counters, log)
	conn.onStarted = func(result json.RawMessage) { c.started(conn, p, result) }
	go conn.read()

	cause := c.live(ctx, conn, p)
	ready = c.Status().Generation == conn.generation
	p.Stop(stopGrace)
	// Sweep before the last words are read: what is swept may be what holds the pipe open.
	c.sweep()
	<-conn.gone
	p.Release()
	exit := p.Exit()
	c.set(func(s *runtime.Status) {
		s.PID, s.Generation, s.LastExit = 0, "", &exit
		// supervise says in a moment whether callers may wait for the next one.
		s.State, s.Reason = runtime.StateStarting, "codex ended"
		c.conn = nil
	})
	c.out.push(runtime.Signal{
		Kind: runtime.SignalExited, Generation: conn.generation, ReceivedAt: exit.At, Exit: &exit,
	})
	if cause == nil {
		cause = fmt.Errorf("codex ended (%s); it is being restarted, its stderr is in the log", exitText(exit))
	}
	return ready, cause
}

// live shakes hands and then waits for the end. Nil when the process ended by itself after it was ready.
func (c *Codex) live(ctx context.Context, conn *conn, p *process.Process) error {
	hello := object{
		"clientInfo":   object{"name": "harness", "title": "Harness", "version": c.options.ClientVersion},
		"capabilities": object{"experimentalApi": true, "requestAttestation": false},
	}
	if _, err := conn.call(ctx, c.options.StartTimeout, "initialize", hello); err != nil {
		if errors.Is(err, runtime.ErrTimeout) {
			return fmt.Errorf("codex did not answer initialize within %s: check that CODEX_BIN is codex and that CODEX_HOME is readable", c.options.StartTimeout)
		}
		return fmt.Errorf("codex failed to initialize: %w; its stderr is in the log", err)
	}
	if err := conn.send(ctx, outgoing{Method: "initialized"}); err != nil {
		return fmt.Errorf("codex failed to initialize: %w", err)
	}
	select {
	case <-p.Done():
	case <-conn.gone:
		// It closed its stdout: alive or not, it is of no use.
	case <-ctx.Done():
	}
	return nil
}

// started runs in the reader, so that SignalStarted stands in the total order.
func (c *Codex) started(conn *conn, p *process.Process, result json.RawMessage) {
	var hello struct {
		UserAgent string `json:"userAgent"`
		Home      string `json:"codexHome"`
	}
	_ = json.Unmarshal(result, &hello)
	c.set(func(s *runtime.Status) {
		c.conn, c.version, c.home = conn, parseVersion(hello.UserAgent), hello.Home
		s.State, s.Reason, s.PID, s.Generation = runtime.StateReady, "", p.PID(), conn.generation
		s.Version = firstOf(c.version.String(), hello.UserAgent)
	})
	c.out.push(runtime.Signal{Kind: runtime.SignalStarted, Generation: conn.generation, ReceivedAt: time.Now()})
}

func (c *Codex) sweep() {
	// Not the supervision's context: leftovers go away at the end, too.
	ctx, cancel := context.WithTimeout(context.Background(), sweepLimit)
	defer cancel()
	killed, err := process.Sweep(ctx, c.options.Mark)
	if err != nil {
		c.options.Logger.Error().Err(err).Msg("leftover codex processes remain")
	}
	if killed > 0 {
		c.options.Logger.Warn().Int("processes", killed).Msg("killed what a codex process left behind")
	}
}

func (c *Codex) environment() []string {
	env := slices.DeleteFunc(os.Environ(), func(assignment string) bool {
		name, _, _ := strings.Cut(assignment, "=")
		return slices.Contains(c.options.DropEnv, name) || name == process.MarkVariable
	})
	if c.options.Home != "" {
		env = append(env, "CODEX_HOME="+c.options.Home)
	}
	return append(env, c.options.Env...)
}

func exitText(exit runtime.Exit) string {
	switch {
	case exit.Signal != nil:
		return "signal " + *exit.Signal
	case exit.Code != nil:
		return fmt.Sprintf("exit code %d", *exit.Code)
	}
	return "cause unknown"
}
