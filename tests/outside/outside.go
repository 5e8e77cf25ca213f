// Package outside lets `make check` skip tests that need an external part, such as an agent or Postgres.
//
// It owns the environment variable and the words of the skip, which scripts/runtests counts. Every kit that starts
// such a part calls Needs first. It must never know how to find or start a part.
package outside

import (
	"os"
	"testing"
)

// Variable is set to 1 by `make check`. Without it no test is skipped.
const Variable = "HARNESS_CHECK"

// Words start the message of a skipped test. The part's name follows.
const Words = "left out of make check: needs "

// Needs skips the test in `make check`, because it needs a part that scripts/setup-test.sh installs.
func Needs(t testing.TB, part string) {
	t.Helper()
	if os.Getenv(Variable) == "1" {
		t.Skip(Words + part)
	}
}
