package transcripts

import (
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"harness/tests/programtest"
)

// longLineClaude is a Claude Code whose tool returns LONG_BYTES in every turn.
const longLineClaude = `#!/bin/sh
while IFS= read -r line; do
	case "$line" in
	*'"control_request"'*)
		id=$(printf '%s' "$line" | sed -n 's/.*"request_id":"\([0-9]*\)".*/\1/p')
		echo '{"type":"control_response","response":{"subtype":"success","request_id":"'$id'","response":{}}}' ;;
	*'"type":"user"'*)
		turn=$(printf '%s' "$line" | sed -n 's/.*"uuid":"\([^"]*\)".*/\1/p')
		echo '{"type":"command_lifecycle","command_uuid":"'$turn'","state":"queued"}'
		echo '{"type":"command_lifecycle","command_uuid":"'$turn'","state":"started"}'
		echo '{"type":"assistant","message":{"id":"m","content":[{"type":"tool_use","id":"c'$turn'","name":"Bash","input":{"command":"yes"}}]}}'
		printf '{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"c'$turn'","content":"'
		yes 'said \"\\n\"\n' | tr -d '\n' | head -c "$((LONG_BYTES / 14 * 14))"
		echo '"}]}}'
		echo '{"type":"result","subtype":"success","terminal_reason":"completed","user_message_uuids":["'$turn'"]}' ;;
	esac
done
`

// translatedLineCost is the maximum memory of a translated line until it is stored, as a multiple of its size. The
// line is in memory in its original and in its translated form (internal/runtime/claude: TestALongLineIsHeldTwice).
// The overhead of storage and the collector does not grow with the line. storeExtra (MiB) leaves room for that
// overhead, but not for another copy.
const translatedLineCost, storeExtra = 2, 64

// The server processes and stores a long line of an agent with a translated vocabulary at a bounded cost, also after
// another one.
func TestALongTranslatedLineIsStoredAtABoundedCost(t *testing.T) {
	t.Parallel()
	const mib = 64
	script := filepath.Join(t.TempDir(), "claude")
	if err := os.WriteFile(script, []byte(strings.ReplaceAll(longLineClaude, "LONG_BYTES", strconv.Itoa(mib<<20))), 0o755); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	s := programtest.New(t, programtest.WithEnv("HARNESS_RUNTIMES=codex,claude", "CLAUDE_BIN="+script))
	server := s.Start()
	session := server.ClaudeSession()
	pid := server.Cmd.Process.Pid
	for turn := range 2 {
		forgetPeak(t, pid)
		before := peakKiB(t, pid)
		server.Want(http.StatusAccepted, http.MethodPost, "/api/sessions/"+session+"/messages", programtest.Object{"text": "go"})
		server.Eventually("the line is stored", func() bool {
			// It is read before the later lines.
			kept, _ := filepath.Glob(filepath.Join(s.DataDir, "native", session+"*")) // the pattern is valid
			for _, file := range kept {
				lines, err := os.ReadFile(file)
				if err == nil && strings.Count(string(lines), `"omittedBytes":`) > turn &&
					strings.Count(string(lines), `"type":"result"`) > turn {
					return true
				}
			}
			return false
		})
		cost := peakKiB(t, pid) - before
		t.Logf("a line of %d MiB costs %d MiB", mib, cost>>10)
		if cost > (translatedLineCost*mib+storeExtra)<<10 && !s.Detecting {
			t.Errorf("a line of %d MiB costs %d MiB", mib, cost>>10)
		}
	}
}
