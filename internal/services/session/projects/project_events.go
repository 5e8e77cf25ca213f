package projects

import (
	"harness/internal/lib/javascript"
	"harness/internal/platform/journal"
	"harness/internal/services/session"
)

// sessionReleased is the event for clients when all chats leave a project together; it has no status and no previous
// project.
func sessionReleased(sessionID string, at int64) journal.Event {
	event := session.NewEvent(sessionID, session.EventProjectUpdated, at, false, javascript.MustEncode(struct {
		SessionID string  `json:"sessionId"`
		ProjectID *string `json:"projectId"`
	}{SessionID: sessionID}))
	event.Broadcast = true
	return event
}

func projectUpserted(project session.Project, at int64) journal.Event {
	return journal.Event{Type: "project_upserted", Time: at, Source: session.EventSource, Broadcast: true,
		Payload: javascript.MustEncode(map[string]any{
			"project": struct {
				ProjectID        string  `json:"projectId"`
				Name             string  `json:"name"`
				WorkingDirectory *string `json:"workingDirectory"`
				CreatedAt        string  `json:"createdAt"`
				UpdatedAt        string  `json:"updatedAt"`
			}{project.ID, project.Name, project.WorkingDirectory, javascript.ISOTime(project.CreatedAt), javascript.ISOTime(project.UpdatedAt)},
		})}
}

func projectDeleted(projectID string, at int64) journal.Event {
	return journal.Event{Type: "project_deleted", Time: at, Source: session.EventSource, Broadcast: true,
		Payload: javascript.MustEncode(struct {
			ProjectID  string   `json:"projectId"`
			SessionIDs []string `json:"sessionIds"`
		}{projectID, []string{}})}
}
