package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// longLineCodex is a codex that says one line of 64 MiB when it is asked for its models.
const longLineCodex = `#!/bin/sh
while IFS= read -r line; do
	id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
	case "$line" in
	*'"initialize"'*) echo '{"id":'$id',"result":{"userAgent":"harness/0.999.0 (fake)"}}' ;;
	*'"model/list"'*)
		printf '{"method":"huge/line","params":{"text":"'
		head -c 67108864 /dev/zero | tr '\0' h
		printf '"}}\n{"id":%s,"result":{"data":[],"nextCursor":null}}\n' $id ;;
	*'"id"'*) echo '{"id":'$id',"result":{"data":[],"nextCursor":null}}' ;;
	esac
done
`

// peakKiB is the most memory a process had resident so far.
func peakKiB(t *testing.T, pid int) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	kib, err := strconv.Atoi(strings.Fields(rest)[0])
	if err != nil {
		t.Fatal(err)
	}
	return kib
}

// longLineCost is how many times its size a line may cost until it is stored. To read it costs once (runtime/codex); SQLite binds a copy and
// builds its row of another one.
const longLineCost = 5

// A line of 64 MiB is taken in and stored at a bounded cost.
func TestALongLineIsStoredAtABoundedCost(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	script := filepath.Join(s.workspace, "codex")
	if err := os.WriteFile(script, []byte(longLineCodex), 0o755); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	server := s.start("CODEX_BIN=" + script)
	server.waitRuntime()
	before := peakKiB(t, server.cmd.Process.Pid)
	events := server.metric("harness_journal_events_total")
	server.want(http.StatusOK, http.MethodGet, "/api/models", nil)
	server.eventually("the line is stored", func() bool { return server.metric("harness_journal_events_total") > events })
	cost := peakKiB(t, server.cmd.Process.Pid) - before
	t.Logf("a line of 64 MiB cost %d MiB", cost>>10)
	bound := longLineCost
	if underRace {
		bound *= 2 // its bookkeeping is resident, too
	}
	if cost > bound*64<<10 {
		t.Errorf("a line of 64 MiB cost %d MiB", cost>>10)
	}
}
