package rest

import (
	"net/http"

	"harness/api/schema"
)

// Failure is the wire form of an error.
type Failure struct {
	Status int
	Body   any
	// Retry means that the client may send the same request again later.
	Retry bool
	// RetryAfter is the delay in seconds; "" means the default.
	RetryAfter string
	// Opaque failures are the server's fault. The server logs the error, and the client gets no reason.
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

// Problem returns a failure without details.
func Problem(status int, code, message string) Failure {
	return Failure{Status: status, Body: ErrorBody{Status: "error", Code: code, Message: message}}
}

// Invalid returns the failure of a request that violates its rules.
func Invalid(issues ...schema.Issue) Failure {
	return Failure{Status: http.StatusBadRequest, Body: ErrorBody{
		Status: "error", Code: "invalid_request", Message: "request validation failed", Issues: issues,
	}}
}

// Internal returns a failure without a reason for the client.
func Internal() Failure {
	f := Problem(http.StatusInternalServerError, "internal_error", "internal server error")
	f.Opaque = true
	return f
}
