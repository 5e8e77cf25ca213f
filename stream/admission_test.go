package stream

import (
	"strings"
	"testing"
)

// Connections are bounded per address and in total, and a closed one frees its slot.
func TestAdmission(t *testing.T) {
	t.Parallel()
	a := newAdmission(4, 2)
	enter := func(remote, reason string) func() {
		t.Helper()
		leave, refused := a.enter(remote)
		got := ""
		if refused != nil {
			got = refused.reason
			if !strings.Contains(refused.message,
				map[string]string{"address": "streams-per-address of HARNESS_LIMITS", "connections": "streams of HARNESS_LIMITS"}[reason]) {
				t.Errorf("%s: the message names no remedy: %s", remote, refused.message)
			}
		}
		if got != reason {
			t.Errorf("%s: refused for %q, want %q", remote, got, reason)
		}
		return leave
	}
	first := enter("192.0.2.1:1", "")
	enter("[::ffff:192.0.2.1]:2", "") // the same address
	enter("192.0.2.1:3", "address")
	third := enter("[2001:db8::1]:1", "")
	enter("[2001:db8::ffff:2%eth0]:1", "") // the same /64
	enter("[2001:db8::3]:1", "address")
	enter("[2001:db8:0:1::1]:1", "connections")
	first()
	enter("192.0.2.1:3", "")
	enter("192.0.2.2:1", "connections")
	third()
	enter("@", "")
	if a.open != 4 || len(a.of) != 3 {
		t.Errorf("%d open, of %v", a.open, a.of)
	}

	free := newAdmission(0, 0)
	for range 10_000 {
		if _, refused := free.enter("192.0.2.1:1"); refused != nil {
			t.Fatal(refused)
		}
	}
}
