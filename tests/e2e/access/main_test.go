// Package access tests, on whole servers, which callers may act, which may read, and what no one can read.
package access

import (
	"testing"

	"harness/tests/programtest"
)

func TestMain(m *testing.M) { programtest.Main(m) }
