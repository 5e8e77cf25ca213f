package api

import (
	"context"
	"net/http"

	"harness/api/schema"
	"harness/session"
)

// route is one operation: where it is, what must hold before its handler runs, and the handler.
type route struct {
	method, path string
	// guards are checked in the order of their declaration, before the body unless bodyFirst.
	guards    guards
	bodyFirst bool
	// lateGuards routes are well-formed requests' fast lane: the handler finds out by itself whether the session is there and checks the
	// guards only when it is not. What a client sees is the same.
	lateGuards bool
	// agent is what an agent's request may do here (agents.go); nothing as a rule.
	agent agentRule
	// query and body are the schemas of what the handler reads; nil leaves that part unread.
	query, body schema.Schema
	// longParams lifts the limit of 100 characters per path parameter.
	longParams bool
	// mapped routes tell clients what the runtime refused in its own words (refusalFailure).
	mapped bool
	// details words what a mapped refusal was about, {method, [sessionId]} when nil.
	details func(method string, in *input) any
	handle  func(context.Context, *input) (reply, error)
	// raw routes speak HTTP themselves; everything above but method and path is unused.
	raw http.Handler
}

// input is one request, decoded and validated.
type input struct {
	params map[string]string
	// session is the one the path names, when a guard looked it up and it exists.
	session session.Session
	found   bool
	query   schema.Value
	body    schema.Value
	actor   string
	guards  guards
	// ifNoneMatch are the versions the client has, as its header names them.
	ifNoneMatch string
}

func (in *input) sessionID() string { return in.params["sessionId"] }

// reply is a handler's answer; status 0 is 200. A version goes out as its ETag.
type reply struct {
	status  int
	body    any
	version string
}

func ok(body any) (reply, error) { return reply{body: body}, nil }

// Operation names one served operation. Agent says what an agent's request may do there, "" for nothing.
type Operation struct{ Method, Path, Agent string }

// Operations lists what a handler with every part serves, paths with {name} parameters as OpenAPI writes them. HEAD, which works for every GET, is left out.
func Operations() []Operation {
	s := &server{}
	routes := append(s.routes(), append(s.controlRoutes(), s.settingsRoutes()...)...)
	routes = append(routes, s.extensionRoutes()...)
	operations := make([]Operation, 0, len(routes))
	for _, r := range routes {
		operations = append(operations, Operation{Method: r.method, Path: openAPIPath(r.path), Agent: r.agent.words()})
	}
	return operations
}

func (s *server) routes() []route {
	var all []route
	for _, resource := range [][]route{
		s.healthRoutes(), s.projectRoutes(), s.sessionRoutes(), s.messageRoutes(), s.transcriptRoutes(), s.requestRoutes(), s.mountedRoutes(),
		s.providerRoutes(), s.accountRoutes(), s.configRoutes(), s.threadRoutes(), s.capabilityRoutes(), s.jobRoutes(), s.suggestionRoutes(),
	} {
		all = append(all, resource...)
	}
	if s.Controls != nil {
		all = append(append(all, s.controlRoutes()...), s.settingsRoutes()...)
	}
	if s.Lifecycle != nil {
		all = append(all, s.extensionRoutes()...)
	}
	return all
}
