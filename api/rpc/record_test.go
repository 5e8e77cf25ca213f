package rpc_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"harness/api/rpc"
	"harness/internal/platform/auth"
	"harness/internal/services/audit"
)

// recordedCalls collects the records of the audit log.
type recordedCalls struct {
	mu  sync.Mutex
	all []audit.Call
}

// Record implements calls.Sink.
func (c *recordedCalls) Record(call audit.Call, _ string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = append(c.all, call)
}

// Calls that may change something are recorded with their caller and outcome: on a socket, in a batch, when refused,
// and above the rate. Reads leave no record.
func TestCallsAreRecorded(t *testing.T) {
	b := setup(t, func(o *rpc.Options) { o.Rate = 4 })
	s := b.dial(t, "ann")
	call := func(method, params string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, params)
	}
	s.send(call("session/list", `{}`))
	s.read()
	s.send("[" + call("workspace/add", `{"path":"/nowhere"}`) + "," + call("workspace/remove", `{"workspace_id":"none"}`) + "]")
	s.read()
	b.role = auth.RoleMember
	viewer := b.dial(t, "bob")
	viewer.send(call("session/delete", `{"session_id":"one"}`))
	viewer.read()
	for range 4 {
		viewer.send(call("session/stop", `{"session_id":"one"}`))
		viewer.read()
	}
	b.calls.mu.Lock()
	defer b.calls.mu.Unlock()
	got := map[string]bool{}
	for _, one := range b.calls.all {
		if one.Protocol != "json-rpc" || one.Outcome == "" {
			t.Errorf("recorded %+v", one)
		}
		got[fmt.Sprintf("%s %s %s %s %s %s", one.Actor, one.Role, one.Route, one.SessionID, one.Outcome, one.Code)] = true
	}
	for _, want := range []string{
		"bob viewer session/delete one refused -32013", "bob viewer session/stop one refused -32013",
		"bob viewer session/stop one refused rate_limited",
	} {
		if !got[want] {
			t.Errorf("no record is %q: %v", want, got)
		}
	}
	for _, method := range []string{"workspace/add", "workspace/remove"} {
		if !slices.ContainsFunc(b.calls.all, func(one audit.Call) bool {
			return one.Actor == "ann" && one.Role == "admin" && one.Route == method
		}) {
			t.Errorf("no record of %s: %v", method, got)
		}
	}
	if len(b.calls.all) != 7 {
		t.Errorf("there are %d records, want 7: %v", len(b.calls.all), got)
	}
}
