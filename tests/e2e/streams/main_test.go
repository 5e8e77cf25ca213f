// Package streams tests the stream on whole servers: resume, early text, floods.
package streams

import (
	"testing"

	"harness/tests/programtest"
)

func TestMain(m *testing.M) { programtest.Main(m) }
