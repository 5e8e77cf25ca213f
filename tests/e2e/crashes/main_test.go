// Package crashes tests, on whole servers, servers, agents and stores that die at any point.
package crashes

import (
	"testing"

	"harness/tests/programtest"
)

func TestMain(m *testing.M) { programtest.Main(m) }
