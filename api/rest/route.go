// Package rest defines a REST route: its description, the input of its handler, its response, and the rules that
// several bodies share.
//
// It owns these types for the server's own routes (package api) and those passed through to one runtime (package
// compat). It must never know a particular route.
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
	// Operation is what the route does to the session in its path, "" for nothing. Problems with the session are
	// reported before those with query and body, unless BodyFirst.
	Operation operations.Operation
	BodyFirst bool
	// Agent defines what an agent's request may do here; by default nothing.
	Agent AgentRule
	// Access defines which named tokens may use the route; by default it depends on the method.
	Access Access
	// OwnReach: the handler itself enforces project limits. Other routes are refused to limited callers, unless the
	// path has a session or project, which is checked.
	OwnReach bool
	// OwnRoles: the handler itself checks the role of signed tokens (JWT).
	OwnRoles bool
	// Query and Body are the schemas of what the handler reads; nil leaves that part unread.
	Query, Body schema.Schema
	// Upload routes accept any body of at most so many bytes, unparsed (Input.Sent); 0: the body is JSON.
	Upload int64
	// Once routes execute a request with an Idempotency-Key only once.
	Once bool
	// Again routes are Once routes that can be repeated after the server exited during the request: their handlers
	// find the earlier result by Input.Key, or are idempotent.
	Again bool
	// Begins routes create a session: another node gets the request if this one creates none.
	Begins bool
	// OfRuntimes routes describe the runtimes of a node: another node gets the request if this one has none.
	OfRuntimes bool
	// LongParams removes the limit of 100 characters for path parameters.
	LongParams bool
	// Mapped routes show clients the runtime's refusal. Others do not, like codex-manager's.
	Mapped bool
	// Details describe a mapped refusal; {method, [sessionId]} when nil.
	Details func(method string, in *Input) any
	Handle  func(context.Context, *Input) (Reply, error)
	// OwnRecords routes report what they do to the audit log; only earlier refusals are recorded for them.
	OwnRecords bool
	// Raw routes handle HTTP themselves; of the fields above they use only method, path and the access rules.
	Raw http.Handler
	// Refuse responds to a refusal of checkReach in the route's own protocol. nil: in REST's.
	Refuse func(w http.ResponseWriter, r *http.Request, err error)
}

// Access defines which roles of named tokens may use a route. Owners may use every route.
type Access uint8

// The rules for named tokens.
const (
	// AccessByMethod is AccessViewer for a GET, and AccessOperator for everything else.
	AccessByMethod Access = iota
	// AccessAnybody is for routes that need no token; AccessTranscript is for writing transcripts, which is all that
	// CI may do.
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
	// AgentSession is for routes about the session of the agent's job, AgentTurn about the job's turn, AgentApproval
	// about an approval of that session.
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
	// Request is the original request, for details of the connection; its body was read.
	Request *http.Request
	// IfNoneMatch are the versions in the header of that name.
	IfNoneMatch string
	// Key names a request with an Idempotency-Key to a route with Again; a retry has the same key. "" for any other.
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

// Reply is a handler's response; Status 0 is 200. Version becomes its ETag, and Replayed means it was sent before. A
// response with a Cookie is not stored.
type Reply struct {
	Status   int
	Body     any
	Version  string
	Replayed bool
	Cookie   *http.Cookie
	// Serve writes the response instead of Body, for content other than JSON. On an error it has written nothing.
	Serve func(w http.ResponseWriter, r *http.Request) error
}

// OK returns a 200 response.
func OK(body any) (Reply, error) { return Reply{Body: body}, nil }

// ValidationError is a request whose parameters, query or body violate the route's schema.
type ValidationError struct{ Issues []schema.Issue }

// Error implements error.
func (e *ValidationError) Error() string { return "request validation failed" }

// List is the envelope of lists without pages.
type List[T any] struct {
	Data []T `json:"data"`
}
