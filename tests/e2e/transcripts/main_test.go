// Package transcripts tests, on whole servers, transcripts: long lines, many upserts, retention.
package transcripts

import (
	"testing"

	"harness/tests/programtest"
)

func TestMain(m *testing.M) { programtest.Main(m) }
