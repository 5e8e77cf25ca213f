package stdio

import (
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"harness/internal/runtime"
)

// gate lets one write pass when the test opens it.
type gate struct{ open chan struct{} }

func (g gate) Write(b []byte) (int, error) {
	<-g.open
	return len(b), nil
}

func (gate) SetWriteDeadline(time.Time) error { return nil }

// plainConn returns a connection to a process; the test writes its output.
func plainConn(g gate, in io.Reader, ack func(int64)) *Conn {
	return newConn(NewLauncher(Launch{Name: "plain", Logger: zerolog.Nop()}), "g",
		pipes{in: g, out: in, kill: func() {}, ack: ack}, newQueue(), speakPlain)
}

// A refused request is not published, and so not stored, before the refusal is written. If a server dies in between,
// the next one reads the request again.
func TestRefusalIsSentBeforeRequestIsStored(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gate{make(chan struct{})}
		in, out := io.Pipe()
		c := plainConn(g, in, func(int64) {})
		go c.read()
		var got []runtime.Signal
		go func() {
			for {
				batch, ok := c.out.pop()
				if !ok {
					return
				}
				got = append(got, batch.Signals...)
			}
		}()
		_, _ = io.WriteString(out, "news t before\nodd q t\nnews t after\n")
		synctest.Wait()
		if len(got) != 1 || got[0].Method != "before" {
			t.Fatalf("delivered while the refusal waits: %+v", got)
		}
		close(g.open)
		synctest.Wait()
		if len(got) != 3 || got[1].Method != "odd" || got[2].Method != "after" {
			t.Errorf("delivered %+v", got)
		}
		_ = out.Close()
		<-c.gone
		c.out.close()
	})
}

// Each line gives one batch: its signals, the line and the state after it, with the offset of the line's end.
// Irrelevant lines give none.
func TestALineIsABatch(t *testing.T) {
	t.Parallel()
	in, out := io.Pipe()
	open := make(chan struct{})
	close(open)
	var acked int64
	c := plainConn(gate{open}, in, func(offset int64) { acked = offset })
	go c.read()
	go func() {
		_, _ = io.WriteString(out, "hm\nwhat is this\nnews t one two\nnews t\nask q t\n")
		_ = out.Close()
	}()
	want := []struct {
		offset  int64
		methods []string
		state   string
	}{{31, []string{"one", "two"}, "1"}, {38, nil, "2"}, {46, []string{"ask"}, ""}}
	for _, want := range want {
		batch, _ := c.out.pop()
		var methods []string
		for _, s := range batch.Signals {
			methods = append(methods, s.Method)
		}
		if batch.Offset != want.offset || len(methods) != len(want.methods) || string(batch.State) != want.state ||
			batch.Native == nil ||
			batch.Generation != "g" {
			t.Errorf("batch %+v, want %+v", batch, want)
		}
		batch.Stored()
		if acked != want.offset {
			t.Errorf("acked up to %d, want %d", acked, want.offset)
		}
	}
	<-c.gone
	if c.counters.Undecodable.Load() != 1 {
		t.Errorf("%d lines were not understood, want 1", c.counters.Undecodable.Load())
	}
}
