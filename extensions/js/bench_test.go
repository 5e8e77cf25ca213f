package js_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"harness/extensions"
	"harness/extensions/js"
	"harness/extensions/sdk"
	"harness/tests/extensionstest"
)

// The benchmarks of docs/performance.md, section Extensions:
//
//	go test -run '^$' -bench . ./extensions/js
//
// "suggest" is one handler that makes an instruction of a 1 KB transcript and queues a job; "noop" returns undefined.
// Every host runs the same work.

const instruction = `const text = ["# Worker job", "", "Project: " + event.payload.projectId, "Session: " + event.payload.sessionId, "", event.payload.userRequest, "", event.payload.turnTranscript].join("\n");
	return tools.enqueueJob({type: "agent_instruction", projectId: event.payload.projectId, sourceSessionId: event.payload.sessionId, payload: {agent: "bench", instructionText: text, dedupeKey: "bench:" + event.payload.sessionId}});`

const benchCode = `export function registerAgentEvents(registry) {
	registry.on("suggest", async (event, tools) => { ` + instruction + ` });
	registry.on("noop", () => {});
}`

const benchPython = `import json, sys
def send(**m):
    sys.stdout.write(json.dumps(m) + "\n"); sys.stdout.flush()
for line in sys.stdin:
    m = json.loads(line)
    if m["type"] == "load":
        send(type="ready", protocol=1, subscriptions=[{"eventType": "suggest"}, {"eventType": "noop"}])
    elif m["type"] == "end":
        send(type="ended", id=m["id"])
    elif m["type"] == "invoke":
        if m["subscription"] == 1:
            send(type="result", id=m["id"]); continue
        p = m["event"]["payload"]
        text = "\n".join(["# Worker job", "", "Project: " + p["projectId"], "Session: " + p["sessionId"], "", p["userRequest"], "", p["turnTranscript"]])
        send(type="tool", id=m["id"], call=1, name="enqueueJob", args=[{"type": "agent_instruction", "projectId": p["projectId"], "sourceSessionId": p["sessionId"], "payload": {"agent": "bench", "instructionText": text, "dedupeKey": "bench"}}])
        send(type="result", id=m["id"], value=json.loads(sys.stdin.readline())["value"])
`

func benchNative() sdk.Extension {
	type payload struct{ ProjectID, SessionID, UserRequest, TurnTranscript string }
	return sdk.Extension{ModuleName: "bench", Name: "bench", Version: "1.0.0", AgentID: "bench",
		Register: func(r *sdk.Registry) {
			r.On("suggest", func(ctx context.Context, event sdk.Event, tools sdk.Tools) (any, error) {
				var p payload
				if err := json.Unmarshal(event.Payload, &p); err != nil {
					return nil, err
				}
				text := strings.Join([]string{"# Worker job", "", "Project: " + p.ProjectID, "Session: " + p.SessionID, "",
					p.UserRequest, "", p.TurnTranscript}, "\n")
				inner, err := json.Marshal(map[string]string{"agent": "bench", "instructionText": text,
					"dedupeKey": "bench:" + p.SessionID})
				if err != nil {
					return nil, err
				}
				return tools.EnqueueJob(ctx, sdk.EnqueueInput{Type: "agent_instruction", ProjectID: p.ProjectID,
					SourceSessionID: &p.SessionID, Payload: inner})
			})
			r.On("noop", func(context.Context, sdk.Event, sdk.Tools) (any, error) { return nil, nil })
		}}
}

// jobs counts jobs and does not store them.
type jobs struct{}

func (jobs) EnqueueJob(_ context.Context, input sdk.EnqueueInput) (sdk.EnqueueOutcome, error) {
	return sdk.EnqueueOutcome{Status: sdk.Enqueued, Job: sdk.Job{ID: "j", Type: input.Type, ProjectID: input.ProjectID,
		State: "queued"}}, nil
}

func BenchmarkEmit(b *testing.B) {
	suggest := fmt.Sprintf(
		`{"requestKey":"k","sessionId":"s","projectId":"p","threadId":"th","turnId":"t","userRequest":"one more","turnTranscript":%q}`,
		strings.Repeat("0123456789abcdef", 64))
	manifest := func(runtime string) string {
		return `{"name":"bench","version":"1.0.0","agentId":"bench","displayName":"Bench","runtime":{` + runtime + `}}`
	}
	for _, host := range []struct {
		name  string
		files map[string]string
	}{
		{"embedded", map[string]string{"bench/events.mjs": benchCode}},
		{"node", map[string]string{"bench/events.mjs": benchCode,
			"bench/extension.manifest.json": manifest(`"host":"node"`)}},
		{"python", map[string]string{"bench/events.py": benchPython,
			"bench/extension.manifest.json": manifest(`"host":"process","command":["python3","events.py"]`)}},
		{"native", nil},
	} {
		b.Run(host.name, func(b *testing.B) {
			var r *extensions.Registry
			if host.files == nil {
				r = extensions.New(extensions.Options{Native: []sdk.Extension{benchNative()}, Jobs: jobs{}, Logger: zerolog.Nop()})
				if problems := r.Load(context.Background()); len(problems) > 0 {
					b.Fatal(problems)
				}
			} else {
				r = registry(b, extensionstest.Write(b, host.files), jobs{}, nil, nil)
			}
			for name, payload := range map[string]string{"suggest": suggest,
				"noop": `{"item":{"id":"i","type":"agentMessage"}}`} {
				kind := sdk.HandlerResult
				if name == "suggest" {
					kind = sdk.EnqueueResult
				}
				b.Run(name, func(b *testing.B) { emits(b, r, name, payload, kind) })
			}
		})
	}
}

// emits measures sequential emits: the median, and the processor time of this process and its children together.
func emits(b *testing.B, r *extensions.Registry, name, payload string, kind sdk.ResultKind) {
	b.Helper()
	once := func() {
		results := r.Emit(context.Background(), &extensions.Event{Type: name, Payload: json.RawMessage(payload)},
			extensions.Scope{ProjectID: "p", SessionID: "s", TurnID: "t"})
		if len(results) != 1 || results[0].Kind != kind {
			b.Fatalf("%+v", results)
		}
	}
	for range 200 {
		once()
	}
	took := make([]time.Duration, 0, b.N)
	before := processor(b)
	b.ReportAllocs()
	b.ResetTimer()
	for b.Loop() {
		start := time.Now()
		once()
		took = append(took, time.Since(start))
	}
	b.StopTimer()
	used := processor(b) - before
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Nanoseconds())/1e3, "p50-us")
	b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds())/1e3, "p99-us")
	b.ReportMetric(float64(used.Nanoseconds())/1e3/float64(len(took)), "cpu-us/op")
}

// processor returns the processor time that this process and its living children used (from /proc, in ticks of 10 ms).
func processor(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	used := time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		b.Fatal(err)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		var state string
		var parent, user, system, skip int
		_, rest, _ := strings.Cut(string(content), ") ")
		if _, err := fmt.Sscan(rest, &state, &parent, &skip, &skip, &skip, &skip, &skip, &skip, &skip, &skip, &skip, &user,
			&system); err == nil && parent == os.Getpid() {
			used += time.Duration(user+system) * 10 * time.Millisecond
		}
	}
	return used
}

// BenchmarkReload swaps 50 extensions: bundle, new machine, registration, swap, and freeing the old ones.
func BenchmarkReload(b *testing.B) {
	root := extensionstest.Write(b, nil)
	many(b, root, 50, 0)
	r := registry(b, root, nil, nil, nil)
	before := processor(b)
	n := 0
	for b.Loop() {
		n++
		if result := r.Reload(context.Background(), fmt.Sprint(n)); len(result.Errors) > 0 {
			b.Fatal(result.Errors)
		}
	}
	b.ReportMetric(float64((processor(b)-before).Milliseconds())/float64(n), "cpu-ms/op")
}

// BenchmarkUnsubscribed measures an event without a subscriber.
func BenchmarkUnsubscribed(b *testing.B) {
	r := registry(b, extensionstest.Write(b, map[string]string{"bench/events.mjs": benchCode}), nil, nil, nil)
	event := &extensions.Event{Type: "app_server.item.agent_message.delta", Payload: json.RawMessage(`{"delta":"x"}`)}
	b.ReportAllocs()
	for b.Loop() {
		if results := r.Emit(context.Background(), event, extensions.Scope{}); results != nil {
			b.Fatal(results)
		}
	}
}

// BenchmarkLoad loads and closes one extension.
func BenchmarkLoad(b *testing.B) {
	host := newHost(js.Limits{})
	dir := extensionstest.Write(b, map[string]string{"events.mjs": benchCode})
	from := source(dir, "events.mjs")
	for b.Loop() {
		module, err := host.Load(context.Background(), from)
		if err != nil {
			b.Fatal(err)
		}
		if err := module.Close(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCut measures how long after its timeout of 50 ms an endless loop returns an error.
func BenchmarkCut(b *testing.B) {
	host := newHost(js.Limits{})
	var late []time.Duration
	for b.Loop() {
		// Each iteration uses a new extension: one that breaks its machine repeatedly has to wait.
		module, err := host.Load(context.Background(),
			source(extensionstest.Write(b,
				map[string]string{"events.mjs": extensionstest.Handlers(`() => { while (true) {} }`)}), "events.mjs"))
		if err != nil {
			b.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		start := time.Now()
		if _, err := module.Handle(ctx, 0, extensionstest.Event(`{}`), &extensionstest.Tools{}); err == nil {
			b.Fatal("an endless loop returned")
		}
		late = append(late, time.Since(start)-50*time.Millisecond)
		cancel()
		if err := module.Close(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
	slices.Sort(late)
	b.ReportMetric(float64(late[len(late)/2].Microseconds())/1e3, "p50-late-ms")
	b.ReportMetric(float64(late[len(late)-1].Microseconds())/1e3, "max-late-ms")
}
