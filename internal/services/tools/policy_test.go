package tools_test

import (
	"bufio"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"harness/internal/services/tools"
)

// vector is a line of the upstream daemon's decisions.
type vector struct {
	Kind      string         `json:"kind"`
	Mode      *tools.Mode    `json:"mode"`
	Class     *tools.Class   `json:"tool_permission"`
	Decision  tools.Result   `json:"decision"`
	Snapshot  tools.Snapshot `json:"snapshot"`
	Overrides struct {
		DenyTools        []string      `json:"denyTools"`
		AllowTools       []string      `json:"allowTools"`
		DenyPermissions  []tools.Class `json:"denyPermissions"`
		AllowPermissions []tools.Class `json:"allowPermissions"`
	} `json:"overrides"`
	Manifest json.RawMessage `json:"manifest"`
	Tool     string          `json:"tool"`
	Input    json.RawMessage `json:"input"`
	Result   struct {
		OK     bool     `json:"ok"`
		Errors []string `json:"errors"`
	} `json:"result"`
}

func vectors(t *testing.T, kinds ...string) (found []vector) {
	t.Helper()
	file, err := os.Open("testdata/codesdk-vectors.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var v vector
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
			t.Fatal(err)
		}
		if slices.Contains(kinds, v.Kind) {
			found = append(found, v)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return found
}

// better lists the decisions that differ from the upstream daemon's: "auto" allows read-only calls and asks about the
// rest, "ask" asks about everything, and unknown tools do not run automatically.
func better() map[string]tools.Opinion {
	auto := tools.Opinion{Source: tools.SourceHarness, Result: tools.Ask, Rule: "permission_mode:auto"}
	ask := tools.Opinion{Source: tools.SourceHarness, Result: tools.Ask, Rule: "permission_mode:ask"}
	return map[string]tools.Opinion{
		"auto/":          {Source: tools.SourceHarness, Result: tools.Deny, Rule: "permission_mode:unknown_tool"},
		"auto/write":     auto,
		"auto/network":   auto,
		"auto/dangerous": auto,
		"ask/dangerous":  ask,
		"/dangerous":     ask,
	}
}

// TL-05, TL-06, TL-07, TL-08: every row of the upstream daemon's table, except the listed decisions, which must all
// occur.
func TestThePolicyVectors(t *testing.T) {
	t.Parallel()
	rows, differ := vectors(t, "policy", "policy_override"), better()
	if len(rows) != 26 {
		t.Fatalf("%d vectors, want 26", len(rows))
	}
	for _, v := range rows {
		policy := tools.Policy{Overrides: tools.Overrides{DenyTools: v.Overrides.DenyTools,
			AllowTools: v.Overrides.AllowTools, DenyClasses: v.Overrides.DenyPermissions,
			AllowClasses: v.Overrides.AllowPermissions}}
		class := tools.Class("")
		if v.Mode != nil {
			policy.Mode = *v.Mode
		}
		if v.Class != nil {
			class = *v.Class
		}
		want := v.Snapshot
		want.Sources[0].Source = tools.SourceHarness
		row := string(policy.Mode) + "/" + string(class)
		if opinion, listed := differ[row]; listed && v.Kind == "policy" {
			if opinion.Result == v.Decision {
				t.Errorf("%s is listed as a difference and is none", row)
			}
			want.Decision, want.Sources = opinion.Result, []tools.Opinion{opinion}
			delete(differ, row)
		}
		got := policy.Settle(policy.Evaluate("t", class))
		if got.Mode != want.Mode || got.Decision != want.Decision || !slices.Equal(got.Sources, want.Sources) {
			t.Errorf("%s %+v: decided %+v, want %+v", row, v.Overrides, got, want)
		}
	}
	if len(differ) > 0 {
		t.Errorf("listed differences that no vector shows: %v", differ)
	}
}

// TL-08, TL-10: a denial precedes every permission, a rule for a tool precedes one for its class, and both precede the
// mode. The decision names the rule.
func TestRulesGoBeforeTheMode(t *testing.T) {
	t.Parallel()
	here, class := []string{"t"}, []tools.Class{tools.Write}
	for rule, c := range map[string]struct {
		policy tools.Policy
		want   tools.Result
	}{
		"override:deny_tool": {tools.Policy{Mode: tools.ModeYolo, Overrides: tools.Overrides{DenyTools: here, DenyClasses: class,
			AllowTools: here, AllowClasses: class}}, tools.Deny},
		"override:deny_permission": {tools.Policy{Mode: tools.ModeYolo, Overrides: tools.Overrides{DenyClasses: class, AllowTools: here,
			AllowClasses: class}}, tools.Deny},
		"override:allow_tool":       {tools.Policy{Mode: tools.ModeAsk, Overrides: tools.Overrides{AllowTools: here, AllowClasses: class}}, tools.Allow},
		"override:allow_permission": {tools.Policy{Mode: tools.ModeAsk, Overrides: tools.Overrides{AllowClasses: class}}, tools.Allow},
		"permission_mode:yolo":      {tools.Policy{Mode: tools.ModeYolo}, tools.Allow},
		"permission_mode:ask":       {tools.Policy{}, tools.Ask},
	} {
		mode := c.policy.Mode
		if mode == "" {
			mode = tools.ModeAsk
		}
		got := c.policy.Settle(c.policy.Evaluate("t", tools.Write))
		if got.Decision != c.want || got.Mode != mode || len(got.Sources) != 1 || got.Sources[0].Rule != rule {
			t.Errorf("%s: %+v", rule, got)
		}
	}
}

// TL-08, TL-09: the strictest opinion counts, a person's answer replaces the opinions Ask of others, and no party
// allows what another one denies.
func TestOpinionsAreSettled(t *testing.T) {
	t.Parallel()
	from := func(source string, result tools.Result) tools.Opinion {
		return tools.Opinion{Source: source, Result: result, Rule: source + ":" + string(result)}
	}
	runtime, own, user := tools.SourceRuntime, tools.SourceHarness, tools.SourceUser
	for _, c := range []struct {
		opinions []tools.Opinion
		decision tools.Result
		alone    tools.Result // without a person to ask
	}{
		{[]tools.Opinion{from(own, tools.Allow)}, tools.Allow, tools.Allow},
		{[]tools.Opinion{from(own, tools.Ask)}, tools.Ask, tools.Deny},
		{[]tools.Opinion{from(runtime, tools.Allow), from(own, tools.Ask)}, tools.Ask, tools.Deny},
		{[]tools.Opinion{from(runtime, tools.Ask), from(own, tools.Allow)}, tools.Ask, tools.Deny},
		{[]tools.Opinion{from(runtime, tools.Deny), from(own, tools.Allow)}, tools.Deny, tools.Deny},
		{[]tools.Opinion{from(own, tools.Ask), from(user, tools.Allow)}, tools.Allow, tools.Allow},
		{[]tools.Opinion{from(own, tools.Ask), from(user, tools.Deny)}, tools.Deny, tools.Deny},
		{[]tools.Opinion{from(runtime, tools.Deny), from(own, tools.Ask), from(user, tools.Allow)}, tools.Deny, tools.Deny},
		{[]tools.Opinion{from(own, tools.Deny), from(user, tools.Allow)}, tools.Deny, tools.Deny},
	} {
		got, alone := tools.Policy{}.Settle(c.opinions...), tools.Policy{NonInteractive: true}.Settle(c.opinions...)
		if got.Decision != c.decision || alone.Decision != c.alone || !slices.Equal(got.Sources, c.opinions) {
			t.Errorf("%v: decided %+v and %+v", c.opinions, got, alone)
		}
	}
}

// TL-07: running everything without approval needs the operator's consent; unknown words are refused instead of
// ignored.
func TestAPolicyIsChecked(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		policy    tools.Policy
		allowYolo bool
		says      string
	}{
		{tools.Policy{}, false, ""},
		{tools.Policy{Mode: tools.ModeAuto}, false, ""},
		{tools.Policy{Mode: tools.ModeYolo}, true, ""},
		{tools.Policy{Mode: tools.ModeYolo}, false, "HARNESS_ALLOW_YOLO"},
		{tools.Policy{Mode: "never"}, true, `"never" is unknown`},
		{tools.Policy{Overrides: tools.Overrides{DenyClasses: []tools.Class{"wirte"}}}, false, `"wirte" is unknown`},
		{tools.Policy{Overrides: tools.Overrides{AllowClasses: []tools.Class{""}}}, false, `"" is unknown`},
	} {
		err := tools.CheckPolicy(c.policy, c.allowYolo)
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%+v: %v, want %q", c.policy, err, c.says)
		}
	}
}

// RA-18, TL-24: the levels of a session apply to the tools of this server, whatever its policy allows.
func TestTheLevelsOfASessionHoldForTools(t *testing.T) {
	t.Parallel()
	open := tools.Policy{Mode: tools.ModeYolo, Overrides: tools.Overrides{AllowTools: []string{"workspace.write"}}}
	for _, c := range []struct {
		session tools.Levels
		class   tools.Class
		want    tools.Result
	}{
		{tools.Levels{ApprovalPolicy: "on-request", FilesystemSandbox: "workspace-write", NetworkAccess: "enabled"},
			tools.Network, tools.Allow},
		{tools.Levels{ApprovalPolicy: "on-request", FilesystemSandbox: "workspace-write", NetworkAccess: "restricted"},
			tools.Network, tools.Deny},
		{tools.Levels{ApprovalPolicy: "on-request", FilesystemSandbox: "read-only", NetworkAccess: "enabled"},
			tools.Write, tools.Deny},
		{tools.Levels{ApprovalPolicy: "on-request", FilesystemSandbox: "read-only", NetworkAccess: "enabled"},
			tools.Dangerous, tools.Deny},
		{tools.Levels{ApprovalPolicy: "untrusted", FilesystemSandbox: "read-only", NetworkAccess: "enabled"},
			tools.ReadOnly, tools.Ask},
		{tools.Levels{ApprovalPolicy: "never", FilesystemSandbox: "workspace-write", NetworkAccess: "enabled"},
			tools.Dangerous, tools.Allow},
	} {
		policy := open.Within(c.session)
		if got := policy.Settle(policy.Evaluate("a.tool", c.class)); got.Decision != c.want {
			t.Errorf("%+v: %s is %s, want %s", c.session, c.class, got.Decision, c.want)
		}
	}
	policy := tools.Policy{Mode: tools.ModeAsk}.Within(tools.Levels{ApprovalPolicy: "never"})
	if got := policy.Settle(policy.Evaluate("a.tool", tools.ReadOnly)); got.Decision != tools.Deny {
		t.Errorf("without a person to ask it is %s", got.Decision)
	}
	if len(open.DenyClasses) != 0 {
		t.Error("a session narrowed the policy of all")
	}
}
