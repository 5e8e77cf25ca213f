package tasks_test

import (
	"bytes"
	"strings"
	"testing"

	"harness/internal/platform/journal"
	"harness/internal/services/tasks"
)

// A command that outlives a completed turn has not failed: its call reports that it is still running. A command of an
// interrupted turn has failed.
func TestACommandThatOutlivesItsTurn(t *testing.T) {
	t.Parallel()
	const lines = `{"method":"turn/started","params":{"threadId":"s","turn":{"id":"t","items":[],"status":"inProgress"}}}
{"method":"item/started","params":{"threadId":"s","turnId":"t","item":{"type":"commandExecution","id":"c","command":"sleep 60"}}}
{"method":"turn/completed","params":{"threadId":"s","turn":{"id":"t","items":[],"status":"STATUS"}}}`
	for status, goesOn := range map[string]bool{"completed": true, "interrupted": false} {
		var records []journal.Record
		for line := range bytes.Lines([]byte(strings.ReplaceAll(lines, "STATUS", status))) {
			if one, ok := record(line, int64(len(records)+1)); ok {
				records = append(records, one)
			}
		}
		var all []string
		for _, e := range tasks.Events(tasks.About{SessionID: "s", Runtime: "codex", CreatedAt: 1}, records) {
			all = append(all, e.Type+" "+string(e.Payload))
		}
		said := strings.Join(all, "\n")
		if strings.Contains(said, "goes on in the background") != goesOn || strings.Contains(said, tasks.CallCompleted) != goesOn ||
			strings.Contains(said, tasks.CallDenied) == goesOn || strings.Contains(said, `"is_error":true`) {
			t.Errorf("of a turn that was %s: %s", status, said)
		}
	}
}
