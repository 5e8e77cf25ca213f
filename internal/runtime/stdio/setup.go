package stdio

import (
	"context"
	"encoding/json"
	"time"

	"harness/internal/runtime"
	"harness/internal/runtime/environment"
)

// Setup is what a server gives to the adapter of a runtime whose agent is a program on standard pipes. The adapter adds
// what only it knows: Launch.Command and Launch.Remedy, and of Supervise what the words of its agent need.
type Setup struct {
	Launch    Launch
	Supervise Options
	// Home is where the agent keeps its logins, settings and state.
	Home environment.Home
	// SessionHome makes and returns the home of a session, and the folders that have to stay visible for it
	// (Program.Keep), where each session has one of its own (environment.LevelEphemeral); nil where Home is that of all.
	// ForgetHome removes what there is of one, nil for nothing.
	SessionHome func(session string) (home environment.Home, keep []string, err error)
	ForgetHome  func(session string) error
	// SessionHomes are the sessions that have one, nil where others may have made some of them; KnownSession reports whether
	// a session is stored. What is left of one that never was goes at the next start.
	SessionHomes func() ([]string, error)
	KnownSession func(ctx context.Context, session string) (bool, error)
	// LastState is the last runtime.Batch.State of the process that served a conversation before, or, of none (""), of the
	// runtime's last one: what the translator of the next process may go on with. nil when there is none.
	LastState func(ctx context.Context, threadID string) (json.RawMessage, error)
	// Door gives conversations their bearers; nil gives none. Tools is what the agent is to know the server's tools by, "" to
	// be given none; they need a door.
	Door  runtime.Door
	Tools string
	// NativeToolsOff reports whether the agent is to have no tools of its own in a conversation, nil for none of them; false of
	// a conversation that is not stored yet.
	NativeToolsOff func(ctx context.Context, threadID string) (bool, error)
	// Idle and MaxProcesses are for a runtime with a process for each conversation (processes.Options).
	Idle         time.Duration
	MaxProcesses int
	// Silence is how long an agent may say nothing in a turn.
	TurnWatchdog TurnWatchdog
	// Version is the server's, sent to the agent.
	Version string
}
