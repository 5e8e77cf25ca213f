package shim_test

import (
	"bufio"
	"context"
	"os/signal"
	"syscall"
	"testing"

	"harness/internal/runtime/process/shim"
)

func signalContext() (context.Context, context.CancelFunc) {
	return signal.NotifyContext(context.Background(), syscall.SIGTERM)
}

// A line written to an attached server, one without a server, and one to the next server: all arrive once and in
// order.
func TestNextServerContinuesReading(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	a := p.sh(`while read line; do echo "got $line"; done; exit 3`, nil)
	r := bufio.NewReader(a)
	write(t, a, "", "one")
	if got := line(t, r); got != "got one" {
		t.Fatalf("got %q", got)
	}
	write(t, a, "", "two") // this server does not read its echo
	a.Detach()
	a.Kill() // as after a failed write; the runtime no longer belongs to this server
	a.Release()

	b := p.attach(int64(len("got one\n")))
	if b.Attachment != 2 {
		t.Errorf("attachment %d, want 2", b.Attachment)
	}
	r = bufio.NewReader(b)
	if got := line(t, r); got != "got two" {
		t.Fatalf("got %q", got)
	}
	write(t, b, "", "three")
	if got := line(t, r); got != "got three" {
		t.Fatalf("got %q", got)
	}
	go b.Stop(0)
	p.end(b)
	if exit := b.Exit(); exit.Code == nil || *exit.Code != 3 {
		// The shell exits at the end of its input, which comes with SIGTERM.
		if exit.Signal == nil || *exit.Signal != "SIGTERM" {
			t.Errorf("exit %+v", exit)
		}
	}
	_ = shim.Protocol
}
