// Package nodes tests several servers on one Postgres, and a server that is frozen or loses its database.
package nodes

import (
	"testing"

	"harness/tests/programtest"
)

func TestMain(m *testing.M) { programtest.Main(m) }
