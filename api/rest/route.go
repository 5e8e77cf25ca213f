// Package rest is what a REST route is: how it is described, what its handler is given and what it answers, and the
// rules several bodies share. Routes of the server's own (package api) and those passed through to one runtime (package
// compat) are described alike.
package rest

import (
	"context"
	"net/http"
	"strings"

	"harness/api/schema"
	"harness/internal/operations"
)

// Route is one operation of REST: where it is, what must hold before its handler runs, and the handler.
type Route struct {
	// Path has parameters as in /api/sessions/:sessionId.
	Method, Path string
	// Operation is what it does to the session its path names, "" for nothing: what is wrong with the session is told
	// before what is wrong with query and body, unless BodyFirst.
	Operation operations.Operation
	BodyFirst bool
	// Agent is what an agent's request may do here; nothing as a rule.
	Agent AgentRule
	// Access is which named tokens may come here; by the method as a rule.
	Access Access
	// OwnReach says that the handler itself keeps who is limited to projects to those. Other routes are refused them, but
	// those about a session or project of their path, which is checked.
	OwnReach bool
	// OwnRoles says that the handler itself asks signed tokens (JWT) for their role.
	OwnRoles bool
	// Query and Body are the schemas of what the handler reads; nil leaves that part unread.
	Query, Body schema.Schema
	// Upload routes take any body of at most so many bytes as it is (Input.Sent); 0: the body is JSON.
	Upload int64
	// Once routes do a request that comes with an Idempotency-Key once, however often it comes.
	Once bool
	// Again routes are Once routes that can be done again when the server ended in the middle: their handlers find what they
	// did by Input.Key, or cannot do it twice.
	Again bool
	// Begins routes make a session: another node is asked for it when this one makes none.
	Begins bool
	// OfRuntimes routes tell of the runtimes of a node: another one is asked where there are none.
	OfRuntimes bool
	// LongParams lifts the limit of 100 characters per path parameter.
	LongParams bool
	// Mapped routes tell clients what the runtime refused. Others do not, as codex-manager's did not.
	Mapped bool
	// Details words what a mapped refusal was about, {method, [sessionId]} when nil.
	Details func(method string, in *Input) any
	Handle  func(context.Context, *Input) (Reply, error)
	// OwnRecords routes tell the audit log of what they carry out; only what is refused before is recorded for them.
	OwnRecords bool
	// Raw routes speak HTTP themselves; of everything above they have method, path and the rules of access.
	Raw http.Handler
	// Refuse answers with what checkReach refuses, in the words of the route's protocol. nil: in those of REST.
	Refuse func(w http.ResponseWriter, r *http.Request, err error)
}

// Access is which roles of named tokens a route is for. Owners come everywhere.
type Access uint8

// The rules for named tokens.
const (
	// AccessByMethod is AccessViewer for a GET, and AccessOperator for everything else.
	AccessByMethod Access = iota
	// AccessAnybody is for what needs no token either, AccessTranscript for writing transcripts, which is all that CI may.
	AccessAnybody
	AccessTranscript
	// AccessViewer is for who may read, AccessOperator for who works with sessions, AccessAdmin for who changes the server.
	AccessViewer
	AccessOperator
	AccessAdmin
)

// AgentRule is what an agent's request may do on a route.
type AgentRule uint8

// The rules for agents.
const (
	AgentNothing AgentRule = iota
	// AgentAnything is for what tells nobody's secrets.
	AgentAnything
	// AgentSession is for routes about the session of the agent's job, AgentTurn about the job's turn, AgentApproval about
	// an approval of that session.
	AgentSession
	AgentTurn
	AgentApproval
)

// String is the rule as documented, "" for AgentNothing.
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

// Input is one request, decoded and validated.
type Input struct {
	// Params are those of the path.
	Params      map[string]string
	Query, Body schema.Value
	// Sent is the body as it was sent.
	Sent string
	// Actor is who asks, for the record of decisions.
	Actor string
	// Request is it as it came, for what is about the connection itself; its body was read.
	Request *http.Request
	// IfNoneMatch are the versions the client has, as its header names them.
	IfNoneMatch string
	// Key names a request that came with an Idempotency-Key to a route with Again: it is the same when it comes again. ""
	// for any other.
	Key string
}

// SessionID is the session the path names, "" for none.
func (in *Input) SessionID() string { return in.Params["sessionId"] }

// Has tells whether If-None-Match names a version. Weakly compared, as RFC 9110 13.1.2 has it for that header.
func (in *Input) Has(version string) bool {
	for tag := range strings.SplitSeq(in.IfNoneMatch, ",") {
		tag = strings.TrimSpace(tag)
		if tag == "*" || strings.TrimPrefix(tag, "W/") == `"`+version+`"` {
			return true
		}
	}
	return false
}

// Reply is a handler's answer; Status 0 is 200. A Version goes out as its ETag, and a Replayed one was given before. An
// answer with a Cookie is not kept.
type Reply struct {
	Status   int
	Body     any
	Version  string
	Replayed bool
	Cookie   *http.Cookie
	// Serve answers instead of Body, with other content than JSON. What it returns an error for is not answered yet.
	Serve func(w http.ResponseWriter, r *http.Request) error
}

// OK answers 200.
func OK(body any) (Reply, error) { return Reply{Body: body}, nil }

// ValidationError is a request whose parameters, query or body do not follow the route's schema.
type ValidationError struct{ Issues []schema.Issue }

// Error implements error.
func (e *ValidationError) Error() string { return "request validation failed" }

// List is the envelope of lists that have no pages.
type List[T any] struct {
	Data []T `json:"data"`
}
