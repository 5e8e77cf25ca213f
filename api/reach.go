package api

import (
	"net/http"

	"harness/api/rest"
	"harness/internal/operations"
	"harness/internal/platform/auth"
)

// checkReach refuses requests of a project-limited caller outside its projects. A session or project in the path
// looks as if it did not exist; routes without a rule are refused.
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
