package codex

import (
	"encoding/json"
	"strings"
	"testing"

	"harness/internal/runtime"
	"harness/internal/runtime/wire"
)

func TestRequestsInNeutralVocabulary(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ method, params, want string }{
		{wire.MethodApproveCommand, `{"command":"ls","cwd":"/x","itemId":"i"}`,
			`{"subject":"command","tool":"shell","arguments":{"command":"ls","cwd":"/x"}}`},
		{methodExecLegacy, `{"command":["ls","-l"]}`,
			`{"subject":"command","tool":"shell","arguments":{"command":["ls","-l"]}}`},
		{wire.MethodApproveCommand, `{"networkApprovalContext":{"host":"a.b"}}`,
			`{"subject":"network","arguments":{"host":"a.b"}}`},
		{wire.MethodApproveFileChange, `{"grantRoot":null}`, `{"subject":"fileChange"}`},
		{wire.MethodApprovePermissions, `{"permissions":{"x":1}}`,
			`{"subject":"permissions","arguments":{"permissions":{"x":1}}}`},
		{wire.MethodAskUser, `{"questions":[]}`, `{"subject":"question"}`},
		{wire.MethodCallTool, `{"tool":"t","arguments":{"a":1}}`, `{"subject":"tool","tool":"t","arguments":{"a":1}}`},
		{wire.MethodElicit, `{"serverName":"s","mode":"form"}`, `{"subject":"form","tool":"s"}`},
		{wire.MethodElicit,
			`{"serverName":"s","_meta":{"codex_approval_kind":"mcp_tool_call","tool_name":"t","tool_params":{"a":1},"persist":"session"}}`,
			`{"subject":"tool","tool":"s/t","arguments":{"a":1},"options":[{"id":"accept","label":"Allow once",` +
				`"decision":"accept","scope":"turn"},` +
				`{"id":"acceptForSession","label":"Allow for this session","decision":"accept","scope":"session"},` +
				`{"id":"decline","label":"Refuse","decision":"decline","scope":"turn"},{"id":"cancel","label":"Refuse and end ` +
				`the turn","decision":"cancel","scope":"turn"}]}`},
	} {
		change, ok := requested(test.method, json.RawMessage(test.params))
		got, err := json.Marshal(change.Asked)
		if !ok || err != nil || string(got) != test.want {
			t.Errorf("%s %s\n got %s (%v)\nwant %s", test.method, test.params, got, err, test.want)
		}
	}
}

// Two offered decisions of one name are two options. Each option selects its own decision.
func TestOptionsOfOneName(t *testing.T) {
	t.Parallel()
	amend := func(action string) string {
		return `{"applyNetworkPolicyAmendment":{"network_policy_amendment":{"action":"` + action + `"}}}`
	}
	params := json.RawMessage(`{"availableDecisions":["accept",5,` + amend("allow") + `,` + amend("deny") + `]}`)
	change, _ := requested(wire.MethodApproveCommand, params)
	ref := runtime.RequestRef{Method: wire.MethodApproveCommand, Params: params, Asked: change.Asked}
	for id, test := range map[string]struct{ decision, want string }{
		"applyNetworkPolicyAmendment":   {"accept", amend("allow")},
		"applyNetworkPolicyAmendment-2": {"decline", amend("deny")},
	} {
		got, err := encodeReply(version{}, ref, runtime.Reply{Decision: test.decision, Option: id})
		if err != nil || strings.TrimSpace(string(got)) != `{"decision":`+test.want+`}` {
			t.Errorf("%s is answered %s, %v", id, got, err)
		}
	}
}
