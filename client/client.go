// Package client calls a Harness server over its REST API and follows its event stream.
//
// Connect makes a Client, which has a method for every operation of api/openapi.yaml (generated.go). Read decodes an
// operation's answer. Follow reads the event stream, reconnects, and misses no event. Texts joins the text deltas.
//
// The package is a module without the server's dependencies. A program that uses it has two lines in its go.mod:
//
//	require harness/client v0.0.0
//	replace harness/client => ../path/of/the/repository/client
//
// It must never know how a server works inside.
package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// Connect makes a client of the server at base, such as http://127.0.0.1:3001; token is "" if the server requires none.
// It does not connect before the first call.
func Connect(base, token string, options ...ClientOption) (*Client, error) {
	parsed, err := url.Parse(base)
	if err != nil || parsed.Host == "" || parsed.Scheme != "http" && parsed.Scheme != "https" {
		return nil, fmt.Errorf("%q is no URL of a server: write it as http://127.0.0.1:3001", base)
	}
	if token != "" {
		options = append([]ClientOption{WithRequestEditorFn(func(_ context.Context, r *http.Request) error {
			r.Header.Set("Authorization", "Bearer "+token)
			return nil
		})}, options...)
	}
	return NewClient(strings.TrimSuffix(base, "/"), options...)
}

// StatusError is an unsuccessful response.
type StatusError struct {
	// Status is the HTTP status, Code the server's error code ("" for none), Message its message for people.
	Status        int
	Code, Message string
	// RequestID identifies the request in the server's log.
	RequestID string
	// Body is the complete response body.
	Body []byte
}

// Error implements error.
func (e *StatusError) Error() string {
	text := e.Message
	if text == "" {
		text = http.StatusText(e.Status)
	}
	if e.Code != "" && e.Code != "error" {
		text += " (" + e.Code + ")"
	}
	return text
}

// Read reads the response of an operation into T, which is json.RawMessage for the unchanged response:
//
//	page, err := client.Read[client.ListSessions200JSONResponseBody](c.ListSessions(ctx, nil))
//
// An unsuccessful response is a *StatusError.
func Read[T any](response *http.Response, err error) (T, error) {
	var out T
	if err != nil {
		return out, err
	}
	body, err := io.ReadAll(response.Body)
	if err := errors.Join(err, response.Body.Close()); err != nil {
		return out, fmt.Errorf("read the answer: %w", err)
	}
	if response.StatusCode >= http.StatusMultipleChoices {
		return out, errorOf(response, body)
	}
	if err := json.Unmarshal(body, &out); err != nil {
		return out, fmt.Errorf("unexpected response of the server: %w", err)
	}
	return out, nil
}

// errorOf makes an error of a refusal, from either form of the server's error bodies.
func errorOf(response *http.Response, body []byte) *StatusError {
	e := &StatusError{Status: response.StatusCode, RequestID: response.Header.Get("X-Request-Id"), Body: body}
	var answer struct {
		Status, Code, Message string
		Error                 any
		Issues                []struct {
			Path    []any
			Message string
		}
	}
	if json.Unmarshal(body, &answer) != nil { // a proxy's page adds nothing to its status
		return e
	}
	e.Code, e.Message = answer.Code, answer.Message
	if e.Code == "" {
		e.Code = answer.Status
	}
	// The task API has its error code here; other routes have the text of the status.
	if word, is := answer.Error.(string); is && e.Code == "" && !strings.Contains(word, " ") {
		e.Code = word
	}
	for _, issue := range answer.Issues {
		where := ""
		for _, step := range issue.Path {
			where += "." + fmt.Sprint(step)
		}
		e.Message += "; " + strings.TrimPrefix(where+": "+issue.Message, ".")
	}
	return e
}
