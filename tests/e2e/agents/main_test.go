// Package agents tests real agents on whole servers.
package agents

import (
	"testing"

	"harness/tests/fencetest"
	"harness/tests/programtest"
)

func TestMain(m *testing.M) {
	fencetest.Play()
	rob()
	programtest.Main(m)
}
