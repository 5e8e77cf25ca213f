// Package jobs tests, on whole servers, jobs and extensions.
package jobs

import (
	"testing"

	"harness/tests/programtest"
)

func TestMain(m *testing.M) { programtest.Main(m) }
