package clients

import (
	"testing"

	"harness/tests/agenttest"
)

// generators returns the folder of the client generators for other languages.
func generators(t *testing.T) string {
	t.Helper()
	return agenttest.Clients(t, "clients", "package-lock.json", "python.mjs")
}
