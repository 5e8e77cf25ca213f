package manager

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"harness/internal/lib/javascript"
	"harness/internal/platform/journal"
	"harness/internal/services/session"
)

// deletedMessage is the message for clients of a deleted session.
const deletedMessage = "This chat was permanently deleted and is no longer available."

// isoTime formats a time in ms for the wire.
func isoTime(at int64) string { return javascript.ISOTime(at) }

// encode encodes values that cannot fail to encode: texts, numbers and raw JSON that was parsed before.
func encode(value any) json.RawMessage { return javascript.MustEncode(value) }

func quote(text string) json.RawMessage { return encode(text) }

func sessionDeleted(gone session.DeletedError, systemOwned bool) journal.Event {
	event := session.NewEvent(gone.SessionID, session.EventDeleted, gone.DeletedAt, systemOwned, encode(struct {
		Status    string `json:"status"`
		SessionID string `json:"sessionId"`
		Title     string `json:"title"`
		Message   string `json:"message"`
		DeletedAt string `json:"deletedAt"`
	}{"deleted", gone.SessionID, gone.Title, deletedMessage, isoTime(gone.DeletedAt)}))
	event.Broadcast = !systemOwned
	return event
}

func sessionProjectUpdated(sessionID string, projectID, previous *string, at int64, systemOwned bool) journal.Event {
	event := session.NewEvent(sessionID, session.EventProjectUpdated, at, systemOwned, encode(struct {
		Status            string  `json:"status"`
		SessionID         string  `json:"sessionId"`
		ProjectID         *string `json:"projectId"`
		PreviousProjectID *string `json:"previousProjectId"`
	}{"ok", sessionID, projectID, previous}))
	event.Broadcast = !systemOwned
	return event
}

// sessionRenamed notifies the other nodes of a new title. It is not an event of the session: the runtime notifies
// clients.
func sessionRenamed(sessionID, title string, at int64) journal.Event {
	return journal.Event{Type: eventSessionRenamed, Time: at, Source: session.EventSource, Payload: encode(struct {
		SessionID string `json:"sessionId"`
		Title     string `json:"title"`
	}{sessionID, title})}
}

// sessionCreated is the event for a session that a client opened.
func sessionCreated(sess session.Session) journal.Event {
	return journal.Event{SessionID: sess.ID, Type: eventSessionCreated, Source: session.EventSource, Payload: encode(struct {
		Runtime        string `json:"runtime"`
		Cwd            string `json:"cwd"`
		SystemOwned    bool   `json:"systemOwned"`
		ApprovalPolicy string `json:"approvalPolicy"`
		Sandbox        string `json:"filesystemSandbox"`
		NetworkAccess  string `json:"networkAccess"`
	}{sess.Runtime, sess.Cwd, sess.SystemOwned, sess.Controls.ApprovalPolicy,
		sess.Controls.FilesystemSandbox, sess.Controls.NetworkAccess})}
}

// messageSent is the event for a message that starts or joins a turn. The transcript has the message's text, which is
// deleted with the session; this event stays. controls are those of the started turn, nil for a turn that was already
// running.
func messageSent(sessionID, turnID string, input []json.RawMessage, controls *session.Controls, at int64) journal.Event {
	said := sha256.New()
	size := 0
	for _, part := range input {
		_, _ = said.Write(append(part, '\n')) // a hash never fails to write
		size += len(part)
	}
	return journal.Event{SessionID: sessionID, TurnID: turnID, Type: session.EventMessageSent, Time: at, Source: session.EventSource,
		Payload: encode(struct {
			TurnID   string      `json:"turnId"`
			Bytes    int         `json:"bytes"`
			Hash     string      `json:"hash"`
			Controls *sentLevels `json:"controls,omitempty"`
		}{turnID, size, "sha256:" + hex.EncodeToString(said.Sum(nil)), sentLevelsOf(controls)})}
}

// sentLevels are the levels of the controls that a message was sent with.
type sentLevels struct {
	Approval   string `json:"approvalPolicy"`
	Filesystem string `json:"filesystemSandbox"`
	Network    string `json:"networkAccess"`
}

func sentLevelsOf(controls *session.Controls) *sentLevels {
	if controls == nil {
		return nil
	}
	return &sentLevels{controls.ApprovalPolicy, controls.FilesystemSandbox, controls.NetworkAccess}
}

// turnStopped is the event for a turn that a client stopped.
func turnStopped(sessionID, turnID string, at int64) journal.Event {
	return journal.Event{SessionID: sessionID, TurnID: turnID, Type: eventTurnStopped, Time: at, Source: session.EventSource,
		Payload: encode(struct {
			TurnID string `json:"turnId"`
		}{turnID})}
}
