package opencode

import (
	"cmp"
	"encoding/json"
	"slices"

	"harness/internal/runtime"
	"harness/internal/runtime/opencode/bridge"
)

// snapshot applies a conversation's status after missed events. The state records what is published, so snapshot
// publishes only news. It processes messages as if they were new, publishes new open requests, and closes known ones
// that have ended. OpenCode may answer a stop after the next turn has started, with the status before that turn's
// requests: the snapshot is then about no running turn.
func (t *translation) snapshot(s bridge.Snapshot) []runtime.Signal {
	in := t.Conversations[s.Session]
	if s.Turn != "" && (in == nil || in.Turn != s.Turn) {
		return nil
	}
	t.past = true
	t.sent = func(message string) bool { return slices.Contains(s.Unconfirmed, message) }
	var messages []message
	_ = json.Unmarshal(s.Messages, &messages) // an invalid list has no news
	for _, one := range messages {
		var info messageInfo
		if json.Unmarshal(one.Info, &info) == nil && news(in, info, s.Unconfirmed) {
			t.again(s.Session, one, info)
			in = t.Conversations[s.Session]
		}
	}
	t.openRequests(s)
	if in == nil {
		return t.out
	}
	for i := range in.Open {
		in.Open[i].Stale = true // a delta that arrives now may be part of the snapshot
	}
	if s.Status != "idle" {
		in.Busy = true
		return t.out
	}
	if s.Aborted && in.Message == "" {
		in.fail(&nativeError{Name: errorAborted}) // it was canceled before the agent started, which causes no other event
	}
	t.idle(s.Session, in)
	return t.out
}

// news reports whether a listed message may have news for a turn (nil: none is running): it is part of the turn, or a
// user's unconfirmed message.
func news(in *conversation, info messageInfo, unconfirmed []string) bool {
	switch {
	case in == nil:
		return slices.Contains(unconfirmed, info.ID)
	case info.Role == "user":
		return slices.Contains(in.Users, info.ID) || slices.Contains(unconfirmed, info.ID)
	}
	return info.ID >= in.Message
}

// again handles a listed message as if it were new.
func (t *translation) again(native string, one message, info messageInfo) {
	begun := info
	begun.Time.Completed, begun.Error, begun.Summary = 0, nil, nil
	t.message(native, encoded(begun))
	in := t.Conversations[native]
	if in == nil {
		return
	}
	var parts []part
	for _, raw := range one.Parts {
		var p part
		if json.Unmarshal(raw, &p) == nil {
			parts = append(parts, p)
		}
	}
	slices.SortStableFunc(parts, func(a, b part) int { // a message appears with its text, after its images
		return cmp.Compare(rank(a), rank(b))
	})
	for _, p := range parts {
		t.part(in, p)
	}
	t.message(native, one.Info)
}

// rank orders the parts of a listed message: images come first.
func rank(p part) int {
	if p.isPicture() {
		return 0
	}
	return 1
}

// openRequests handles the lists of open requests.
func (t *translation) openRequests(s bridge.Snapshot) {
	var permissions, questions []json.RawMessage
	_ = json.Unmarshal(s.Permissions, &permissions) // an invalid list is empty
	_ = json.Unmarshal(s.Questions, &questions)
	var waits []string
	for i, raw := range append(permissions, questions...) {
		var one struct {
			ID        string  `json:"id"`
			SessionID string  `json:"sessionID"`
			Tool      toolRef `json:"tool"`
		}
		if json.Unmarshal(raw, &one) != nil {
			continue
		}
		waits = append(waits, one.ID)
		switch in := t.asker(one.SessionID); {
		case in == nil || one.SessionID == s.Session && one.Tool.MessageID != "" &&
			(one.Tool.MessageID != in.Message || in.Finished):
			// It belongs to an interrupted turn or a completed message: it stays in the list without effect.
		case i < len(permissions):
			t.permission(raw)
		default:
			t.question(raw)
		}
	}
	if in := t.Conversations[s.Session]; in != nil {
		for _, known := range slices.Clone(in.Asked) {
			if !slices.Contains(waits, known.ID) {
				t.settled(known.ID, "")
			}
		}
	}
}
