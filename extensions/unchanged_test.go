package extensions_test

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rs/zerolog"

	"harness/extensions"
	"harness/extensions/js"
	"harness/extensions/process"
	"harness/extensions/sdk"
	"harness/tests/outside"
)

// realHosts makes the hosts of a server; node is the Node program, "" for the one in PATH.
func realHosts(t *testing.T, node string) []extensions.Host {
	t.Helper()
	children, err := process.New(t.Context(), process.Options{Dir: filepath.Join(t.TempDir(), "children"), Node: node,
		Logger: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	return []extensions.Host{js.New(js.Options{Logger: zerolog.Nop()}), children}
}

func unchanged(t *testing.T, options extensions.Options) (*extensions.Registry, []*extensions.LoadError) {
	t.Helper()
	options.Roots = []extensions.Root{{Type: extensions.ConfiguredRoot, Path: "testdata/unchanged"}}
	r := registry(t, options)
	return r, r.Load(t.Context())
}

// Extensions written for codex-manager, where they ran in Node, run unchanged: those that need Node in a Node process,
// the others in the server. Their manifests do not name a host.
func TestExtensionsWrittenForNodeRunUnchanged(t *testing.T) {
	t.Parallel()
	outside.Needs(t, "Node.js")
	queued, acted := &recorder{}, &recorder{}
	r, problems := unchanged(t, extensions.Options{Hosts: realHosts(t, ""), Jobs: queued, Actions: acted})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	notes := map[string]string{}
	for _, m := range r.List().Modules {
		notes[m.ModuleName] = strings.Join(m.Diagnostics, "; ")
	}
	if notes["links"] != "" ||
		!strings.Contains(notes["policy"], "runs in a Node process: it uses node:fs (policy/events.ts:2:") ||
		!strings.Contains(notes["audit"], "fs/promises (audit/events.js:2:") ||
		!strings.Contains(notes["audit"], "Buffer (audit/events.js:14:") {
		t.Errorf("notes: %q", notes)
	}
	for _, c := range []struct{ event, want string }{
		{extensions.EventFileChange, `"actionType":"approval.decide","status":"performed"`},
		{extensions.EventTurnCompleted, `"kind":"enqueue_result"`},
		{extensions.EventSuggestRequest,
			`"href":"https://example.com/r?q=Add+a+file\u0026key=c2FtcGxlLXJlcXVlc3Q%3D","bytes":61,"took":true,"id":36,"node":"undefined"`},
	} {
		results, err := json.Marshal(r.Emit(t.Context(), extensions.SampleEvent(c.event), extensions.Scope{}))
		if err != nil || !strings.Contains(string(results), c.want) {
			t.Errorf("%s: %s, %v", c.event, results, err)
		}
	}
	if len(queued.payloads) != 1 || queued.payloads[0] != `{"label":"Audit of turns","last":"`+sampleHash+
		`","module":"events.js"}` {
		t.Errorf("queued %q", queued.payloads)
	}
	if len(acted.payloads) != 1 || acted.payloads[0] != `{"approvalId":"sample-approval","decision":"decline"}` {
		t.Errorf("acted %q", acted.payloads)
	}
}

// sampleHash is the hash that the extension audit computes for the sample's transcript.
const sampleHash = "3a5a00d17870"

// An extension that needs Node but may not use it is refused. The error lists the names it uses, the reason, and the
// remedy; the other extensions serve.
func TestWhatNeedsNodeAndMayNotHaveIt(t *testing.T) {
	t.Parallel()
	outside.Needs(t, "Node.js")
	for name, c := range map[string]struct {
		options extensions.Options
		code    extensions.LoadCode
		words   []string
	}{
		"no node": {extensions.Options{Hosts: realHosts(t, "node-that-is-not-there")}, extensions.ImportFailed,
			[]string{"needs Node", "node:fs (policy/events.ts:2:", "process (policy/events.ts:", "install Node 20 or later",
				`"host": "embedded"`}},
		"trust": {extensions.Options{Hosts: realHosts(t, ""), Trust: extensions.TrustPolicy{Mode: extensions.TrustEnforced}}, extensions.TrustDenied,
			[]string{"needs Node", "node:fs (events.ts:2:", "capabilities.host", "HARNESS_EXTENSION_PROCESS_ALLOWED"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, problems := unchanged(t, c.options)
			at := slices.IndexFunc(problems, func(p *extensions.LoadError) bool { return p.Extension == "@acme/policy" })
			if at < 0 || problems[at].Code != c.code {
				t.Fatalf("problems: %v", problems)
			}
			for _, word := range c.words {
				if !strings.Contains(problems[at].Message, word) {
					t.Errorf("%q does not say %q", problems[at].Message, word)
				}
			}
			if c.code == extensions.ImportFailed && len(r.List().Modules) != 1 {
				t.Errorf("loaded: %+v", r.List().Modules)
			}
		})
	}
}

// A manifest that names a host decides: an extension with host "embedded" stays in the server and only lacks the
// missing names.
func TestTheManifestDecidesTheHost(t *testing.T) {
	t.Parallel()
	outside.Needs(t, "Node.js")
	code := `export function registerAgentEvents(r) { r.on("e", () => typeof process); r.on("e", () => ` +
		`Buffer.from("x").length); r.on("e", () => windwo) }`
	for host, want := range map[string]struct{ results, missing string }{
		"embedded": {`"undefined",'Buffer' is not defined,'windwo' is not defined`, "process guarded, Buffer, windwo"},
		"node":     {`"object",1,windwo is not defined`, "windwo"},
		"":         {`"object",1,windwo is not defined`, "windwo"},
	} {
		root := folder(t)
		write(t, root, map[string]string{"m/events.mjs": code,
			"m/extension.manifest.json": manifest("m", `,"runtime":{"host":"`+host+`"}`)})
		r := registry(t, extensions.Options{Roots: []extensions.Root{{Type: extensions.ConfiguredRoot, Path: root}},
			Hosts: realHosts(t, "")})
		if problems := r.Load(t.Context()); len(problems) > 0 {
			t.Fatal(problems)
		}
		var results, missing []string
		for _, result := range r.Emit(t.Context(), extensions.SampleEvent("e"), extensions.Scope{}) {
			text := strings.TrimSuffix(strings.TrimPrefix(string(result.Details), `{"value":`), "}")
			if result.Error != "" {
				text = result.Error
			}
			results = append(results, text)
		}
		for _, one := range r.List().Modules[0].Missing {
			if one.Guarded {
				one.Name += " guarded"
			}
			missing = append(missing, one.Name)
		}
		if strings.Join(results, ",") != want.results || strings.Join(missing, ", ") != want.missing {
			t.Errorf("host %q: results %s, missing %s", host, strings.Join(results, ","), missing)
		}
	}
	// Modules are indispensable.
	root := folder(t)
	write(t, root, map[string]string{"m/events.mjs": `import "fs"; export const registerAgentEvents = () => Buffer`,
		"m/extension.manifest.json": manifest("m", `,"runtime":{"host":"embedded"}`)})
	r := registry(t, extensions.Options{Roots: []extensions.Root{{Type: extensions.ConfiguredRoot, Path: root}},
		Hosts: realHosts(t, "")})
	problems := r.Load(t.Context())
	var needs *extensions.NeedsNodeError
	if len(problems) != 1 || errors.As(problems[0], &needs) ||
		!strings.Contains(problems[0].Message, "m/events.mjs:1:8: fs is a module of Node") ||
		!strings.Contains(problems[0].Message, "m/events.mjs:1:55: Buffer") {
		t.Errorf("problems: %v", problems)
	}
}

// recorder implements a queue and an executor of actions that record their requests.
type recorder struct {
	mu       sync.Mutex
	payloads []string
}

func (r *recorder) keep(payload json.RawMessage) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.payloads = append(r.payloads, string(payload))
}

// EnqueueJob implements extensions.Jobs.
func (r *recorder) EnqueueJob(_ context.Context, in sdk.EnqueueInput) (sdk.EnqueueOutcome, error) {
	r.keep(in.Payload)
	return sdk.EnqueueOutcome{Status: sdk.Enqueued, Job: sdk.Job{ID: "j", Type: in.Type, ProjectID: in.ProjectID,
		State: "queued"}}, nil
}

// Execute implements extensions.Actions.
func (r *recorder) Execute(_ context.Context, call extensions.ActionCall) sdk.EmitResult {
	r.keep(call.Request.Payload)
	return sdk.EmitResult{Kind: sdk.ActionResult, ModuleName: call.ModuleName, ActionType: call.Request.ActionType,
		Status: string(sdk.Performed)}
}

// Every host implements the same contract: one extension gets the same conformance report in each, and the same order,
// errors and timeouts.
func TestConformanceInEveryHost(t *testing.T) {
	t.Parallel()
	outside.Needs(t, "Node.js")
	everything := `"capabilities":{"events":["*"],"actions":["*"],"host":["fs.read:."]}`
	movable := `export function registerAgentEvents(registry) {
		registry.on("turn.completed", async (event, tools) => { tools.logger.info({a: 1}, "seen"); await new Promise((r) => setTimeout(r, 1)); return {second: (await tools.getSessionSettings("s"))} }, {priority: 20});
		registry.on("turn.completed", (event, tools) => tools.enqueueJob({type: "note", projectId: event.payload.context.projectId, payload: {turn: event.payload.context.turnId}}), {priority: -1});
		registry.on("file_change.approval_requested", (event) => ({kind: "action_request", actionType: "approval.decide", payload: {approvalId: event.payload.context.approvalId, decision: "accept"}}));
	}`
	python := `import json, sys
def send(**m):
    sys.stdout.write(json.dumps(m) + "\n"); sys.stdout.flush()
for line in sys.stdin:
    m = json.loads(line)
    if m["type"] == "load":
        send(type="ready", protocol=1, subscriptions=[{"eventType": "turn.completed", "priority": 20}, {"eventType": "turn.completed", "priority": -1}, {"eventType": "file_change.approval_requested"}])
    elif m["type"] == "invoke":
        context = m["event"]["payload"]["context"]
        if m["subscription"] == 2:
            send(type="result", id=m["id"], value={"kind": "action_request", "actionType": "approval.decide", "payload": {"approvalId": context["approvalId"], "decision": "accept"}}); continue
        name, args = [("getSessionSettings", ["s"]), ("enqueueJob", [{"type": "note", "projectId": context["projectId"], "payload": {"turn": context["turnId"]}}])][m["subscription"]]
        send(type="log", id=m["id"], level="info", message="seen")
        send(type="tool", id=m["id"], call=1, name=name, args=args)
        value = json.loads(sys.stdin.readline())["value"]
        send(type="result", id=m["id"], value=value if name == "enqueueJob" else {"second": value})
`
	var first string
	for _, host := range []struct {
		name, runtime string
		files         map[string]string
	}{
		{"embedded", ``, map[string]string{"events.mjs": movable}},
		{"node by its manifest", `"runtime":{"host":"node"},`, map[string]string{"events.mjs": movable}},
		{"node by its code", ``,
			map[string]string{
				"events.mjs": `import { sep } from "node:path"; if (sep === "") throw new Error(process.version);` + movable}},
		{"process", `"runtime":{"host":"process","command":["python3","events.py"]},`,
			map[string]string{"events.py": python}},
	} {
		root := filepath.Join(folder(t), "m")
		host.files["extension.manifest.json"] = `{"name":"m","version":"1.0.0","agentId":"m","displayName":"M",` +
			host.runtime + everything + `}`
		write(t, root, host.files)
		report := extensions.Conformance(t.Context(), root, realHosts(t, ""), []string{"m"})
		if !report.Movable {
			t.Errorf("%s: %q", host.name, report.Reasons)
			continue
		}
		events := shape(t, report.Profiles[0].Events)
		if first == "" {
			first = events
		}
		if events != first || !strings.Contains(events, `"actionType":"approval.decide","status":"performed"`) ||
			!strings.Contains(events, `{"value":{"second":{}}}`) {
			t.Errorf("%s:\n%s\nelsewhere\n%s", host.name, events, first)
		}
	}
}
