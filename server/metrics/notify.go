package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"harness/internal/platform/telemetry"
	"harness/internal/services/notify"
)

// Notify counts the outcomes of notifications.
type Notify struct{ total *prometheus.CounterVec }

func newNotifyMetrics(registry prometheus.Registerer) Notify {
	m := Notify{prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: telemetry.MetricName("notify", "messages_total"),
		Help: "Notifications that a target took (delivered), attempts that failed, and messages that were dropped: a day old, or too many.",
	}, []string{"target", "outcome"})}
	for _, target := range []string{notify.Webhook, notify.Ntfy, notify.PushName} {
		for _, outcome := range []notify.Outcome{notify.Delivered, notify.Failed, notify.Dropped} {
			m.total.WithLabelValues(target, string(outcome))
		}
	}
	registry.MustRegister(m.total)
	return m
}

// Ended counts a notification by its target and outcome.
func (m Notify) Ended(target string, outcome notify.Outcome) {
	m.total.WithLabelValues(target, string(outcome)).Inc()
}
