package tracing_test

import (
	"compress/gzip"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"harness/tests/programtest"
)

func TestMain(m *testing.M) { programtest.Main(m) }

// collected has the spans that a collector received, and its unpacked requests.
type collected struct {
	mu    sync.Mutex
	spans []*tracepb.Span
	bytes strings.Builder
	more  chan struct{}
}

func (c *collected) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	packed, err := gzip.NewReader(r.Body)
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	body, err := io.ReadAll(packed)
	data := &tracepb.TracesData{}
	if err != nil || proto.Unmarshal(body, data) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bytes.Write(body)
	for _, resource := range data.ResourceSpans {
		for _, scope := range resource.ScopeSpans {
			c.spans = append(c.spans, scope.Spans...)
		}
	}
	select {
	case c.more <- struct{}{}:
	default:
	}
}

// named returns the spans of a trace with a name.
func (c *collected) named(trace, name string) (found []*tracepb.Span) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, span := range c.spans {
		if span.Name == name && hex.EncodeToString(span.TraceId) == trace {
			found = append(found, span)
		}
	}
	return found
}

// A task requested in a trace is one tree of spans in it: the request, the task, its turn, the runtime calls, the
// approval, the tool of this server and that of the runtime. The spans contain no text of a person or the model, and no
// secret.
func TestATaskIsATreeOfSpans(t *testing.T) {
	t.Parallel()
	const (
		trace, caller = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
		prompt        = "planted-prompt"
		token         = "planted-token-of-the-server"
	)
	got := &collected{more: make(chan struct{}, 1)}
	collector := httptest.NewServer(got)
	t.Cleanup(collector.Close)
	site := programtest.New(t, programtest.WithEnv("HARNESS_OTEL=true", "OTEL_EXPORTER_OTLP_ENDPOINT="+collector.URL,
		"OTEL_BSP_SCHEDULE_DELAY=50", "HARNESS_TOOLS=workspace.list", "HARNESS_AUTH_TOKEN="+token))
	server := site.Start()
	server.Headers = map[string]string{"Authorization": "Bearer " + token}
	server.WaitRuntime()
	folder := t.TempDir()
	server.Headers["Traceparent"] = "00-" + trace + "-" + caller + "-01"
	session := programtest.Text(server.Want(http.StatusCreated, http.MethodPost, "/v1/sessions",
		map[string]any{"runtime": "codex", "permission_mode": "ask", "native_tools": "on", "cwd": folder}), "session_id")
	server.Want(http.StatusAccepted, http.MethodPost, "/v1/sessions/"+session+"/tasks", map[string]any{"messages": []any{
		map[string]any{"role": "user", "content": prompt + ` MOCK_CALL[harness/workspace_list|{"path":"."}]END MOCK_CMD[echo hello]`}}})
	decided := []string{}
	for range 2 { // one approval for the server's tool, one for the runtime's command
		server.Eventually("something is asked", func() bool {
			for _, one := range server.Approvals(session) {
				if id := programtest.Text(one, "approvalId"); !slices.Contains(decided, id) {
					decided = append(decided, id)
					return true
				}
			}
			return false
		})
		server.Decide(decided[len(decided)-1])
	}
	deadline := time.After(programtest.Patience)
	for len(got.named(trace, "task")) == 0 || len(got.named(trace, "turn")) == 0 {
		select {
		case <-got.more:
		case <-deadline:
			t.Fatalf("no span of a task, but %d spans:\n%s", len(got.spans), server.Log())
		}
	}
	server.Stop() // this sends the remaining spans
	id := func(span *tracepb.Span) string { return hex.EncodeToString(span.SpanId) }
	one := func(name string, want int) []*tracepb.Span {
		t.Helper()
		found := got.named(trace, name)
		if len(found) < want {
			t.Fatalf("%d spans are called %s, want %d", len(found), name, want)
		}
		for _, span := range found {
			if span.EndTimeUnixNano < span.StartTimeUnixNano || span.Status.GetMessage() != "" {
				t.Errorf("%s is %v", name, span)
			}
		}
		return found
	}
	requests := map[string]bool{}
	for _, request := range one("request", 3) {
		requests[id(request)] = true
		if hex.EncodeToString(request.ParentSpanId) != caller {
			t.Errorf("a request is below %x", request.ParentSpanId)
		}
	}
	task, turn := one("task", 1)[0], one("turn", 1)[0]
	if !requests[hex.EncodeToString(task.ParentSpanId)] {
		t.Errorf("the task is below %x, and no request", task.ParentSpanId)
	}
	if hex.EncodeToString(turn.ParentSpanId) != id(task) {
		t.Errorf("the turn is below %x, and not the task", turn.ParentSpanId)
	}
	tools := map[string]bool{}
	for _, span := range slices.Concat(one("tool run", 2), one("approval wait", 2)) {
		if hex.EncodeToString(span.ParentSpanId) != id(turn) {
			t.Errorf("%s is below %x, and not the turn", span.Name, span.ParentSpanId)
		}
		for _, pair := range span.Attributes {
			if pair.Key == "harness.tool.name" {
				tools[pair.Value.GetStringValue()] = true
			}
		}
	}
	if !tools["workspace.list"] || !tools["commandExecution"] {
		t.Errorf("tools that ran are %v", tools)
	}
	one("runtime call", 1)
	for _, planted := range []string{prompt, token, "echo hello", "MOCK_", folder} {
		if strings.Contains(got.bytes.String(), planted) {
			t.Errorf("%q was sent to the collector", planted)
		}
	}
}

// A collector that never responds delays neither a request nor the server's stop.
func TestAHangingCollectorHoldsNothingBack(t *testing.T) {
	t.Parallel()
	asked, let := make(chan struct{}, 1), make(chan struct{})
	collector := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		select {
		case asked <- struct{}{}:
		default:
		}
		<-let
	}))
	t.Cleanup(collector.Close)
	t.Cleanup(func() { close(let) })
	site := programtest.New(t, programtest.WithoutAgent(), programtest.WithEnv("HARNESS_OTEL=true",
		"OTEL_EXPORTER_OTLP_ENDPOINT="+collector.URL, "OTEL_BSP_SCHEDULE_DELAY=10"))
	server := site.Start()
	post := func() {
		server.Want(http.StatusNotFound, http.MethodPost, "/api/none", map[string]any{})
	}
	post()
	<-asked // from now on the collector hangs
	for range 100 {
		post()
	}
	server.Stop()
	if !strings.Contains(server.Log(), "collector rejected the last spans") {
		t.Errorf("the log does not say what was lost:\n%s", server.Log())
	}
}

// An invalid setting is reported at the start, and an unused one does no harm.
func TestWrongSettingsOfTraces(t *testing.T) {
	t.Parallel()
	site := programtest.New(t, programtest.WithoutAgent(),
		programtest.WithEnv("HARNESS_OTEL=true", "OTEL_EXPORTER_OTLP_PROTOCOL=grpc"))
	if code, _, output := site.Run("serve"); code == 0 || !strings.Contains(output, "http/protobuf") {
		t.Errorf("%d %s", code, output)
	}
	site = programtest.New(t, programtest.WithoutAgent(),
		programtest.WithEnv("OTEL_EXPORTER_OTLP_PROTOCOL=grpc", "OTEL_EXPORTER_OTLP_ENDPOINT=nonsense"))
	site.Start().Stop()
	site = programtest.New(t, programtest.WithoutAgent(), programtest.WithEnv("HARNESS_TRACES_GENAI=1.40"))
	if code, _, output := site.Run("serve"); code == 0 || !strings.Contains(output, "off, 1.41") {
		t.Errorf("%d %s", code, output)
	}
}

// OB-16: with HARNESS_TRACES_GENAI a turn is a span invoke_agent, and counts in the conventions' metrics.
func TestTurnsUnderTheNamesOfTheConventions(t *testing.T) {
	t.Parallel()
	got := &collected{more: make(chan struct{}, 1)}
	collector := httptest.NewServer(got)
	t.Cleanup(collector.Close)
	server := programtest.New(t, programtest.WithEnv("HARNESS_OTEL=true", "OTEL_EXPORTER_OTLP_ENDPOINT="+collector.URL,
		"OTEL_BSP_SCHEDULE_DELAY=50", "HARNESS_TRACES_GENAI=1.41")).Start()
	server.WaitRuntime()
	const trace = "4bf92f3577b34da6a3ce929d0e0e4736"
	server.Headers = map[string]string{"Traceparent": "00-" + trace + "-00f067aa0ba902b7-01"}
	session := programtest.Text(server.Want(http.StatusCreated, http.MethodPost, "/v1/sessions",
		map[string]any{"runtime": "codex", "cwd": t.TempDir()}), "session_id")
	server.Want(http.StatusAccepted, http.MethodPost, "/v1/sessions/"+session+"/tasks",
		map[string]any{"messages": []any{map[string]any{"role": "user", "content": "planted-prompt"}}})
	deadline := time.After(programtest.Patience)
	for len(got.named(trace, "invoke_agent codex")) == 0 {
		select {
		case <-got.more:
		case <-deadline:
			t.Fatalf("no span of the turn:\n%s", server.Log())
		}
	}
	attributes := map[string]string{}
	for _, pair := range got.named(trace, "invoke_agent codex")[0].Attributes {
		attributes[pair.Key] = pair.Value.GetStringValue()
	}
	if attributes["gen_ai.provider.name"] != "openai" || attributes["gen_ai.conversation.id"] != session {
		t.Errorf("the turn has %v", attributes)
	}
	if text := server.Metrics(); !strings.Contains(text, `gen_ai_client_operation_duration_seconds_count{error_type="",`+
		`gen_ai_operation_name="invoke_agent",gen_ai_provider_name="openai",`) ||
		!strings.Contains(text, `gen_ai_client_token_usage_count{gen_ai_operation_name="invoke_agent",`) {
		t.Errorf("metrics lack the turn:\n%s", text)
	}
	server.Stop()
	if strings.Contains(got.bytes.String(), "planted-prompt") {
		t.Error("the prompt was sent to the collector")
	}
}
