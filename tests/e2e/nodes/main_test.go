// Package nodes tests, on whole servers, several servers on one Postgres, and one that is frozen or loses its database.
package nodes

import (
	"testing"

	"harness/tests/programtest"
)

func TestMain(m *testing.M) { programtest.Main(m) }
