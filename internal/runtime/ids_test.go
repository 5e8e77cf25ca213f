package runtime_test

import (
	"strings"
	"testing"

	"harness/internal/runtime"
)

func TestKnownID(t *testing.T) {
	t.Parallel()
	for _, short := range []string{"", "01a201d3-c078-730f-ad65-55448db0a154", strings.Repeat("x", 512),
		strings.Repeat("é", 256)} {
		if got := runtime.KnownID(short); got != short || runtime.StandsForLonger(got) {
			t.Errorf("%.20s... is known as %s", short, got)
		}
	}
	seen := map[string]bool{}
	for _, long := range []string{strings.Repeat("x", 513), strings.Repeat("x", 514), strings.Repeat("é", 257)} {
		got := runtime.KnownID(long)
		if len(got) != 74 || got != runtime.KnownID(long) || runtime.KnownID(got) != got || !runtime.StandsForLonger(got) ||
			seen[got] {
			t.Errorf("%.20s... is known as %s", long, got)
		}
		seen[got] = true
	}
}
