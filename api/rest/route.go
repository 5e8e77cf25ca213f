// Package rest defines a REST route: its description, the input of its handler and its response. It also has the
// rules that several bodies share.
//
// It owns these types for the server's own routes (package api) and for the routes that are passed through to one
// runtime (package compat). It must never know a particular route.
package rest

import (
	"context"
	"net/http"
	"strings"

	"harness/api/schema"
	"harness/internal/operations"
)

// Route is one REST operation: its path, the conditions for its handler, and the handler.
type Route struct {
	// Path has parameters as in /api/sessions/:sessionId.
	Method, Path string
	// Operation is the operation of the route on the session in its path, "" for none. Problems with the session are
	// reported before those with query and body, unless BodyFirst.
	Operation operations.Operation
	BodyFirst bool
	// Agent defines what an agent's request may do here. The default is nothing.
	Agent AgentRule
	// Access defines which named tokens may use the route. The default depends on the method.
	Access Access
	// OwnReach means that the handler itself enforces project limits. Other routes refuse limited callers, unless the
	// path has a session or project, which the server checks.
	OwnReach bool
	// OwnRoles means that the handler itself checks the role of signed tokens (JWT).
	OwnRoles bool
	// Query and Body are the schemas of the handler's input. A nil schema leaves that part unread.
	Query, Body schema.Schema
	// Upload routes accept any body up to this size in bytes, unparsed (Input.Sent). 0 means that the body is JSON.
	Upload int64
	// Once routes execute a request with an Idempotency-Key only once.
	Once bool
	// Again marks Once routes that are safe to repeat after the server exited during the request. Their handlers find
	// the earlier result by Input.Key, or are idempotent.
	Again bool
	// Begins marks routes that create a session. Another node gets the request if this one creates none.
	Begins bool
	// OfRuntimes marks routes that describe the runtimes of a node. Another node gets the request if this one has none.
	OfRuntimes bool
	// LongParams removes the limit of 100 characters for path parameters.
	LongParams bool
	// Mapped routes show clients the runtime's refusal. Other routes hide it, as in codex-manager.
	Mapped bool
	// Details describe a mapped refusal. If nil, they are {method, [sessionId]}.
	Details func(method string, in *Input) any
	Handle  func(context.Context, *Input) (Reply, error)
	// OwnRecords routes report their actions to the audit log. For them, the server records only earlier refusals.
	OwnRecords bool
	// Raw routes handle HTTP themselves. Of the fields above they use only method, path and the access rules.
	Raw http.Handler
	// Refuse responds to a refusal of checkReach in the protocol of the route. If nil, the server uses REST's format.
	Refuse func(w http.ResponseWriter, r *http.Request, err error)
}

// Access defines which roles of named tokens may use a route. Owners may use every route.
type Access uint8

// The rules for named tokens.
const (
	// AccessByMethod is AccessViewer for a GET, and AccessOperator for everything else.
	AccessByMethod Access = iota
	// AccessAnybody is for routes that need no token. AccessTranscript is for writing transcripts, the only permission
	// of CI.
	AccessAnybody
	AccessTranscript
	// AccessViewer is for readers, AccessOperator for users of sessions, AccessAdmin for administrators of the
	// server.
	AccessViewer
	AccessOperator
	AccessAdmin
)

// AgentRule defines what an agent's request may do on a route.
type AgentRule uint8

// The rules for agents.
const (
	AgentNothing AgentRule = iota
	// AgentAnything is for routes that reveal no secrets.
	AgentAnything
	// AgentSession is for routes about the session of the agent's job. AgentTurn is for routes about the job's turn.
	// AgentApproval is for routes about an approval of that session.
	AgentSession
	AgentTurn
	AgentApproval
)

// String returns the rule as documented, "" for AgentNothing.
func (r AgentRule) String() string {
	switch r {
	case AgentAnything:
		return "always"
	case AgentSession:
		return "the session of its running job"
	case AgentTurn:
		return "the turn of its running job"
	case AgentApproval:
		return "approvals of the session of its running job"
	case AgentNothing:
	}
	return ""
}

// Input is one decoded and validated request.
type Input struct {
	// Params are the path parameters.
	Params      map[string]string
	Query, Body schema.Value
	// Sent is the raw body.
	Sent string
	// Actor is the caller, for the record of decisions.
	Actor string
	// Request is the original request, for details of the connection. Its body has been read.
	Request *http.Request
	// IfNoneMatch holds the versions in the If-None-Match header.
	IfNoneMatch string
	// Key names a request with an Idempotency-Key to a route with Again. A retry has the same key. It is "" for all
	// other requests.
	Key string
}

// SessionID returns the session in the path, "" for none.
func (in *Input) SessionID() string { return in.Params["sessionId"] }

// Has reports whether If-None-Match names a version, by weak comparison as in RFC 9110 13.1.2.
func (in *Input) Has(version string) bool {
	for tag := range strings.SplitSeq(in.IfNoneMatch, ",") {
		tag = strings.TrimSpace(tag)
		if tag == "*" || strings.TrimPrefix(tag, "W/") == `"`+version+`"` {
			return true
		}
	}
	return false
}

// Reply is a handler's response. Status 0 is 200. Version becomes its ETag. Replayed means that it was sent before.
// The server does not store a response with a Cookie.
type Reply struct {
	Status   int
	Body     any
	Version  string
	Replayed bool
	Cookie   *http.Cookie
	// Serve writes the response instead of Body, for content other than JSON. If it returns an error, it has written
	// nothing.
	Serve func(w http.ResponseWriter, r *http.Request) error
}

// OK returns a 200 response.
func OK(body any) (Reply, error) { return Reply{Body: body}, nil }

// ValidationError is a request whose parameters, query or body violate the route's schema.
type ValidationError struct{ Issues []schema.Issue }

// Error implements error.
func (e *ValidationError) Error() string { return "request validation failed" }

// List is the envelope of lists without pagination.
type List[T any] struct {
	Data []T `json:"data"`
}
