package telemetry

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
)

// line decodes the only line in buf.
func line(t *testing.T, buf *bytes.Buffer) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal(buf.Bytes(), &m); err != nil {
		t.Fatalf("not one JSON line: %v in %q", err, buf)
	}
	return m
}

func TestLineIsJSONWithTimeInMilliseconds(t *testing.T) {
	t.Parallel()
	var buf bytes.Buffer
	log := NewLogger(LogOptions{Out: &buf, Format: "auto"})
	log.Info().Msg("hello")
	m := line(t, &buf)
	at, err := time.Parse("2006-01-02T15:04:05.000Z", m["time"].(string))
	if err != nil || time.Since(at).Abs() > time.Minute {
		t.Errorf("time = %v (%v)", m["time"], err)
	}
	if m["level"] != "info" || m["message"] != "hello" {
		t.Errorf("line = %v", m)
	}
}

func TestLevels(t *testing.T) {
	t.Parallel()
	logged := map[string]string{
		"trace": "trace debug info warn error", "debug": "debug info warn error", "info": "info warn error",
		"": "info warn error", "warn": "warn error", "error": "error", "fatal": "", "silent": "",
	}
	for name, want := range logged {
		var buf bytes.Buffer
		log := NewLogger(LogOptions{Level: name, Format: "console", Out: &buf})
		for _, l := range []zerolog.Level{zerolog.TraceLevel, zerolog.DebugLevel, zerolog.InfoLevel, zerolog.WarnLevel,
			zerolog.ErrorLevel} {
			log.WithLevel(l).Msg("is-" + l.String())
		}
		var got []string
		for word := range strings.FieldsSeq(buf.String()) {
			if l, ok := strings.CutPrefix(word, "is-"); ok {
				got = append(got, l)
			}
		}
		// WithLevel(…) of a disabled level writes nothing, so the words are the levels.
		if strings.Join(got, " ") != want {
			t.Errorf("LOG_LEVEL=%q logs %q, want %q", name, got, want)
		}
	}
}

func TestFormatAutoIsJSONOffTerminal(t *testing.T) {
	t.Parallel()
	f, err := os.CreateTemp(t.TempDir(), "log")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, format := range []string{"auto", "console"} {
		log := NewLogger(LogOptions{Out: f, Format: format})
		log.Warn().Msg("x")
	}
	text, err := os.ReadFile(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	if !strings.HasPrefix(lines[0], "{") || strings.HasPrefix(lines[1], "{") || strings.Contains(lines[1], "\x1b") {
		t.Errorf("auto gave %q, console gave %q", lines[0], lines[1])
	}
}

func TestIDsReachTheLineOnce(t *testing.T) {
	t.Parallel()
	var buf bytes.Buffer
	trace, _ := ParseTraceparent("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	ctx := WithSession(context.Background(), "before-the-logger")
	log := NewLogger(LogOptions{Out: &buf, Format: "json"})
	ctx = WithSession(WithRequest(ctx, &log, "r1", trace), "s1")
	inner := WithSession(ctx, "s2")
	Log(inner).Info().Msg("x")
	m := line(t, &buf)
	want := map[string]string{"request_id": "r1", "session_id": "s2",
		"trace_id": "0af7651916cd43dd8448eb211c80319c", "span_id": "b7ad6b7169203331"}
	for name, value := range want {
		if m[name] != value || strings.Count(buf.String(), `"`+name+`"`) != 1 {
			t.Errorf("%s = %v in %s, want %q once", name, m[name], buf.String(), value)
		}
	}
	same := buf.String()
	buf.Reset()
	Line(inner, zerolog.InfoLevel).Msg("x")
	if at := strings.Index(same, `"time"`); !strings.HasPrefix(buf.String(), same[:at]) {
		t.Errorf("a single line is %s, of the logger %s", buf.String(), same)
	}
	Line(inner, zerolog.TraceLevel).Msg("not at this level")
	if strings.Contains(buf.String(), "not at") {
		t.Errorf("the level is not kept: %s", buf.String())
	}
	if got := IDsFrom(ctx).Session; got != "s1" {
		t.Errorf("the outer context now has session %q", got)
	}
}

func TestContextWithoutLoggerWritesNothing(t *testing.T) {
	t.Parallel()
	Log(context.Background()).Error().Msg("nowhere")
	Log(WithSession(context.Background(), "s")).Error().Msg("nowhere")
	Line(WithSession(context.Background(), "s"), zerolog.ErrorLevel).Str("a", "b").Msg("nowhere")
	if l := Log(context.Background()).GetLevel(); l != zerolog.Disabled {
		t.Errorf("level = %v", l)
	}
	if ids := IDsFrom(context.Background()); ids != (IDs{}) {
		t.Errorf("ids = %+v", ids)
	}
}

func TestTraceparent(t *testing.T) {
	t.Parallel()
	const trace, span = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	cases := map[string]bool{
		"00-" + trace + "-" + span + "-01":                    true,
		"00-" + trace + "-" + span + "-00":                    true,
		"cc-" + trace + "-" + span + "-01-later":              true,
		"":                                                    false,
		"00-" + trace + "-" + span + "-01-later":              false,
		"cc-" + trace + "-" + span + "-01later":               false,
		"ff-" + trace + "-" + span + "-01":                    false,
		"0g-" + trace + "-" + span + "-01":                    false,
		"00-" + strings.ToUpper(trace) + "-" + span + "-01":   false,
		"00-" + strings.Repeat("0", 32) + "-" + span + "-01":  false,
		"00-" + trace + "-" + strings.Repeat("0", 16) + "-01": false,
		"00-" + trace + "-" + span + "-0":                     false,
		"00-" + trace + "-" + span + "-zz":                    false,
		"00_" + trace + "_" + span + "_01":                    false,
		"00-" + trace[:31] + "--" + span + "-01":              false,
		"00-" + trace + "-" + span[:15] + "-0101":             false,
	}
	for header, want := range cases {
		got, ok := ParseTraceparent(header)
		if ok != want {
			t.Errorf("ParseTraceparent(%q) ok = %v, want %v", header, ok, want)
		}
		if ok && (got.TraceID != trace || got.SpanID != span || got.Sampled != strings.Contains(header, span+"-01")) {
			t.Errorf("ParseTraceparent(%q) = %+v", header, got)
		}
	}
	one := Trace{TraceID: trace, SpanID: span}
	if again, ok := ParseTraceparent(one.Traceparent()); !ok || again != one {
		t.Errorf("a trace does not survive its own header: %+v, %+v", one, again)
	}
	if (Trace{}).Traceparent() != "" {
		t.Error("no trace has a header")
	}
}

func TestRegistryIsOurOwn(t *testing.T) {
	t.Parallel()
	a, b := NewRegistry(), NewRegistry()
	name := MetricName("ws", "clients")
	gauge := prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: "Open sockets."})
	a.MustRegister(gauge)
	if names := gather(t, a); !slices.Contains(names, "harness_ws_clients") || !slices.Contains(names, "go_goroutines") ||
		!slices.Contains(names, "process_open_fds") {
		t.Errorf("first registry has %q", names)
	}
	if names := gather(t, b); slices.Contains(names, name) {
		t.Error("two registries share a metric")
	}
}

func gather(t *testing.T, r *prometheus.Registry) []string {
	t.Helper()
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range families {
		names = append(names, f.GetName())
	}
	return names
}
