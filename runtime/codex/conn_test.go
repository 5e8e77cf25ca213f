package codex

import (
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"harness/runtime"
)

// gate lets one write through when it is told to.
type gate struct{ open chan struct{} }

func (g gate) Write(b []byte) (int, error) {
	<-g.open
	return len(b), nil
}

func (gate) SetWriteDeadline(time.Time) error { return nil }

// A request that is refused is not told to anybody, so not stored either, before the refusal is on its way: a server that dies in between is
// followed by one that reads the request again.
func TestARefusalGoesOutBeforeItsRequestIsStored(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gate{make(chan struct{})}
		in, out := io.Pipe()
		q := newQueue()
		c := newConn("g", pipes{in: g, out: in, kill: func() {}, ack: func(int64) {}}, q, &counters{}, zerolog.Nop())
		go c.read()
		var got []runtime.Signal
		go func() {
			for {
				batch, ok := q.pop()
				if !ok {
					return
				}
				got = append(got, batch.Signals...)
			}
		}()
		_, _ = io.WriteString(out, `{"method":"before"}`+"\n"+`{"id":1,"method":"some/request"}`+"\n"+`{"method":"after"}`+"\n")
		synctest.Wait()
		if len(got) != 1 || got[0].Method != "before" {
			t.Fatalf("delivered while the refusal waits: %+v", got)
		}
		close(g.open)
		synctest.Wait()
		if len(got) != 3 || got[1].Method != "some/request" || got[2].Method != "after" {
			t.Errorf("delivered %+v", got)
		}
		_ = out.Close()
		<-c.gone
		q.close()
	})
}
