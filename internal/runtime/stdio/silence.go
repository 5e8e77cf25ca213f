package stdio

import (
	"context"
	"fmt"
	"time"

	"github.com/rs/zerolog"
)

const (
	// silenceGrace bounds how long an agent that was silent has to end a turn it was told to.
	silenceGrace = 30 * time.Second
	// silenceLooks is how often turns are looked at while an agent may be silent.
	silenceLooks = 8
)

// Silence ends turns in which an agent says nothing, and processes that go on with one even so. 0 waits for ever.
type Silence time.Duration

// Turn is a turn that runs, as Silence looks at it.
type Turn struct {
	ID string
	// Heard is when something was said in it last, Stopped says that the agent was told to end it because it was silent.
	Heard   time.Time
	Stopped bool
}

// Watched is an agent that Silence looks after.
type Watched struct {
	// Name is the runtime's name, Title what the agent is called for people.
	Name, Title string
	Log         zerolog.Logger
	// Turns are those that run and in which the agent itself is waited for, not a person or a command of its.
	Turns func() []Turn
	// Stop tells the agent to end a turn, whose end then says why (Reason).
	Stop func(ctx context.Context, turn string) error
	// Held tells that what the agent says does not get through for now (Conn.Held).
	Held func() bool
}

// Reason tells people why a turn was ended.
func (s Silence) Reason() string {
	return fmt.Sprintf("the agent said nothing for %s (HARNESS_TURN_IDLE_TIMEOUT_MS) and waits for nothing that can come: no request of it "+
		"is open. The turn was ended; send the message again",
		time.Duration(s))
}

// Attend looks after a process while it is up (Options.Attend). *RetiredError for one that goes on though it was told
// to stop.
func (s Silence) Attend(ctx context.Context, agent Watched) error {
	if s <= 0 {
		<-ctx.Done()
		return nil
	}
	limit := time.Duration(s)
	grace := min(limit, silenceGrace)
	ticker := time.Tick(max(limit/silenceLooks, time.Millisecond))
	var held time.Time
	for {
		select {
		case <-ctx.Done():
			return nil
		case now := <-ticker:
			if agent.Held() {
				held = now
			}
			for _, turn := range agent.Turns() {
				switch silent := min(now.Sub(turn.Heard), now.Sub(held)); {
				case turn.Stopped && silent >= limit+grace:
					return &RetiredError{
						Exit: fmt.Sprintf(
							"it said nothing for %s in a turn and did not end it when it was told to (HARNESS_TURN_IDLE_TIMEOUT_MS)", limit),
						Message: agent.Title + " was silent and is being restarted; send the message again"}
				case !turn.Stopped && silent >= limit:
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
