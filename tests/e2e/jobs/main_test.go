// Package jobs tests jobs and extensions on whole servers.
package jobs

import (
	"testing"

	"harness/tests/programtest"
)

func TestMain(m *testing.M) { programtest.Main(m) }
