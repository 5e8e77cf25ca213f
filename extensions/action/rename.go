package action

import (
	"context"
	"strings"

	"harness/extensions"
)

// maxTitle bounds a title in bytes.
const maxTitle = 200

// Titles renames sessions; package session implements it.
type Titles interface {
	// Rename sets a session's title. With onlyFrom, the session must have that title before; otherwise Rename returns
	// ErrResolved.
	Rename(ctx context.Context, sessionID, title, onlyFrom string) error
}

// rename implements session.rename, an action that codex-manager lacks; its supervisor runs a command line client
// instead.
func (e *Executor) rename(call extensions.ActionCall) (prepared, *outcome) {
	var in struct {
		SessionID string `json:"sessionId"`
		Title     string `json:"title"`
		OnlyFrom  string `json:"onlyFrom"`
	}
	if err := decode(call.Request.Payload, &in); err != nil {
		return invalid(err.Error())
	}
	in.Title = strings.Join(strings.Fields(in.Title), " ")
	if in.SessionID == "" || in.Title == "" || len(in.Title) > maxTitle {
		return invalid("sessionId and title must be non-empty strings, the title of at most 200 bytes")
	}
	if problem := scopeRefusal(extensions.Outside("session", call.Scope.SessionID, in.SessionID)); problem != nil {
		return nil, problem
	}
	if e.opts.Titles == nil {
		return unavailable("titles")
	}
	return func(ctx context.Context) outcome {
		out := byError(e.opts.Titles.Rename(ctx, in.SessionID, in.Title, in.OnlyFrom))
		out.more = map[string]any{"sessionId": in.SessionID, "title": in.Title}
		return out
	}, nil
}

// actionRename is the name of the action. The SDK has constants only for the four actions of every runtime.
const actionRename = "session.rename"
