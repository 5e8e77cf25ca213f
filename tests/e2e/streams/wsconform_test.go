package streams

import (
	"strings"
	"sync"
	"testing"

	"harness/tests/programtest"
	"harness/tests/wsconform"
)

// streamLimit is the maximum size of a message on the stream.
const streamLimit = 1 << 20

// The stream conforms strictly to RFC 6455 in every case of the table.
func TestTheStreamConformsToRFC6455(t *testing.T) {
	t.Parallel()
	server := programtest.New(t, programtest.WithEnv("CODEX_BIN=/nonexistent")).Start()
	address := strings.TrimPrefix(server.URL, "http://")
	cases := wsconform.Cases(streamLimit)
	if len(cases) < 250 {
		t.Fatalf("the table has only %d cases", len(cases))
	}
	work := make(chan wsconform.Case)
	var workers sync.WaitGroup
	for range 8 {
		workers.Go(func() {
			for c := range work {
				if err := wsconform.Run(address, "/api/stream", c); err != nil {
					t.Errorf("case %s, %s: %v", c.ID, c.Name, err)
				}
			}
		})
	}
	for _, c := range cases {
		work <- c
	}
	close(work)
	workers.Wait()
	t.Logf("%d cases", len(cases))
}
