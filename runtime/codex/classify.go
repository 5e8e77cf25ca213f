package codex

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"harness/runtime"
)

// ids are the places where frames name what they are about.
type ids struct {
	ThreadID       string   `json:"threadId"`
	ConversationID string   `json:"conversationId"`
	TurnID         string   `json:"turnId"`
	ItemID         string   `json:"itemId"`
	CallID         string   `json:"callId"`
	Thread         withID   `json:"thread"`
	Turn           withID   `json:"turn"`
	Item           withID   `json:"item"`
	Status         typeOnly `json:"status"`
}

type withID struct {
	ID string `json:"id"`
}

type typeOnly struct {
	Type string `json:"type"`
}

func firstOf(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}

// classify gives a notification or a request its neutral form. It keeps no state, so that whatever a frame means can be tested by the frame.
func classify(f frame, raw []byte, generation string, at time.Time) runtime.Signal {
	s := runtime.Signal{
		Kind: runtime.SignalNotification, Generation: generation, Method: f.Method, Raw: raw, Params: f.Params, ReceivedAt: at,
	}
	var named ids
	if len(f.Params) > 0 {
		// Members of another type than expected are skipped, the others are still read.
		_ = json.Unmarshal(f.Params, &named)
	}
	s.ThreadID = runtime.KnownID(firstOf(named.ThreadID, named.Thread.ID, named.ConversationID))
	s.TurnID = runtime.KnownID(firstOf(named.TurnID, named.Turn.ID))
	s.ItemID = runtime.KnownID(firstOf(named.ItemID, named.Item.ID, named.CallID))
	if f.kind() == frameRequest {
		s.Kind, s.RequestID = runtime.SignalRequest, f.ID
		if asked, ok := requested(f.Method, f.Params); ok {
			s.Change = asked
		}
		return s
	}
	if s.Change = changeOf(f.Method, f.Params, s.TurnID); s.Change == nil && s.ThreadID != "" && s.ItemID != "" {
		s.Change = textDelta(f.Method, raw)
	}
	return s
}

func changeOf(method string, params json.RawMessage, turnID string) runtime.Change {
	switch method {
	case "turn/started", "turn/completed":
		var p struct {
			Turn json.RawMessage `json:"turn"`
		}
		_ = json.Unmarshal(params, &p)
		var turn wireTurn
		_ = json.Unmarshal(p.Turn, &turn)
		if turn.ID == "" {
			return nil
		}
		turn.ID = runtime.KnownID(turn.ID)
		native := withoutItems(p.Turn)
		if method == "turn/started" {
			return runtime.TurnStarted{TurnID: turn.ID, StartedAt: millis(turn.StartedAt), Native: native}
		}
		status := runtime.TurnStatus(turn.Status)
		if status == "" || status == runtime.TurnInProgress {
			// Whatever it says, it is over.
			status = runtime.TurnDone
		}
		return runtime.TurnCompleted{
			TurnID: turn.ID, Status: status, Error: errorText(turn.Error), Remedy: remedy(turn.Error),
			StartedAt: millis(turn.StartedAt), CompletedAt: millis(turn.CompletedAt), Native: native,
		}
	case "item/started", "item/completed":
		var p struct {
			StartedAtMs   json.Number `json:"startedAtMs"`
			CompletedAtMs json.Number `json:"completedAtMs"`
		}
		_ = json.Unmarshal(params, &p)
		// A part of the line, not a copy: it may be as long.
		at, _ := member(params, 0, "item")
		item, ok := describe(params[at.start:at.end:at.end])
		if !ok {
			return nil
		}
		if item.StartedAt == 0 {
			item.StartedAt = millis(p.StartedAtMs)
		}
		if item.CompletedAt == 0 {
			item.CompletedAt = millis(p.CompletedAtMs)
		}
		return runtime.ItemChanged{TurnID: turnID, Item: item, Done: method == "item/completed"}
	case "serverRequest/resolved":
		var p struct {
			RequestID json.RawMessage `json:"requestId"`
		}
		_ = json.Unmarshal(params, &p)
		if len(p.RequestID) == 0 {
			return nil
		}
		return runtime.RequestResolved{RequestID: p.RequestID}
	case "thread/name/updated":
		var p struct {
			Name *string `json:"threadName"`
		}
		_ = json.Unmarshal(params, &p)
		if p.Name == nil {
			return nil
		}
		return runtime.ThreadNamed{Name: clean(*p.Name)}
	}
	return nil
}

func errorText(raw json.RawMessage) string {
	var e struct {
		Message string `json:"message"`
	}
	if json.Unmarshal(raw, &e) == nil && e.Message != "" {
		return clean(e.Message)
	}
	var text string
	_ = json.Unmarshal(raw, &text)
	return clean(text)
}

// millis reads a native time. Some members are seconds and some milliseconds; numbers up to 1e10 are seconds.
func millis(n json.Number) int64 {
	value, err := strconv.ParseFloat(string(n), 64)
	if err != nil || value <= 0 || value > 1e17 {
		return 0
	}
	if value <= 1e10 {
		value *= 1000
	}
	return int64(value)
}

// clean takes NUL characters out of words that are stored as text: Postgres refuses them.
func clean(text string) string {
	if strings.IndexByte(text, 0) < 0 {
		return text
	}
	return strings.ReplaceAll(text, "\x00", "\uFFFD")
}
