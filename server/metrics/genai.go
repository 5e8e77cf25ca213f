package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"harness/internal/services/tracing"
)

// GenAI measures turns under the names of the semantic conventions for generative AI, as Prometheus writes these.
type GenAI struct{ took, tokens *prometheus.HistogramVec }

// NewGenAI registers the metrics; the conventions advise the buckets.
func NewGenAI(registry prometheus.Registerer) GenAI {
	labels := []string{"gen_ai_operation_name", "gen_ai_provider_name", "gen_ai_request_model", "gen_ai_response_model"}
	m := GenAI{
		prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "gen_ai_client_operation_duration_seconds",
			Help: "How long turns of this server took.", Buckets: prometheus.ExponentialBuckets(0.01, 2, 14)},
			append(labels, "error_type")),
		prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "gen_ai_client_token_usage",
			Help: "Tokens that turns of this server used.", Buckets: prometheus.ExponentialBuckets(1, 4, 14)},
			append(labels, "gen_ai_token_type")),
	}
	registry.MustRegister(m.took, m.tokens)
	return m
}

// Measured records a turn that ended.
func (m GenAI) Measured(t tracing.Turn) {
	m.took.WithLabelValues(tracing.OperationAgent, t.Provider, t.Model, t.ResponseModel, t.Error).Observe(t.Took.Seconds())
	if t.Used == nil {
		return
	}
	m.tokens.WithLabelValues(tracing.OperationAgent, t.Provider, t.Model, t.ResponseModel, "input").Observe(float64(t.Used.Input))
	m.tokens.WithLabelValues(tracing.OperationAgent, t.Provider, t.Model, t.ResponseModel, "output").Observe(float64(t.Used.Output))
}
