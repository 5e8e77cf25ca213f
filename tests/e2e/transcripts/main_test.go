// Package transcripts tests transcripts on whole servers: long lines, many upserts, retention.
package transcripts

import (
	"testing"

	"harness/tests/programtest"
)

func TestMain(m *testing.M) { programtest.Main(m) }
