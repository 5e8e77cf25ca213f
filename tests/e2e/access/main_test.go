// Package access tests, on whole servers, who may do what, what is told to whom and what is never told.
package access

import (
	"testing"

	"harness/tests/programtest"
)

func TestMain(m *testing.M) { programtest.Main(m) }
