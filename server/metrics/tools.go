package metrics

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"harness/internal/platform/telemetry"
	"harness/internal/services/tasks"
	"harness/internal/services/tools"
	"harness/internal/services/tracing"
)

// Work counts the outcomes of tasks, and of calls of the server's tools, in this process.
type Work struct {
	tasks, runs *prometheus.HistogramVec
	calls       *prometheus.CounterVec
	Overflows   prometheus.Counter
}

// The results of a call.
const (
	callCompleted = "completed"
	callFailed    = "failed"
	callDenied    = "denied"
)

// unknownClass is the class of a tool that is not one of the server's.
const unknownClass = "unknown"

func newWorkMetrics(registry prometheus.Registerer) Work {
	histogram := func(subsystem, help, label string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: telemetry.MetricName(subsystem, "seconds"),
			Help: help, Buckets: workSeconds()}, []string{label})
	}
	m := Work{
		tasks: histogram("task", "How long tasks took that this server ended, since they were asked for.", "outcome"),
		runs:  histogram("tool", "How long calls of the server's tools ran.", "class"),
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{Name: telemetry.MetricName("tool", "calls_total"),
			Help: "Calls of the server's tools that are over, by what became of them."}, []string{"class", "outcome"}),
		Overflows: prometheus.NewCounter(prometheus.CounterOpts{Name: telemetry.MetricName("tasks", "overflows_total"),
			Help: "Streams of the task API that were ended because their readers fell behind."}),
	}
	for _, status := range []tasks.Status{tasks.Completed, tasks.Failed, tasks.Stopped} {
		m.tasks.WithLabelValues(string(status))
	}
	for _, class := range tools.Classes() {
		m.runs.WithLabelValues(string(class))
		for _, outcome := range []string{callCompleted, callFailed, callDenied} {
			m.calls.WithLabelValues(string(class), outcome)
		}
	}
	registry.MustRegister(m.tasks, m.runs, m.calls, m.Overflows)
	return m
}

// TaskEnded records the duration of a task.
func (m Work) TaskEnded(e tasks.Ended) {
	m.tasks.WithLabelValues(string(e.Status)).Observe(e.At.Sub(e.Asked).Seconds())
}

// CountedCalls counts recorded calls.
type CountedCalls struct {
	tools.Recorder
	metrics  Work
	registry *tools.Registry
	spans    *tracing.Tracer
}

// CountCalls counts the calls that next records and exports a span for each that ran.
func (m Work) CountCalls(next tools.Recorder, registry *tools.Registry, spans *tracing.Tracer) CountedCalls {
	return CountedCalls{next, m, registry, spans}
}

// Record implements tools.Recorder.
func (c CountedCalls) Record(ctx context.Context, call tools.Call, events ...tools.Event) error {
	if err := c.Recorder.Record(ctx, call, events...); err != nil {
		return err
	}
	class := unknownClass
	if tool, known := c.registry.Find(call.Tool); known {
		class = string(tool.Class)
	}
	for _, event := range events {
		switch event := event.(type) {
		case tools.Denied:
			c.metrics.calls.WithLabelValues(class, callDenied).Inc()
		case tools.Completed:
			outcome := callCompleted
			if event.IsError {
				outcome = callFailed
			}
			c.metrics.calls.WithLabelValues(class, outcome).Inc()
			c.spans.ToolEnded(call, class, event)
			c.metrics.runs.WithLabelValues(class).Observe((time.Duration(event.DurationMS) * time.Millisecond).Seconds())
		}
	}
	return nil
}
