package wire

import (
	"bytes"
	"encoding/json"
	"runtime"
	"strings"
	"testing"
)

// Reading a long error costs almost nothing beyond its line, and gives the same result.
//
//nolint:paralleltest // it counts what is allocated
func TestALongErrorIsReadAtABoundedCost(t *testing.T) {
	long := strings.Repeat(`said \"é\\n\"`, 1<<20)
	failed := `{"message":"API Error: 404 ` + long + `","more":["` + long + `"],"httpStatusCode":0,"additionalDetails":"` + long + `"}`
	for name, one := range map[string]struct {
		raw  string
		read func(json.RawMessage) bool
	}{
		"failure": {failed, func(raw json.RawMessage) bool {
			_, remedy := failureKind(raw)
			return strings.Contains(remedy, "404")
		}},
		"retry": {`{"error":` + failed + `,"willRetry":true,"turnId":"u"}`, func(raw json.RawMessage) bool {
			return retryOf(MethodError, "u", raw) != nil
		}},
		"warning": {`{"message":"` + long + `"}`, func(raw json.RawMessage) bool {
			return retryOf(MethodWarning, "u", raw) == nil
		}},
		"another type": {`["` + long + `"]`, func(raw json.RawMessage) bool {
			_, remedy := failureKind(raw)
			return remedy == ""
		}},
	} {
		raw := json.RawMessage(bytes.Clone([]byte(one.raw)))
		one.read(raw) // initialize once
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		read := one.read(raw)
		runtime.ReadMemStats(&after)
		if cost := after.TotalAlloc - before.TotalAlloc; !read || cost > 1<<20 {
			t.Errorf("%s of %d bytes: read %t, for %d bytes", name, len(raw), read, cost)
		}
	}
}
