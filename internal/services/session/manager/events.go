package manager

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"harness/internal/lib/javascript"
	"harness/internal/platform/journal"
	"harness/internal/services/session"
)

// deletedMessage is what clients of a deleted session are sent.
const deletedMessage = "This chat was permanently deleted and is no longer available."

// isoTime is a time in ms in the spelling of the wire.
func isoTime(at int64) string { return javascript.ISOTime(at) }

// encode is for what always encodes: texts, numbers and raw JSON that was parsed before.
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

// sessionRenamed reports the other nodes of a new title. It is no event of the session: clients are notified by the runtime.
func sessionRenamed(sessionID, title string, at int64) journal.Event {
	return journal.Event{Type: eventSessionRenamed, Time: at, Source: session.EventSource, Payload: encode(struct {
		SessionID string `json:"sessionId"`
		Title     string `json:"title"`
	}{sessionID, title})}
}

// sessionCreated reports that a client opened a session.
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

// messageSent reports that a client sent a message, which begins a turn or is part of it. Its words are the transcript's:
// they go with the session, this stays. controls are those its turn runs with, nil for a turn that runs already.
func messageSent(sessionID, turnID string, input []json.RawMessage, controls *session.Controls, at int64) journal.Event {
	said := sha256.New()
	size := 0
	for _, part := range input {
		_, _ = said.Write(append(part, '\n')) // a hash takes everything
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

// sentLevels are the levels of the controls a message was sent with.
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

// turnStopped reports that a client stopped a turn.
func turnStopped(sessionID, turnID string, at int64) journal.Event {
	return journal.Event{SessionID: sessionID, TurnID: turnID, Type: eventTurnStopped, Time: at, Source: session.EventSource,
		Payload: encode(struct {
			TurnID string `json:"turnId"`
		}{turnID})}
}
