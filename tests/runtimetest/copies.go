package runtimetest

import (
	"bytes"
	"encoding/json"
	goruntime "runtime"
	"testing"
	"time"
	"unsafe"

	"harness/internal/runtime"
	"harness/internal/runtime/stdio"
)

// LongText returns a text of 16 MiB, escaped as in a line, without its quotes.
func LongText() string { return string(bytes.Repeat([]byte(`said \"\\n\"\n`), 16<<20/14)) }

// readExtra is the limit of allocations for reading a line beyond its signals, in bytes: less than one more LongText.
const readExtra = 15 << 20

// CheckCopies fails when reading a line allocates more than one copy of its signals, or when the native line is
// another copy. fresh makes a reader that has read everything before the line. It counts all allocations, so no test
// may run in parallel. Remaining work of an earlier test sometimes adds to them, so the minimum of a few tries
// counts. It returns the meaning of the line.
func CheckCopies(t *testing.T, line []byte, fresh func() func(line []byte, at time.Time) (stdio.Line, error)) stdio.Line {
	t.Helper()
	said, cost := readCounted(t, line, fresh())
	for range copyTries {
		if cost <= becomes(said)+readExtra {
			break
		}
		if _, again := readCounted(t, line, fresh()); again < cost {
			cost = again
		}
	}
	made := becomes(said)
	for _, signal := range said.Signals {
		if !json.Valid(signal.Raw) {
			t.Errorf("it is no JSON: %.200s", signal.Raw)
		}
	}
	t.Logf("a line of %d MiB becomes %d MiB and allocates %d MiB", len(line)>>20, made>>20, cost>>20)
	if cost > made+readExtra {
		t.Errorf("a line of %d MiB that becomes %d MiB allocates %d MiB", len(line)>>20, made>>20, cost>>20)
	}
	if !within(line, said.Native) {
		t.Error("its native form is a copy")
	}
	for _, signal := range said.Signals {
		if change, asks := signal.Change.(runtime.InteractiveRequested); asks && len(change.Asked.Context) > runtime.LongItem &&
			!within(line, change.Asked.Context) {
			t.Error("its context is a copy")
		}
	}
	return said
}

// copyTries bounds the number of tries for a line that allocated too much.
const copyTries = 3

// becomes returns the size of the signals of a line, in bytes.
func becomes(said stdio.Line) (made int) {
	for _, signal := range said.Signals {
		made += len(signal.Raw)
	}
	return made
}

// readCounted reads a line and returns the bytes allocated by that.
func readCounted(t *testing.T, line []byte, read func(line []byte, at time.Time) (stdio.Line, error)) (stdio.Line, int) {
	t.Helper()
	var before, after goruntime.MemStats
	goruntime.ReadMemStats(&before)
	said, err := read(line, time.UnixMilli(1_700_000_000_000))
	goruntime.ReadMemStats(&after)
	if err != nil {
		t.Fatal(err)
	}
	return said, int(after.TotalAlloc - before.TotalAlloc) //nolint:gosec // far below
}

// within reports whether a slice is part of the line's own memory.
func within(line, delta []byte) bool {
	first := uintptr(unsafe.Pointer(unsafe.SliceData(line)))
	at := uintptr(unsafe.Pointer(unsafe.SliceData(delta)))
	return len(delta) > 0 && at >= first && at+uintptr(len(delta)) <= first+uintptr(len(line))
}
