package tracing_test

import (
	"strings"
	"testing"

	"harness/tests/programtest"
)

// OB-12, OB-13, OB-14: all metrics exist from the start, at zero, without an id as a label.
func TestMetricsAreThereAtZero(t *testing.T) {
	t.Parallel()
	text := programtest.New(t, programtest.WithoutAgent(), programtest.WithEnv("HARNESS_TOOLS=workspace.read")).Start().Metrics()
	for _, line := range []string{
		`harness_sessions_active{runtime="codex"} 0`, // sessions and tasks
		`harness_tasks_open{state="queued"} 0`, `harness_tasks_open{state="running"} 0`,
		`harness_task_seconds_count{outcome="failed"} 0`,
		`harness_runtime_call_seconds_count{runtime="codex"} 0`, // runtimes and tools
		`harness_runtime_turn_seconds_count{runtime="codex"} 0`, `harness_runtime_waiting 0`,
		`harness_tool_seconds_count{class="dangerous"} 0`, `harness_tool_calls_total{class="network",outcome="failed"} 0`,
		`harness_queue_jobs{state="queued"} 0`, `harness_approvals_pending 0`, // waiting, and dropped
		`harness_tasks_overflows_total 0`, `harness_ws_skipped_frames_total 0`,
		`harness_ws_slow_consumers_total{reason="stalled"} 0`, `harness_ws_gaps_total{reason="pruned"} 0`,
		`harness_otel_spans_total{outcome="failed"} 0`,
	} {
		if !strings.Contains(text, "\n"+line+"\n") {
			t.Errorf("there is no %s", line)
		}
	}
	for line := range strings.Lines(text) {
		for _, label := range []string{"session_id", "session=", "turn_id", "task_id", "node="} {
			if strings.HasPrefix(line, "harness_") && strings.Contains(line, label) {
				t.Errorf("an id is a label: %s", line)
			}
		}
	}
}
