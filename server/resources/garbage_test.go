package resources

import (
	"testing"

	"harness/tests/programtest"
)

// A small heap is not collected after every few MiB of garbage, unless the operator configures that.
func TestGarbageMayGather(t *testing.T) {
	t.Parallel()
	s := programtest.New(t)
	for _, c := range []struct {
		env  []string
		less bool
	}{{nil, true}, {[]string{"GOGC=100"}, false}, {[]string{"GOMEMLIMIT=1GiB"}, false}} {
		server := s.Start(c.env...)
		rss := server.Metric("process_resident_memory_bytes")
		for range 3 { // on a busy machine garbage accumulates before the test can measure it
			if c.less && rss >= 3*heldHeap {
				server.Stop()
				server = s.Start(c.env...)
				rss = server.Metric("process_resident_memory_bytes")
			}
		}
		server.Eventually("the next collection is due when the heap is as large as it should be", func() bool {
			return (server.Metric("go_memstats_next_gc_bytes") > heldHeap) == c.less
		})
		if c.less && !s.Detecting && rss >= 3*heldHeap {
			t.Errorf("the server takes %.0f MiB of memory: that of the heap held is in use", rss/(1<<20))
		}
		server.Stop()
	}
}
