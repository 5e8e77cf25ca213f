package api

import (
	"harness/api/compat"
	"harness/api/rest"
	"harness/api/sessions"
	"harness/internal/operations"
)

// Operation names one served operation. Roles are those of named tokens that may call it, and Agent says what an
// agent's request may do there, "" for nothing.
type Operation struct {
	Method, Path, Agent string
	Roles               []string
	// OwnRecords operations tell the audit log themselves of what they carry out.
	OwnRecords bool
}

// Operations lists what a handler with every part serves, paths with {name} parameters as OpenAPI writes them. HEAD,
// which works for every GET, is left out.
func Operations() []Operation {
	s := &server{Options: Options{Operations: operations.New(operations.Options{})},
		provider: compat.New(compat.Options{})}
	routes := append(s.routes(), s.extensionRoutes()...)
	served := make([]Operation, 0, len(routes))
	for _, r := range routes {
		served = append(served, Operation{Method: r.Method, Path: openAPIPath(r.Path), Agent: r.Agent.String(),
			Roles: tokenRoles(&r), OwnRecords: r.OwnRecords})
	}
	return served
}

func (s *server) routes() []rest.Route {
	var all []rest.Route
	for _, resource := range [][]rest.Route{
		s.healthRoutes(), s.projectRoutes(), s.mountedRoutes(), s.runtimeRoutes(), s.provider.Routes(),
		s.jobRoutes(), s.boardRoutes(), s.searchRoutes(), s.artifactRoutes(), s.tokenRoutes(), s.loginRoutes(), s.oidcRoutes(),
		s.pushRoutes(), sessions.Routes(sessions.Options{Operations: s.Operations, Long: s.Long, Coder: &s.coder,
			Artifacts: s.Artifacts, Settings: s.Settings}),
	} {
		all = append(all, resource...)
	}
	if s.Lifecycle != nil {
		all = append(all, s.extensionRoutes()...)
	}
	return all
}
