package sessions

import (
	"context"
	"net/http"

	"harness/api/rest"
	"harness/api/schema"
	"harness/internal/operations"
	"harness/internal/services/session/rewind"
)

type rewinds struct{ rewinds *operations.Rewinds }

var rewindBody = schema.Struct(rest.Optional("turnId", schema.Text{}.Min(1).Max(200)), rest.Optional("undo", schema.Text{}.Min(1).Max(200)),
	rest.Optional("files", schema.Boolean()), rest.Optional("conversation", schema.Boolean()), rest.Optional("force", schema.Boolean()),
	rest.Optional("dryRun", schema.Boolean()))

func (s *rewinds) rewindRoutes() []rest.Route {
	return []rest.Route{{Method: http.MethodPost, Path: "/api/sessions/:sessionId/rewind", Operation: operations.Rewind, Body: rewindBody,
		Once: true, Handle: s.rewind}}
}

// rewindView is a rewind, or what it would do.
type rewindView struct {
	Status    string `json:"status"`
	SessionID string `json:"sessionId"`
	// RewindID is null for a dry run.
	RewindID     *string  `json:"rewindId"`
	TurnID       string   `json:"turnId"`
	Turns        []string `json:"turns"`
	Files        int      `json:"files"`
	Changed      []string `json:"changed"`
	Conversation string   `json:"conversation"`
	Undoes       *string  `json:"undoes"`
	NotCovered   []string `json:"notCovered"`
}

// notCovered is what no rewind changes.
func notCovered() []string {
	return []string{"ignored files", "repositories in the folder and contents of submodules", "files above 32 MiB", "empty folders",
		"times and owners of files", "everything outside the folder", "databases", "commits and pushes"}
}

// wanted returns a member that is true unless it says otherwise.
func wanted(value schema.Value) bool { return !value.Defined() || value.True() }

func (s *rewinds) rewind(ctx context.Context, in *rest.Input) (rest.Reply, error) {
	request := rewind.Request{TurnID: in.Body.Get("turnId").Text(), Undo: in.Body.Get("undo").Text(), Files: wanted(in.Body.Get("files")),
		Conversation: wanted(in.Body.Get("conversation")), Force: in.Body.Get("force").True(), DryRun: in.Body.Get("dryRun").True()}
	done, err := s.rewinds.Rewind(ctx, in.SessionID(), request)
	if err != nil {
		return rest.Reply{}, err
	}
	body := rewindView{Status: "ok", SessionID: in.SessionID(), RewindID: orNull(done.ID), TurnID: done.TurnID,
		Turns: append([]string{}, done.Turns...), Files: done.Files, Changed: append([]string{}, done.Changed...),
		Conversation: done.Conversation, Undoes: orNull(done.Undoes), NotCovered: notCovered()}
	if request.DryRun {
		body.RewindID = nil
	}
	return rest.OK(body)
}
