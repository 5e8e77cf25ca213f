package stdio

import (
	"context"
	"fmt"
	"time"

	"github.com/rs/zerolog"
)

const (
	// endGrace is the time an unresponsive agent gets to end a turn on request.
	endGrace = 30 * time.Second
	// watchdogChecks is the number of checks within the limit.
	watchdogChecks = 8
)

// TurnWatchdog ends turns with an unresponsive agent, and processes that do not end such a turn. 0 waits forever.
type TurnWatchdog time.Duration

// Turn is a running turn for TurnWatchdog.
type Turn struct {
	ID string
	// LastOutput is the time of the last output in it. Stopped is set after a request to the agent to end it as
	// unresponsive.
	LastOutput time.Time
	Stopped    bool
}

// Watched is an agent that TurnWatchdog checks.
type Watched struct {
	// Name is the runtime's name, Title the agent's display name.
	Name, Title string
	Log         zerolog.Logger
	// Turns returns the running turns that wait for the agent itself, not for a user or a command.
	Turns func() []Turn
	// Stop requests that the agent end a turn, with Reason as its error.
	Stop func(ctx context.Context, turn string) error
	// Stalled reports whether the agent's output is currently stalled (Conn.Stalled).
	Stalled func() bool
}

// Reason is the message to users for an ended turn.
func (s TurnWatchdog) Reason() string {
	return fmt.Sprintf("the agent said nothing for %s (HARNESS_TURN_IDLE_TIMEOUT_MS), and no request is open. "+
		"The turn was ended; send the message again",
		time.Duration(s))
}

// Attend watches a running process (Options.Attend). It returns *RetiredError when the process ignores the request to
// stop.
func (s TurnWatchdog) Attend(ctx context.Context, agent Watched) error {
	if s <= 0 {
		<-ctx.Done()
		return nil
	}
	limit := time.Duration(s)
	grace := min(limit, endGrace)
	ticker := time.Tick(max(limit/watchdogChecks, time.Millisecond))
	var held time.Time
	for {
		select {
		case <-ctx.Done():
			return nil
		case now := <-ticker:
			if agent.Stalled() {
				held = now
			}
			for _, turn := range agent.Turns() {
				switch idle := min(now.Sub(turn.LastOutput), now.Sub(held)); {
				case turn.Stopped && idle >= limit+grace:
					return &RetiredError{
						Exit: fmt.Sprintf(
							"it said nothing for %s in a turn and did not end it when asked to (HARNESS_TURN_IDLE_TIMEOUT_MS)", limit),
						Message: agent.Title + " was silent and is being restarted; send the message again"}
				case !turn.Stopped && idle >= limit:
					agent.Log.Warn().Str("turn", turn.ID).Dur("for", limit).Msg(agent.Name + " says nothing; ending the turn")
					stopping, cancel := context.WithTimeout(ctx, grace)
					if err := agent.Stop(stopping, turn.ID); err != nil {
						agent.Log.Warn().Err(err).Str("turn", turn.ID).Msg("a silent turn could not be stopped")
					}
					cancel()
				}
			}
		}
	}
}
