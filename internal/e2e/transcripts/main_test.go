// Package transcripts tests, on whole servers, transcripts: long lines, many upserts, retention.
package transcripts

import (
	"testing"

	"harness/internal/programtest"
)

func TestMain(m *testing.M) { programtest.Main(m) }
