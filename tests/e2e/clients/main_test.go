// Package clients tests clients of every kind on whole servers: generated ones, JSON-RPC, the console, upstream
// recordings.
package clients

import (
	"testing"

	"harness/tests/programtest"
)

func TestMain(m *testing.M) { programtest.Main(m) }
