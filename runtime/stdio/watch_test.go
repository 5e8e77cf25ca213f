package stdio

import (
	"io"
	"testing"
	"testing/synctest"
	"time"

	"harness/runtime"
)

// A process is not judged while what it said is not read: its answer may be in what waits.
func TestAServerThatDoesNotReadDoesNotJudge(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		open := make(chan struct{})
		close(open)
		in, out := io.Pipe()
		c := plainConn(gate{open}, in, nil)
		q := c.out
		// The store takes nothing, and the queue before it is full.
		for range maxQueued {
			q.push(runtime.Batch{Signals: []runtime.Signal{{Method: "waits"}}})
		}
		go c.read()
		w := watch{conn: c, every: time.Second}
		look := func(times int) (silent time.Duration) {
			for range times {
				synctest.Wait()
				silent = w.look()
			}
			return silent
		}
		if silent := look(3); silent != 2*time.Second {
			t.Errorf("silent for %s, want the two looks after the probe", silent)
		}
		_, _ = io.WriteString(out, "news t one\n") // read, and then there is no room
		if silent := look(10 * watchSteps); silent != 0 {
			t.Errorf("judged %s silent while nothing was read", silent)
		}
		q.next()
		if silent := look(1); silent != 0 {
			t.Errorf("judged %s silent by what was before the store took something again", silent)
		}
		if silent := look(3); silent != 3*time.Second {
			t.Errorf("silent for %s, want it judged again", silent)
		}
		_ = out.Close()
		<-c.gone
		q.close()
	})
}
