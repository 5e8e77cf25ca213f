package server

import (
	"cmp"
	"context"
	"strings"
	"time"

	"harness/internal/lib/version"
	"harness/internal/platform/config"
	"harness/internal/platform/telemetry/otlp"
	"harness/internal/runtime/acp"
	"harness/internal/runtime/claude"
	"harness/internal/runtime/codex"
	"harness/internal/runtime/opencode"
	"harness/internal/runtime/stdio"
	"harness/internal/services/tracing"
	"harness/server/metrics"
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
	if set.GenAI == config.GenAI {
		s.spans.WithGenAI(tracing.GenAI{Provider: providerOf, Model: s.modelOf,
			Measured: metrics.NewGenAI(s.metrics.Registry).Measured})
	}
	return s.spans.Start(ctx)
}

// modelOf returns the model that a session requests, "" if that is its runtime's default or unknown.
func (s *core) modelOf(sessionID string) string {
	sessions := s.traced.Load()
	if sessions == nil {
		return ""
	}
	found, err := sessions.Reader.Stored(context.Background(), sessionID)
	if err != nil {
		return "" // deleted since
	}
	return found.Controls.ModelName()
}

// providerOf returns the name of a runtime's provider in the registry of the semantic conventions. The models of a
// runtime with many providers begin with the provider's name.
func providerOf(runtime, model string) string {
	known := map[string]string{
		codex.Name: "openai", acp.CodexBridge().Name: "openai", claude.Name: "anthropic", acp.ClaudeBridge().Name: "anthropic",
		acp.Gemini().Name: "gcp.gemini",
		"openai":          "openai", "anthropic": "anthropic", "google": "gcp.gemini", "google-vertex": "gcp.vertex_ai",
		"amazon-bedrock": "aws.bedrock", "azure": "azure.ai.openai", "mistral": "mistral_ai", "xai": "x_ai",
	}
	name := runtime
	if provider, _, found := strings.Cut(model, "/"); found && (runtime == opencode.Name || runtime == acp.OpenCode().Name) {
		name = provider
	}
	return cmp.Or(known[name], name)
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
			s.log.Warn().Err(lost).Msg("collector rejected the last spans; dropped")
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
