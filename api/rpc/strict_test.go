package rpc_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"harness/api/rpc"
)

// RR-31: a strict server refuses all methods of a socket before initialize, and accepts them afterwards.
func TestStrictServerRequiresInitialize(t *testing.T) {
	t.Parallel()
	s := setup(t, func(o *rpc.Options) { o.Strict = true }).dial(t, "alice")
	for _, one := range []struct{ said, want string }{
		{`{"jsonrpc":"2.0","id":1,"method":"session/list","params":{}}`, `"id":1,"error":{"code":-32600`},
		{`{"jsonrpc":"2.0","id":2,"method":"initialize","params":{}}`, `"id":2,"result"`},
		{`{"jsonrpc":"2.0","id":3,"method":"session/list","params":{}}`, `"id":3,"result"`},
	} {
		s.send(one.said)
		if got := s.read(); !strings.Contains(got, one.want) {
			t.Errorf("%s is answered %s, want %s", one.said, got, one.want)
		}
	}
}

// RR-10: the document requires nine methods of a runtime, makes its state optional, and allows additional ones.
func TestRuntimeMethodSetMayGrow(t *testing.T) {
	t.Parallel()
	s := setup(t, nil).dial(t, "alice")
	s.conn.SetReadLimit(1 << 20)
	s.send(`{"jsonrpc":"2.0","id":1,"method":"rpc.discover"}`)
	var said struct {
		Result struct {
			Components struct {
				Schemas struct {
					Runtime struct {
						Properties struct {
							Methods struct {
								Required   []string
								Properties map[string]json.RawMessage
								Closed     json.RawMessage `json:"additionalProperties"`
							}
						}
					}
				}
			}
		}
	}
	if err := json.Unmarshal([]byte(s.read()), &said); err != nil {
		t.Fatal(err)
	}
	methods := said.Result.Components.Schemas.Runtime.Properties.Methods
	want := []string{"history", "input", "messages", "respond", "send", "start", "stop", "unwatch", "watch"}
	if !slices.Equal(methods.Required, want) || methods.Properties["state"] == nil || methods.Closed != nil {
		t.Errorf("the document says %+v", methods)
	}
}
