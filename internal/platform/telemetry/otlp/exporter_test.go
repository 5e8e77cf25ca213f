package otlp_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"go.opentelemetry.io/otel/attribute"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"harness/internal/platform/telemetry/otlp"
)

const (
	traceID  = "4bf92f3577b34da6a3ce929d0e0e4736"
	spanID   = "00f067aa0ba902b7"
	parentID = "b7ad6b7169203331"
)

func span() otlp.Span {
	at := time.UnixMilli(1_700_000_000_000)
	return otlp.Span{Name: "turn", TraceID: traceID, SpanID: spanID, Parent: parentID, Start: at, End: at.Add(time.Second),
		Failed: "RUNTIME_ERROR", Attributes: []attribute.KeyValue{attribute.String("harness.turn.id", "t")}}
}

// collector accepts spans like a collector.
type collector struct {
	*httptest.Server
	took chan *tracepb.TracesData
	seen chan http.Header
}

func newCollector(t *testing.T, refuse int) *collector {
	t.Helper()
	c := &collector{took: make(chan *tracepb.TracesData, 100), seen: make(chan http.Header, 100)}
	var mu sync.Mutex
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if refuse > 0 {
			refuse--
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		packed, err := gzip.NewReader(r.Body)
		if err != nil || r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/x-protobuf" {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		body, err := io.ReadAll(packed)
		data := &tracepb.TracesData{}
		if err = errors.Join(err, proto.Unmarshal(body, data)); err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		c.seen <- r.Header
		c.took <- data
	}))
	t.Cleanup(c.Close)
	return c
}

// A span arrives at a collector unchanged, with its ids, the headers and the server's attributes. The export is retried
// while a collector temporarily refuses.
func TestSpansComeToACollector(t *testing.T) {
	t.Parallel()
	for name, refused := range map[string]int{"at once": 0, "the second time": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCollector(t, refused)
			sent := make(chan int, 1)
			e, err := otlp.New(otlp.Options{Endpoint: c.URL, Headers: "authorization=Bearer%20given", Resource: "team=a%2Cb",
				Version: "1.2", Instance: "node", Delay: time.Millisecond, Exported: func(n int) { sent <- n }})
			if err != nil {
				t.Fatal(err)
			}
			e.Record(otlp.Span{Name: "of no trace", SpanID: spanID})
			e.Record(span())
			data, header := <-c.took, <-c.seen
			if n := <-sent; n != 1 || header.Get("Authorization") != "Bearer given" {
				t.Errorf("%d spans were sent, with %v", n, header)
			}
			if err := e.Stop(t.Context()); err != nil {
				t.Error(err)
			}
			about := map[string]string{}
			for _, pair := range data.ResourceSpans[0].Resource.Attributes {
				about[pair.Key] = pair.Value.GetStringValue()
			}
			if about["service.name"] != "harness" || about["service.version"] != "1.2" || about["team"] != "a,b" ||
				about["service.instance.id"] != "node" {
				t.Errorf("it is said of the server: %v", about)
			}
			got := data.ResourceSpans[0].ScopeSpans[0].Spans[0]
			want := span()
			if hex.EncodeToString(got.TraceId) != traceID || hex.EncodeToString(got.SpanId) != spanID ||
				hex.EncodeToString(got.ParentSpanId) != parentID || got.Name != want.Name || got.StartTimeUnixNano != uint64(want.Start.UnixNano()) ||
				got.EndTimeUnixNano != uint64(want.End.UnixNano()) || got.Status.Message != "RUNTIME_ERROR" ||
				got.Attributes[0].Value.GetStringValue() != "t" {
				t.Errorf("it took %v", got)
			}
		})
	}
}

// If a collector never answers, or does not exist, no caller waits, even at the end, and the log reports it once.
func TestCollectorBlocksNoCaller(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{}, 1000)
	let := make(chan struct{})
	hanging := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		asked <- struct{}{}
		<-let
	}))
	t.Cleanup(hanging.Close)
	t.Cleanup(func() { close(let) })
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	for name, url := range map[string]string{"hanging": hanging.URL, "gone": gone.URL} {
		failed := make(chan int, 1000)
		var log bytes.Buffer
		e, err := otlp.New(otlp.Options{Endpoint: url, Delay: time.Millisecond, Failed: func(n int) { failed <- n },
			Logger: zerolog.New(&log)})
		if err != nil {
			t.Fatal(err)
		}
		for range 20_000 { // ten times the capacity of the queue
			e.Record(span())
		}
		if url == hanging.URL {
			<-asked // the request is in progress, and does not return
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if err := e.Stop(ended); err == nil {
			t.Errorf("%s: all was sent to no collector", name)
		}
		if n := <-failed; n == 0 {
			t.Errorf("%s: there is no report of what was lost", name)
		}
	}
}

// An invalid setting is reported at the start, without its value where that may be a secret.
func TestSettingsAreChecked(t *testing.T) {
	t.Parallel()
	for _, one := range []struct {
		options otlp.Options
		says    string
	}{
		{otlp.Options{}, ""},
		{otlp.Options{TracesEndpoint: "https://h/any", Endpoint: "nonsense", Sampler: "parentbased_traceidratio", SamplerArg: "0.1"}, ""},
		{otlp.Options{Endpoint: "h:4318/secret"}, "OTEL_EXPORTER_OTLP_ENDPOINT"},
		{otlp.Options{TracesEndpoint: "ftp://secret@h"}, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"},
		{otlp.Options{Headers: "secret"}, "OTEL_EXPORTER_OTLP_HEADERS"},
		{otlp.Options{Protocol: "grpc"}, "http/protobuf"},
		{otlp.Options{Resource: "a=%zz"}, "OTEL_RESOURCE_ATTRIBUTES"},
		{otlp.Options{Sampler: "sometimes"}, "traceidratio"},
		{otlp.Options{Sampler: "traceidratio", SamplerArg: "2"}, "from 0 to 1"},
	} {
		e, err := otlp.New(one.options)
		if err == nil {
			err = errors.Join(nil, e.Stop(t.Context()))
		}
		if (err == nil) != (one.says == "") || err != nil && (!strings.Contains(err.Error(), one.says) ||
			strings.Contains(err.Error(), "secret")) {
			t.Errorf("%+v: %v, want %q", one.options, err, one.says)
		}
	}
}

// A trace is sent as a whole or not sent.
func TestTracesAreSampled(t *testing.T) {
	t.Parallel()
	c := newCollector(t, 0)
	e, err := otlp.New(otlp.Options{Endpoint: c.URL, Sampler: "parentbased_traceidratio", SamplerArg: "0.5"})
	if err != nil {
		t.Fatal(err)
	}
	for _, trace := range []string{strings.Repeat("0", 31) + "1", strings.Repeat("f", 32)} { // below and above the ratio
		for _, parent := range []string{"", parentID} {
			e.Record(otlp.Span{Name: trace[:1], TraceID: trace, SpanID: spanID, Parent: parent})
		}
	}
	if err := e.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	sent := (<-c.took).ResourceSpans[0].ScopeSpans[0].Spans
	if len(sent) != 2 || sent[0].Name != "0" || sent[1].Name != "0" {
		t.Errorf("sent were %v", sent)
	}
}
