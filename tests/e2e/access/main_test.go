// Package access tests, on whole servers, who may do what, who may read what, and what is never shown.
package access

import (
	"testing"

	"harness/tests/programtest"
)

func TestMain(m *testing.M) { programtest.Main(m) }
