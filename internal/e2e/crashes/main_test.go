// Package crashes tests, on whole servers, servers, agents and stores that die at any point.
package crashes

import (
	"testing"

	"harness/internal/programtest"
)

func TestMain(m *testing.M) { programtest.Main(m) }
