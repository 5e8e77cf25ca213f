// Package frontends tests the protocols for front ends with the real programs of other vendors, on whole servers.
package frontends

import (
	"testing"

	"harness/tests/programtest"
)

func TestMain(m *testing.M) { programtest.Main(m) }
