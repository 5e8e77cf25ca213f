package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"

	"harness/database"
	"harness/internal/dbtest"
)

// longLineCodex is a codex that says LONG_LINES lines of LONG_BYTES when it is asked for its models: of a method nobody knows, or with
// LONG_ITEMS the ends of commands, whose output it is.
const longLineCodex = `#!/bin/sh
while IFS= read -r line; do
	id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
	case "$line" in
	*'"initialize"'*) echo '{"id":'$id',"result":{"userAgent":"harness/0.999.0 (fake)"}}' ;;
	*'"model/list"'*)
		for n in $(seq "$LONG_LINES"); do
			if [ -n "$LONG_ITEMS" ]; then
				printf '{"method":"item/completed","params":{"threadId":"'$LONG_ITEMS'","turnId":"t","item":{"type":"commandExecution","id":"c'$n'",'
				printf '"command":"yes","status":"completed","aggregatedOutput":"'
				yes 'said \"\\n\"\n' | tr -d '\n' | head -c "$((LONG_BYTES / 14 * 14))"
				printf '"}}}\n'
			else
				printf '{"method":"huge/line","params":{"text":"'
				head -c "$LONG_BYTES" /dev/zero | tr '\0' h
				printf '"}}\n'
			fi
		done
		echo '{"id":'$id',"result":{"data":[],"nextCursor":null}}' ;;
	*'"id"'*) echo '{"id":'$id',"result":{"data":[],"nextCursor":null}}' ;;
	esac
done
`

// peakKiB is the most memory a process had resident since forgetPeak.
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

// forgetPeak makes the memory a process has resident now its peak.
func forgetPeak(t *testing.T, pid int) {
	t.Helper()
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0); err != nil {
		t.Fatal(err)
	}
}

// longLineCost is how many times its size a line may cost until it is stored. To read it costs once (runtime/codex), to store it next to
// nothing (journal: parts).
const longLineCost = 2

// A line of 64 MiB is taken in and stored at a bounded cost, on either engine; also one that the transcript shows.
func TestALongLineIsStoredAtABoundedCost(t *testing.T) {
	t.Parallel()
	for _, engine := range dbtest.Engines() {
		for _, lines := range []int{1, 4} {
			t.Run(fmt.Sprintf("%s/%d", engine, lines), func(t *testing.T) { storeLongLines(t, engine, lines, "") })
		}
		t.Run(string(engine)+"/item", func(t *testing.T) { storeLongLines(t, engine, 1, uuid.NewString()) })
	}
}

// storeLongLines has a codex say long lines, which are items of a session when one is named.
func storeLongLines(t *testing.T, engine database.Engine, lines int, session string) {
	t.Helper()
	mib, bound := 64, longLineCost
	s := newSite(t, withEngine(engine))
	if s.detecting {
		// Every byte takes longer, and its bookkeeping is resident, too.
		mib, lines, bound = 24, min(lines, 2), 3*longLineCost
	}
	s.env = append(s.env, "LONG_LINES="+strconv.Itoa(lines), "LONG_BYTES="+strconv.Itoa(mib<<20), "LONG_ITEMS="+session)
	script := filepath.Join(s.workspace, "codex")
	if err := os.WriteFile(script, []byte(longLineCodex), 0o755); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	server := s.start("CODEX_BIN=" + script)
	server.waitRuntime()
	forgetPeak(t, server.cmd.Process.Pid)
	before := peakKiB(t, server.cmd.Process.Pid)
	events := server.metric("harness_journal_events_total")
	server.want(http.StatusOK, http.MethodGet, "/api/models", nil)
	server.eventually("the lines are stored", func() bool { return server.metric("harness_journal_events_total") >= events+float64(lines) })
	cost := peakKiB(t, server.cmd.Process.Pid) - before
	t.Logf("%d lines of %d MiB cost %d MiB", lines, mib, cost>>10)
	if cost > bound*mib<<10 {
		t.Errorf("%d lines of %d MiB cost %d MiB, more than %d times the size of one", lines, mib, cost>>10, bound)
	}
}
