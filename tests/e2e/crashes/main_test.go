// Package crashes tests servers, agents and stores that die at any point, on whole servers.
package crashes

import (
	"testing"

	"harness/tests/programtest"
)

func TestMain(m *testing.M) { programtest.Main(m) }
