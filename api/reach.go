package api

import (
	"net/http"

	"harness/api/rest"
	"harness/internal/operations"
	"harness/internal/platform/auth"
)

// checkReach refuses requests outside the projects of a project-limited caller. A session or project in the path
// looks as if it did not exist. Routes without a rule refuse such callers.
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
	return &operations.LimitedError{Reason: "this request is for none of them"}
}
