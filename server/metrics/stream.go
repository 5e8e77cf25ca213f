package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"harness/internal/platform/telemetry"
	"harness/stream"
)

// Stream counts the followers of the stream, the events they get, and why some get fewer or none.
type Stream struct {
	connections prometheus.Gauge
	frames      prometheus.Counter
	bytes       prometheus.Counter
	skipped     prometheus.Counter

	// By reason.
	catchUps      *prometheus.CounterVec
	gaps          *prometheus.CounterVec
	slowConsumers *prometheus.CounterVec
	closed        *prometheus.CounterVec
	refused       *prometheus.CounterVec
}

func newStreamMetrics(registry prometheus.Registerer) Stream {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: telemetry.MetricName("ws", name), Help: help})
	}
	// Each counter starts at zero, so that its first increment is visible.
	byReason := func(name, help string, reasons ...string) *prometheus.CounterVec {
		counter := prometheus.NewCounterVec(prometheus.CounterOpts{Name: telemetry.MetricName("ws", name), Help: help},
			[]string{"reason"})
		for _, reason := range reasons {
			counter.WithLabelValues(reason)
		}
		return counter
	}
	m := Stream{
		connections: prometheus.NewGauge(prometheus.GaugeOpts{Name: telemetry.MetricName("ws", "connections"),
			Help: "Open stream connections."}),
		frames: counter("frames_total", "Frames written to stream connections."),
		bytes:  counter("sent_bytes_total", "Bytes of frames written to stream connections."),
		skipped: counter("skipped_frames_total",
			"Replaceable frames that slow connections without positions did not get."),
		catchUps: byReason("catch_ups_total", "Connections that were switched to reading the journal.", "resume", "overflow"),
		gaps: byReason("gaps_total", "Gap frames: connections that were notified that they miss something.", "resume",
			"pruned", "skipped"),
		slowConsumers: byReason("slow_consumers_total", "Connections closed because they did not read.", "stalled", "pruned"),
		closed: byReason("closed_total", "Connections closed for what their peer sent or left undone.", "rate",
			"unfinished", "too_big", "memory", "protocol", "filter_changes", "no_pong", "withdrawn"),
		refused: byReason("refused_total", "Handshakes refused at a limit or for their origin.", "connections", "address"),
	}
	registry.MustRegister(m.connections, m.frames, m.bytes, m.skipped, m.catchUps, m.gaps, m.slowConsumers,
		m.closed, m.refused)
	return m
}

// Options returns the metrics of a stream; it calls joined for each new connection.
func (m Stream) Options(joined func()) stream.Metrics {
	count := func(counter *prometheus.CounterVec) func(string) {
		return func(reason string) { counter.WithLabelValues(reason).Inc() }
	}
	return stream.Metrics{
		Connections: func(delta int) {
			m.connections.Add(float64(delta))
			if delta > 0 {
				joined()
			}
		},
		Sent:    func(frames, bytes int) { m.frames.Add(float64(frames)); m.bytes.Add(float64(bytes)) },
		Skipped: func(frames int) { m.skipped.Add(float64(frames)) },
		CatchUp: count(m.catchUps), Gap: count(m.gaps), SlowConsumer: count(m.slowConsumers), Closed: count(m.closed),
		Refused: count(m.refused),
	}
}
