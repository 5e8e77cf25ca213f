// Package agents tests, on whole servers, real agents through a whole server.
package agents

import (
	"testing"

	"harness/internal/fencetest"
	"harness/internal/programtest"
)

func TestMain(m *testing.M) {
	fencetest.Play()
	programtest.Main(m)
}
