package api

import (
	"net/http"

	"harness/api/admin"
	"harness/api/agui"
	"harness/api/compat"
	"harness/api/rest"
	"harness/api/sessions"
	"harness/internal/operations"
)

// Operation describes one served operation. Roles are the roles of named tokens that may call it. Agent is what an
// agent's request may do there, "" for nothing.
type Operation struct {
	Method, Path, Agent string
	Roles               []string
	// OwnRecords operations report their own actions to the audit log.
	OwnRecords bool
}

// Operations lists all operations of a complete handler. Paths have {name} parameters as in OpenAPI. The list omits
// HEAD, which works for every GET.
func Operations() []Operation {
	s := &server{Options: Options{Operations: operations.New(operations.Options{}),
		Administration: Administration{Lifecycle: new(admin.Lifecycle)}},
		provider: compat.New(compat.Options{})}
	routes := s.routes()
	served := make([]Operation, 0, len(routes))
	for _, r := range routes {
		served = append(served, Operation{Method: r.Method, Path: openAPIPath(r.Path), Agent: r.Agent.String(),
			Roles: tokenRoles(&r), OwnRecords: r.OwnRecords})
	}
	return served
}

func (s *server) routes() []rest.Route {
	var all []rest.Route
	clients := s.AGUI
	clients.Operations = s.Operations
	for _, resource := range [][]rest.Route{
		s.healthRoutes(), s.mountedRoutes(), agui.Routes(clients), s.runtimeRoutes(), s.provider.Routes(), s.artifactRoutes(),
		admin.Routes(admin.Options{Operations: s.Operations, Tokens: s.Tokens, Push: s.Push, Logins: s.Logins, OIDC: s.OIDC,
			Lifecycle: s.Lifecycle, Clock: s.Clock, ReadBody: s.readAnyBody, Fail: s.failRaw, FailureOf: failureOfRaw}),
		sessions.Routes(sessions.Options{Operations: s.Operations, Long: s.Long, Coder: &s.coder, Artifacts: s.Artifacts,
			Settings: s.Settings, FailureOf: failureAbout}),
	} {
		all = append(all, resource...)
	}
	return all
}

// readAnyBody reads a body and ignores its members.
func (s *server) readAnyBody(r *http.Request) error {
	_, _, err := s.readBody(r)
	return err
}

// failRaw and failureOfRaw are writeError and failureOf for a route that handles HTTP itself.
func (s *server) failRaw(w http.ResponseWriter, r *http.Request, err error) {
	s.writeError(r.Context(), w, &rest.Route{Method: r.Method, Path: r.URL.Path}, &rest.Input{}, err)
}

func failureOfRaw(err error) rest.Failure { return failureOf(err, &rest.Route{}, &rest.Input{}) }

// failureAbout is failureOf with the runtime's refusal.
func failureAbout(err error, sessionID string) rest.Failure {
	return failureOf(err, &rest.Route{Mapped: true}, &rest.Input{Params: map[string]string{"sessionId": sessionID}})
}
