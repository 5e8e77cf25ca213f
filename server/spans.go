package server

import (
	"context"
	"time"

	"harness/internal/lib/version"
	"harness/internal/platform/config"
	"harness/internal/platform/telemetry/otlp"
	"harness/internal/runtime/stdio"
	"harness/internal/services/tracing"
)

// startSpans starts to export spans, if that is enabled.
func (s *Server) startSpans(ctx context.Context) error {
	set := s.cfg.Traces
	if !set.On {
		return nil
	}
	var err error
	s.exporter, err = otlp.New(otlp.Options{
		Endpoint: set.Endpoint, TracesEndpoint: set.TracesEndpoint, Headers: set.Headers, Protocol: set.Protocol,
		ServiceName: set.ServiceName, Resource: set.Resource, Sampler: set.Sampler, SamplerArg: set.SamplerArg,
		Version: version.Program(), Instance: s.dir.NodeID, Exported: s.metrics.Spans.Exported, Failed: s.metrics.Spans.Failed,
		Logger: s.log.With().Str("package", "otlp").Logger(),
	})
	if err != nil {
		return &config.UsageError{Err: err}
	}
	s.spans = tracing.New(s.exporter.Record, s.traceOf)
	return s.spans.Start(ctx)
}

// stopSpans sends the remaining spans. A collector that does not accept them in time is no failure of this server: it
// gets half of the time that this part has to stop.
func (s *Server) stopSpans(ctx context.Context) error {
	err := s.spans.Stop(ctx)
	if s.exporter != nil {
		end, _ := ctx.Deadline() // every part has a time limit to stop
		bounded, cancel := context.WithTimeout(ctx, time.Until(end)/2)
		defer cancel()
		if lost := s.exporter.Stop(bounded); lost != nil {
			s.log.Warn().Err(lost).Msg("the collector did not take the last spans; they are dropped")
		}
	}
	return err
}

// runtimeCalled observes the calls of a runtime.
func (s *runtimes) runtimeCalled(name string) stdio.Called {
	took := s.metrics.Calls.Took.WithLabelValues(name)
	return func(ctx context.Context, method string, lasted time.Duration, err error) {
		took.Observe(lasted.Seconds())
		s.spans.Called(ctx, name, method, lasted, err)
	}
}
