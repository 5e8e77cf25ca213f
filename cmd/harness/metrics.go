package main

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"harness/stream"
	"harness/telemetry"
)

// metrics are the process's own; rooms report through plain functions and know no metrics library.
type metrics struct {
	registry *prometheus.Registry

	journalEvents prometheus.Counter
	journalBatch  prometheus.Histogram
	journalCommit prometheus.Histogram

	sockets       prometheus.Gauge
	frames        prometheus.Counter
	frameBytes    prometheus.Counter
	catchUps      *prometheus.CounterVec
	slowConsumers *prometheus.CounterVec
}

func newMetrics() *metrics {
	m := &metrics{
		registry:      telemetry.NewRegistry(),
		journalEvents: prometheus.NewCounter(prometheus.CounterOpts{Name: telemetry.MetricName("journal", "events_total"), Help: "Events committed by this process."}),
		journalBatch: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: telemetry.MetricName("journal", "batch_units"), Help: "Units per committed batch.", Buckets: []float64{1, 2, 4, 8, 16, 32, 64},
		}),
		journalCommit: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: telemetry.MetricName("journal", "commit_seconds"), Help: "Time from the start of a batch until its subscribers were told.",
			Buckets: prometheus.ExponentialBuckets(0.0002, 2.5, 12),
		}),
		sockets:    prometheus.NewGauge(prometheus.GaugeOpts{Name: telemetry.MetricName("ws", "connections"), Help: "Open stream connections."}),
		frames:     prometheus.NewCounter(prometheus.CounterOpts{Name: telemetry.MetricName("ws", "frames_total"), Help: "Frames written to stream connections."}),
		frameBytes: prometheus.NewCounter(prometheus.CounterOpts{Name: telemetry.MetricName("ws", "sent_bytes_total"), Help: "Bytes of frames written to stream connections."}),
		catchUps: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: telemetry.MetricName("ws", "catch_ups_total"), Help: "Connections that were switched to reading the journal.",
		}, []string{"reason"}),
		slowConsumers: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: telemetry.MetricName("ws", "slow_consumers_total"), Help: "Connections closed because they did not read.",
		}, []string{"reason"}),
	}
	m.registry.MustRegister(m.journalEvents, m.journalBatch, m.journalCommit, m.sockets, m.frames, m.frameBytes, m.catchUps, m.slowConsumers)
	return m
}

func (m *metrics) observeBatch(units, events int, took time.Duration) {
	m.journalBatch.Observe(float64(units))
	m.journalEvents.Add(float64(events))
	m.journalCommit.Observe(took.Seconds())
}

func (m *metrics) stream() stream.Metrics {
	return stream.Metrics{
		Connections:  func(delta int) { m.sockets.Add(float64(delta)) },
		Sent:         func(frames, bytes int) { m.frames.Add(float64(frames)); m.frameBytes.Add(float64(bytes)) },
		CatchUp:      func(reason string) { m.catchUps.WithLabelValues(reason).Inc() },
		SlowConsumer: func(reason string) { m.slowConsumers.WithLabelValues(reason).Inc() },
	}
}
