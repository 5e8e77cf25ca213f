// Package commands tests the command line of whole servers.
package commands

import (
	"testing"

	"harness/tests/programtest"
)

func TestMain(m *testing.M) { programtest.Main(m) }
