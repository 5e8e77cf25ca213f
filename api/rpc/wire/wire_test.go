package wire

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
)

// echo returns its input.
func echo(_ context.Context, r Request) (any, *Error) {
	if r.Method == "fail" {
		return nil, &Error{Code: CodeInvalidParams, Message: "no"}
	}
	return map[string]any{"method": r.Method, "params": r.Params}, nil
}

// R19: 21 malformed inputs and their responses.
func TestMalformedMessages(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`not json at all`:                      `{"jsonrpc":"2.0","id":null,"error":{"code":-32700`,
		``:                                     `{"jsonrpc":"2.0","id":null,"error":{"code":-32700`,
		`{"jsonrpc":"2.0","id":1,"method":"m"`: `"id":null,"error":{"code":-32700`,
		`{"jsonrpc":"2.0","id":1,"method":"m"} x`: `"id":null,"error":{"code":-32700`,
		`42`:     `"id":null,"error":{"code":-32600`,
		`null`:   `"id":null,"error":{"code":-32600`,
		`"text"`: `"id":null,"error":{"code":-32600`,
		`{}`:     `"id":null,"error":{"code":-32600`,
		`{"jsonrpc":"2.0","id":7.9,"method":"m"}`:                    `"id":7.9,"result"`,
		`{"jsonrpc":"2.0","id":{"a":1},"method":"m"}`:                `"id":null,"error":{"code":-32600`,
		`{"jsonrpc":"2.0","id":true,"method":"m"}`:                   `"id":null,"error":{"code":-32600`,
		`{"jsonrpc":"2.0","id":9007199254740993,"method":"m"}`:       `"id":9007199254740993,"result"`,
		`{"jsonrpc":"2.0","id":null,"method":"m"}`:                   `"id":null,"result"`,
		`{"id":1,"method":"m"}`:                                      `"id":1,"error":{"code":-32600`,
		`{"jsonrpc":"1.0","id":2,"method":"m"}`:                      `"id":2,"error":{"code":-32600`,
		`{"jsonrpc":"2.0","id":3}`:                                   `"id":3,"error":{"code":-32600`,
		`{"jsonrpc":"2.0","id":3,"method":5}`:                        `"id":3,"error":{"code":-32600`,
		`{"jsonrpc":"2.0","id":4,"method":"m","params":"text"}`:      `"params":"text"`,
		`{"jsonrpc":"2.0","id":5,"method":"m","extra":{"deep":[1]}}`: `"id":5,"result"`,
		`[]`: `"id":null,"error":{"code":-32600`,
		`[1,{"jsonrpc":"2.0","id":6,"method":"m"},{"jsonrpc":"2.0","method":"m"}]`: `[{"jsonrpc":"2.0","id":null,` +
			`"error":{"code":-32600,"message":"Invalid request: a message is an object"}},{"jsonrpc":"2.0","id":6,"result"`,
		`[{"jsonrpc":"2.0","id":8,"method":"m"},{"jsonrpc":"2.0","id":8,"method":"m"}]`: `,{"jsonrpc":"2.0","id":8,"result"`,
	} {
		if got := string(Serve(t.Context(), []byte(text), echo).Reply); !strings.Contains(got, want) ||
			!json.Valid([]byte(got)) {
			t.Errorf("%s got\n%s, want\n%s", text, got, want)
		}
	}
	for _, idle := range []string{`{"jsonrpc":"2.0","method":"m"}`, `{"jsonrpc":"2.0","method":"fail"}`,
		`[{"jsonrpc":"2.0","method":"m"}]`} {
		if got := Serve(t.Context(), []byte(idle), echo).Reply; got != nil {
			t.Errorf("%s got %s", idle, got)
		}
	}
	long := "[" + strings.Repeat(`{"jsonrpc":"2.0","id":1,"method":"m"},`, MaxBatch) + "1]"
	if got := string(Serve(t.Context(), []byte(long), echo).Reply); !strings.Contains(got, "-32600") || got[0] == '[' {
		t.Errorf("a batch that is too long got %s", got)
	}
}

// Deferred work runs once, after the response. A call that responds itself adds no response.
func TestDeferredWorkRunsAfterResponse(t *testing.T) {
	t.Parallel()
	ran := 0
	outcome := Serve(t.Context(), []byte(`[{"jsonrpc":"2.0","id":1,"method":"a"},{"jsonrpc":"2.0","id":2,"method":"b"}]`),
		func(ctx context.Context, r Request) (any, *Error) {
			Later(ctx, func() { ran++ })
			if r.Method == "b" {
				return Sent{}, nil
			}
			return nil, nil
		})
	if ran != 0 || string(outcome.Reply) != `[{"jsonrpc":"2.0","id":1,"result":null}]` {
		t.Errorf("%d ran before, the response is %s", ran, outcome.Reply)
	}
	if outcome.After(); ran != 2 {
		t.Errorf("%d ran", ran)
	}
}

// FuzzMessages: for any input, the response is JSON, every request with an id gets a response with that id, and
// notifications get none.
func FuzzMessages(f *testing.F) {
	for _, seed := range []string{`{"jsonrpc":"2.0","id":1,"method":"m","params":{}}`, `[]`, `[1]`,
		`{"jsonrpc":"2.0","id":"x","method":"fail"}`, `{"id":null}`, ``, `[[]]`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, message []byte) {
		called := 0
		outcome := Serve(t.Context(), message, func(ctx context.Context, r Request) (any, *Error) {
			if !r.Batched {
				called++
			}
			return echo(ctx, r)
		})
		if outcome.Reply != nil && !json.Valid(outcome.Reply) {
			t.Fatalf("%q got %q", message, outcome.Reply)
		}
		var request struct {
			ID json.RawMessage `json:"id"`
		}
		if called == 1 && outcome.Reply != nil && json.Unmarshal(outcome.Reply, &request) == nil && request.ID == nil {
			t.Fatalf("%q got a response without an id: %q", message, outcome.Reply)
		}
		if !json.Valid(message) && !strings.Contains(string(outcome.Reply), "-32700") {
			t.Fatalf("%q is not JSON and got %q", message, outcome.Reply)
		}
	})
}
