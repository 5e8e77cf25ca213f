// Package commands tests, on whole servers, the command line of a whole server.
package commands

import (
	"testing"

	"harness/tests/programtest"
)

func TestMain(m *testing.M) { programtest.Main(m) }
