package api

import (
	"net/http"

	"harness/api/rest"
	"harness/internal/operations"
	"harness/internal/platform/auth"
)

// checkReach refuses who is limited to projects what belongs to none of them: a session or project of a path as if it
// were not there, and every route without a rule.
func (s *server) checkReach(r *http.Request, rt *rest.Route, params map[string]string) error {
	if auth.ProjectsFrom(r.Context()) == nil || rt.Access == rest.AccessAnybody || rt.OwnReach {
		return nil
	}
	if id, named := params["sessionId"]; named {
		return s.Operations.CheckSession(r.Context(), id)
	}
	if id, named := params["projectId"]; named {
		return s.Operations.CheckProject(r.Context(), id)
	}
	return &operations.LimitedError{Reason: "what is asked for here belongs to none"}
}
