package nodes

import (
	"os/exec"
	"strings"
	"testing"
	"time"

	"harness/tests/dbtest"
	"harness/tests/outside"
)

// The same for a backup by pgBackRest.
func TestPgBackRestGoesBackToAPointInTime(t *testing.T) {
	t.Parallel()
	outside.Needs(t, "pgBackRest")
	bin, err := exec.Command("../../../scripts/pgbackrest-tool.sh").Output()
	if err != nil {
		t.Fatalf("pgBackRest is missing (%v); scripts/setup-test.sh brings it", err)
	}
	restoresToAPointInTime(t, func(pair *dbtest.Pair) interface{ Restore(at time.Time) string } {
		return pair.PgBackRest(strings.TrimSpace(string(bin)))
	})
}
