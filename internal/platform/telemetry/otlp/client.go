package otlp

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	sdk "go.opentelemetry.io/otel/sdk/trace"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

const (
	// requestTimeout bounds one request, as the specification requires.
	requestTimeout = 10 * time.Second
	// firstPause is the pause before the second attempt; each further pause is twice as long.
	firstPause = time.Second
	// maxAnswer is how much of an answer is read, so that its connection can be used again.
	maxAnswer = 64 << 10
)

// client is an otlptrace.Client. The official one (otlptracehttp) depends on gRPC, which costs memory in each runtime's
// shim, since a shim is the same program.
type client struct {
	url     string
	headers map[string]string
	http    *http.Client
	// Stop cancels ended by calling cut.
	ended context.Context //nolint:containedctx // uploads have contexts of the SDK's, which know no end of ours
	cut   context.CancelFunc
}

func newClient(o Options) (*client, error) {
	if o.Protocol != "" && o.Protocol != onlyProtocol {
		return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_PROTOCOL is %q; this server speaks %s (port 4318 of a collector)",
			o.Protocol, onlyProtocol)
	}
	target, err := o.target()
	if err != nil {
		return nil, err
	}
	headers, err := pairs("OTEL_EXPORTER_OTLP_HEADERS", o.Headers)
	if err != nil {
		return nil, err
	}
	c := &client{url: target.String(), headers: headers,
		http: &http.Client{Transport: http.DefaultTransport.(*http.Transport).Clone(), Timeout: requestTimeout}}
	c.ended, c.cut = context.WithCancel(context.Background())
	return c, nil
}

// Start implements otlptrace.Client.
func (*client) Start(context.Context) error { return nil }

// Stop implements otlptrace.Client.
func (c *client) Stop(context.Context) error {
	c.http.CloseIdleConnections()
	return nil
}

// UploadTraces implements otlptrace.Client. While ctx lasts, it retries if a collector may accept the same spans later.
func (c *client) UploadTraces(ctx context.Context, spans []*tracepb.ResourceSpans) error {
	// On the wire, an export request is identical to TracesData.
	plain, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: spans})
	if err != nil {
		return fmt.Errorf("encode spans: %w", err)
	}
	var body bytes.Buffer
	packed := gzip.NewWriter(&body)
	if _, err := packed.Write(plain); err != nil {
		return err
	}
	if err := packed.Close(); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.ended, cancel)()
	for pause := firstPause; ; pause *= 2 {
		again, err := c.send(ctx, body.Bytes())
		if err == nil || !again || ctx.Err() != nil {
			return err
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return err
		}
	}
}

// send makes one request; again reports whether the same one may be accepted later.
func (c *client) send(ctx context.Context, body []byte) (again bool, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return false, err
	}
	for name, value := range c.headers {
		request.Header.Set(name, value)
	}
	request.Header.Set("Content-Type", "application/x-protobuf")
	request.Header.Set("Content-Encoding", "gzip")
	answer, err := c.http.Do(request)
	if err != nil {
		return true, err
	}
	defer func() { _ = answer.Body.Close() }()
	_, _ = io.CopyN(io.Discard, answer.Body, maxAnswer) // the status is sufficient
	switch answer.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		again = true
	}
	if answer.StatusCode/100 != 2 {
		err = fmt.Errorf("the collector answered %s", answer.Status)
	}
	return again, err
}

// watched reports exports; the SDK would write to standard error, past the log.
type watched struct {
	sdk.SpanExporter
	options Options
	failing atomic.Bool
}

// ExportSpans implements sdk.SpanExporter.
func (w *watched) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	err := w.SpanExporter.ExportSpans(ctx, spans)
	count, line := w.options.Exported, w.options.Logger.Info()
	if err != nil {
		count, line = w.options.Failed, w.options.Logger.Warn().Err(err)
	}
	if count != nil {
		count(len(spans))
	}
	// Once per change: a collector may be unavailable for days.
	switch was := w.failing.Swap(err != nil); {
	case err != nil && !was:
		line.Msg("collector rejects spans; dropping them until it accepts again")
	case err == nil && was:
		line.Msg("collector accepts spans again")
	}
	return nil
}
