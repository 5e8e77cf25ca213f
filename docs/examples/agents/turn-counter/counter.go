// Package turncounter is an example of a native extension: Go code compiled into the server, behind the same interface
// as any other.
//
// To run it, add turncounter.Extension() to nativeExtensions in package server and build.
package turncounter

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"harness/extensions/sdk"
)

// Extension counts the turns of each session and adds a note to the session's transcript every tenth turn.
func Extension() sdk.Extension {
	c := &counter{turns: map[string]int{}}
	return sdk.Extension{
		ModuleName: "turn-counter", Name: "@example/turn-counter", Version: "1.0.0", DisplayName: "Turn counter",
		Events:  []string{"app_server.turn.completed"},
		Actions: []string{sdk.ActionTranscriptUpsert},
		Register: func(registry *sdk.Registry) {
			registry.On("app_server.turn.completed", c.completed, sdk.TimeoutMs(2000))
		},
	}
}

// counter keeps its counts while it is loaded. Handlers of a native extension run concurrently, so it locks.
type counter struct {
	mu    sync.Mutex
	turns map[string]int
}

// every is the number of turns from one note to the next.
const every = 10

func (c *counter) completed(_ context.Context, event sdk.Event, tools sdk.Tools) (any, error) {
	var payload struct {
		Context struct{ ThreadID, TurnID string }
	}
	if err := json.Unmarshal(event.Payload, &payload); err != nil {
		return nil, fmt.Errorf("this is no signal of the app server: %w", err)
	}
	session, turn := payload.Context.ThreadID, payload.Context.TurnID
	if session == "" || turn == "" {
		return nil, nil // a signal without a session
	}
	c.mu.Lock()
	c.turns[session]++
	count := c.turns[session]
	c.mu.Unlock()
	tools.Log("debug", map[string]any{"session": session, "turns": count}, "a turn is over")
	if count%every != 0 {
		return nil, nil
	}
	request := sdk.NewAction(sdk.ActionTranscriptUpsert, map[string]any{"sessionId": session, "entry": map[string]any{
		"messageId": "turn-counter-" + turn, "turnId": turn, "role": "system", "type": "example.turnCount",
		"content": fmt.Sprintf("%d turns so far", count), "status": "complete",
	}})
	// A turn that is delivered twice is noted at most once.
	request.IdempotencyKey = "turn-counter:" + session + ":" + turn
	return request, nil
}
