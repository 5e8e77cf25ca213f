package main

import (
	"strings"
	"testing"
	"time"

	"harness/internal/dbtest"
)

// OB-03: an outage of the store leaves a row of the audit log once it is over, and every start one of what it was
// configured with, without secrets.
func TestWhatAServerDidIsRecorded(t *testing.T) {
	t.Parallel()
	const token = "planted-token-7f3a9c2e-of-forty-letters-0001"
	for _, engine := range dbtest.Engines() {
		t.Run(string(engine), func(t *testing.T) {
			t.Parallel()
			s, ways := outages(t, engine, "16m")
			server := s.start("HARNESS_AUTH_TOKEN="+token, "HARNESS_RECORDS_KEEP=77")
			ways[0].refuse(server)
			server.eventually("the store refuses", func() bool { return server.metric("harness_store_refusing") > 0 })
			ways[0].mend(server)
			rows := func() string {
				_, exported := s.command("audit", "export")
				return exported
			}
			server.eventually("the outage is recorded", func() bool { return strings.Contains(rows(), `"store.refused"`) })
			all := rows()
			if !strings.Contains(all, `"configuration.loaded"`) || !strings.Contains(all, `"HARNESS_RECORDS_KEEP","value":"77"`) ||
				strings.Contains(all, token) || !strings.Contains(all, `"engine":"`+string(engine)+`"`) ||
				!strings.Contains(all, time.Now().UTC().Format("2006-01")) {
				t.Errorf("the log is %s", all)
			}
		})
	}
}
