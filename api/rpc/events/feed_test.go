package events

import (
	"encoding/json"
	"testing"

	"harness/internal/platform/journal"
	"harness/internal/services/session"
	"harness/stream"
)

// ST-15, ST-16, ST-17 on JSON-RPC: only a socket that watches exactly this worker's session gets its events. This
// applies to frames and notifications, with other watchers, and with a subscription to its workspace.
func TestWorkerNotificationsReachOnlyTheirWatcher(t *testing.T) {
	t.Parallel()
	directory := NewDirectory()
	directory.Use("worker", Place{Workspace: "project", Runtime: "codex"})
	feed := NewFeed(directory)
	meta := func(more stream.Meta) json.RawMessage {
		more.SystemOwned = true
		return stream.EncodeMeta(more)
	}
	line := func(kind, raw string, more stream.Meta) journal.Record {
		event := stream.Upcast(1, journal.Event{SessionID: "worker", Type: kind, Source: "codex", Payload: json.RawMessage(raw),
			Meta: meta(more)})
		return journal.Record{Event: event, Pos: 7, Seq: 1}
	}
	plain := func(kind, payload string) journal.Record {
		return journal.Record{Event: journal.Event{SessionID: "worker", Type: kind, Payload: json.RawMessage(payload),
			Meta: meta(stream.Meta{}), Broadcast: true}, Pos: 8}
	}
	text := func(s string) *string { return &s }
	own := 0
	for _, record := range []journal.Record{
		line(stream.EventNotification, `{"method":"turn/started","params":{"threadId":"worker","turn":{"id":"t"}}}`, stream.Meta{}),
		line(stream.EventNotification, `{"method":"turn/completed","params":{"threadId":"worker","turn":{"id":"t","status":"completed"}}}`,
			stream.Meta{}),
		line(stream.EventNotification, `{"method":"item/completed","params":{"threadId":"worker","turnId":"t","item":{"type":"agentMessage",`+
			`"id":"i","text":"words"}}}`, stream.Meta{}),
		line(stream.EventNotification, `{"method":"account/updated","params":{}}`, stream.Meta{}),
		line(stream.EventRequest, `{"method":"item/commandExecution/requestApproval","id":1,"params":{"threadId":"worker","command":"ls"}}`,
			stream.Meta{RequestID: text("r"), Request: &stream.RequestRef{ID: "r", Kind: "approval"}}),
		plain("approval_resolved", `{"approvalId":"r","status":"resolved","decision":"accept"}`),
		plain("session_deleted", `{"sessionId":"worker"}`), plain(session.EventStopped, `{}`),
		plain("session_project_updated", `{"projectId":"project"}`), plain("transcript_updated", `{}`),
	} {
		frames, err := feed.Frames(record)
		if err != nil {
			t.Fatal(err)
		}
		for i := range frames {
			f := &frames[i]
			if f.Type != Harness {
				own++
			}
			all := func(string) bool { return true }
			if Sees(f, func(string) bool { return false }, all) {
				t.Errorf("every socket in the workspace receives %[2]s of %[1]s", record.Type, f.Type)
			}
			if !Sees(f, func(id string) bool { return id == "worker" }, func(string) bool { return false }) {
				t.Errorf("a watcher of %s does not receive %s", record.Type, f.Type)
			}
		}
	}
	if own < 5 {
		t.Errorf("only %d notifications of this protocol were looked at", own)
	}
}
