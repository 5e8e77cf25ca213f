package codex

import (
	"encoding/json"
	"fmt"
	"time"

	"harness/internal/runtime"
	"harness/internal/runtime/wire"
)

// ids are the places of ids in codex's answers, and in the notifications specific to codex.
type ids struct {
	ThreadID       string   `json:"threadId"`
	ConversationID string   `json:"conversationId"`
	Thread         withID   `json:"thread"`
	Turn           withID   `json:"turn"`
	Status         typeOnly `json:"status"`
}

type withID struct {
	ID string `json:"id"`
}

type typeOnly struct {
	Type string `json:"type"`
}

// classify translates a notification or a request into its neutral form. codex uses the canonical vocabulary, except
// for its oldest methods. It keeps no state, so tests can check each frame alone.
func classify(f frame, raw []byte, generation string, at time.Time) runtime.Signal {
	s := wire.Read(raw, f.Method, f.Layout)
	s.Generation, s.ReceivedAt = generation, at
	if s.ThreadID == "" && len(f.Params) > 0 {
		var named ids
		_ = json.Unmarshal(f.Params, &named) // the decoder skips members of an unexpected type
		s.ThreadID = runtime.KnownID(named.ConversationID)
	}
	if parent := parentOf(s.Method, f.Params); parent != "" && s.Change == nil {
		s.Change = runtime.ThreadOpened{ParentID: parent}
	}
	if end, over := s.Change.(runtime.TurnCompleted); over {
		end.Kind = failureKind(end.Kind, end.Error)
		s.Change = end
	}
	if s.Kind == runtime.SignalRequest {
		s.Change = nil
		if asked, ok := requested(f.Method, f.Params); ok {
			s.Change = asked
		}
	}
	return s
}

// Read parses a line of codex without a process.
func Read(line json.RawMessage) (runtime.Signal, error) {
	f, err := parseFrame(line)
	if err != nil {
		return runtime.Signal{}, fmt.Errorf("read a line of codex: %w", err)
	}
	return classify(f, line, "", time.Time{}), nil
}
