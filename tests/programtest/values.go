package programtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"harness/internal/platform/database"
	"harness/tests/codextest"
	"harness/tests/dbtest"
)

// Text returns a string at a path in decoded JSON, "" if it is absent.
func Text(value any, path ...string) string {
	for _, key := range path {
		members, ok := value.(Object)
		if !ok {
			return ""
		}
		value = members[key]
	}
	if value == nil {
		return ""
	}
	return fmt.Sprint(value)
}

// List returns the data member of a response.
func List(t *testing.T, server *Server, path string) []Object {
	t.Helper()
	data, ok := server.Want(http.StatusOK, http.MethodGet, path, nil)["data"].([]any)
	if !ok {
		t.Fatalf("%s has no data", path)
	}
	out := make([]Object, len(data))
	for i, one := range data {
		out[i], _ = one.(Object)
	}
	return out
}

// Encoded returns a value as JSON.
func Encoded(t *testing.T, value any) string {
	t.Helper()
	raw, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// JobsOf returns the jobs of a kind in a list of jobs.
func JobsOf(listed Object, kind string) (found []Object) {
	jobs, _ := listed["data"].([]any)
	for _, one := range jobs {
		if job, is := one.(Object); is && Text(job, "payload", "jobKind") == kind {
			found = append(found, job)
		}
	}
	return found
}

// EachSite runs a test with the real codex on both engines, and with the oldest supported codex on SQLite.
func EachSite(t *testing.T, test func(t *testing.T, s *Site), options ...SiteOption) {
	t.Parallel()
	for _, engine := range dbtest.Engines() {
		t.Run(string(engine), func(t *testing.T) {
			t.Parallel()
			test(t, New(t, append(options, WithEngine(engine))...))
		})
	}
	t.Run("oldest codex", func(t *testing.T) {
		t.Parallel()
		test(t, New(t, append(options, WithEngine(database.SQLite), WithCodex(codextest.Oldest))...))
	})
}

// Entry returns the first transcript entry of a type.
func Entry(t *testing.T, entries []Object, entryType string) Object {
	t.Helper()
	for _, e := range entries {
		if e["type"] == entryType {
			return e
		}
	}
	t.Fatalf("no %s in the transcript %v", entryType, entries)
	return nil
}
