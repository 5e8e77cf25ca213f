package rest

import (
	"net/http"

	"harness/api/schema"
)

// Failure is how an error looks on the wire.
type Failure struct {
	Status int
	Body   any
	// Retry tells the client that the same request may be sent again later.
	Retry bool
	// RetryAfter is in how many seconds; "" is as usual.
	RetryAfter string
	// Opaque failures are the server's fault: the error is logged, and the client gets no reason.
	Opaque bool
}

// ErrorBody is the usual body of a failure.
type ErrorBody struct {
	Status  string         `json:"status"`
	Code    string         `json:"code"`
	Message string         `json:"message"`
	Issues  []schema.Issue `json:"issues,omitempty"`
	Details any            `json:"details,omitempty"`
}

// Problem is a failure without details.
func Problem(status int, code, message string) Failure {
	return Failure{Status: status, Body: ErrorBody{Status: "error", Code: code, Message: message}}
}

// Invalid is a request that does not follow its rules.
func Invalid(issues ...schema.Issue) Failure {
	return Failure{Status: http.StatusBadRequest, Body: ErrorBody{
		Status: "error", Code: "invalid_request", Message: "request validation failed", Issues: issues,
	}}
}

// Internal is a failure of which the client gets no reason.
func Internal() Failure {
	f := Problem(http.StatusInternalServerError, "internal_error", "internal server error")
	f.Opaque = true
	return f
}
