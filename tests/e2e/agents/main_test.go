// Package agents tests, on whole servers, real agents through a whole server.
package agents

import (
	"testing"

	"harness/tests/fencetest"
	"harness/tests/programtest"
)

func TestMain(m *testing.M) {
	fencetest.Play()
	programtest.Main(m)
}
