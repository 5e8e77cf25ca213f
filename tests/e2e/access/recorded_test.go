package access

import (
	"net/http"
	"strings"
	"testing"

	"harness/tests/dbtest"
	"harness/tests/programtest"
)

// OB-03: the audit log has a row for an outage of the store, written after it ends. It also has a row with the
// configuration, without secrets, for every start, and one for a change of the defaults of new sessions.
func TestWhatAServerDidIsRecorded(t *testing.T) {
	t.Parallel()
	const token = "planted-token-7f3a9c2e-of-forty-letters-0001"
	role := dbtest.NewRole(t)
	s := programtest.New(t, programtest.WithEnv("HARNESS_RETENTION=records=77", "HARNESS_LIMITS=store-wait-ms=50", "OPENAI_API_KEY="+token),
		programtest.WithDatabase(role.URL))
	server := s.Start()
	set := func(change string) {
		role.Set(change)
		role.Disconnect()
	}
	write := func() int {
		status, _, _ := server.Try(http.MethodPost, "/api/projects", programtest.Object{"name": "p"})
		return status
	}
	set("set default_transaction_read_only = on")
	server.Eventually("the store refuses", func() bool { return write() == http.StatusServiceUnavailable })
	set("reset default_transaction_read_only")
	server.Eventually("the store takes the change", func() bool { // its connections were just cut
		status, _, _ := server.Try(http.MethodPost, "/api/server/settings", programtest.Object{"defaults": programtest.Object{
			"model": nil, "approvalPolicy": "never", "networkAccess": "restricted", "filesystemSandbox": "read-only"}})
		return status == http.StatusOK
	})
	rows := ""
	server.Eventually("the outage is recorded", func() bool {
		write()
		_, rows = s.Command("audit", "export")
		return strings.Contains(rows, `"kind":"store.refused"`)
	})
	for _, want := range []string{`"kind":"configuration.loaded"`, `"name":"HARNESS_RETENTION","value":"records=77"`,
		`"kind":"default_controls.changed"`, `"next":{"model":null,"approvalPolicy":"never"`,
		`"name":"OPENAI_API_KEY","value":"[redacted]"`, `"engine":"postgres"`, `"cause":"`} {
		if !strings.Contains(rows, want) {
			t.Errorf("the log has no %s", want)
		}
	}
	if strings.Contains(rows, token) {
		t.Error("the log has a secret")
	}
}
