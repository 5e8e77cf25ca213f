// Package streams tests, on whole servers, the stream: resume, early text, floods.
package streams

import (
	"testing"

	"harness/tests/programtest"
)

func TestMain(m *testing.M) { programtest.Main(m) }
