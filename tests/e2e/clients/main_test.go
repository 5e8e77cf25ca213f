// Package clients tests, on whole servers, clients of every kind: generated ones, JSON-RPC, the console, upstream recordings.
package clients

import (
	"testing"

	"harness/tests/programtest"
)

func TestMain(m *testing.M) { programtest.Main(m) }
