package metrics

import (
	"encoding/json"

	"github.com/prometheus/client_golang/prometheus"

	"harness/internal/platform/journal"
	"harness/internal/platform/telemetry"
	"harness/internal/runtime"
	"harness/internal/runtime/wire"
	"harness/stream"
)

// Turns counts how turns end in this process.
type Turns struct {
	ended *prometheus.CounterVec
	took  *prometheus.HistogramVec
}

// workSeconds returns buckets from a tenth of a second to a good hour.
func workSeconds() []float64 { return prometheus.ExponentialBuckets(0.1, 2.5, 12) }

func newTurnMetrics(registry prometheus.Registerer, runtimes []string) Turns {
	m := Turns{prometheus.NewCounterVec(prometheus.CounterOpts{Name: telemetry.MetricName("turns", "ended_total"),
		Help: "Turns of this server that ended, by how."}, []string{"outcome"}),
		prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: telemetry.MetricName("runtime", "turn_seconds"),
			Help:    "How long turns of this server took, as far as their runtimes say it.",
			Buckets: workSeconds()}, []string{"runtime"})}
	for _, name := range runtimes {
		m.took.WithLabelValues(name)
	}
	for _, outcome := range []runtime.TurnStatus{runtime.TurnDone, runtime.TurnFailed, runtime.TurnInterrupted} {
		m.ended.WithLabelValues(string(outcome))
	}
	registry.MustRegister(m.ended, m.took)
	return m
}

// OnRecords counts the ends of turns that this process stored. Records of other processes come without Known.
func (m Turns) OnRecords(records []journal.Record) {
	for i := range records {
		event := &records[i].Event
		meta, own := event.Known.(*stream.Meta)
		if !own || event.Type != stream.EventNotification {
			continue
		}
		line, ok := stream.LineOf(event, meta)
		if !ok || string(line.Method) != `"`+wire.MethodTurnCompleted+`"` {
			continue
		}
		var ended struct {
			Turn struct {
				Status     runtime.TurnStatus
				DurationMS *float64
			}
		}
		if json.Unmarshal(line.Params, &ended) != nil {
			continue // a line that cannot be decoded ends no turn
		}
		switch status := ended.Turn.Status; status {
		case runtime.TurnDone, runtime.TurnFailed, runtime.TurnInterrupted:
			m.ended.WithLabelValues(string(status)).Inc()
			if took := ended.Turn.DurationMS; took != nil {
				m.took.WithLabelValues(event.Source).Observe(*took / 1000)
			}
		}
	}
}
