package js

import (
	"testing"

	"harness/extensions"
)

// BenchmarkMachine makes a machine with its prelude and frees it: the cost of replacing a machine, without its bundle.
func BenchmarkMachine(b *testing.B) {
	host := New(Options{})
	for b.Loop() {
		settings, err := newModule(host, extensions.Source{}, "", nil).settings()
		if err != nil {
			b.Fatal(err)
		}
		e, err := host.newEngine(settings, func(string, int, string) string { return "" })
		if err != nil {
			b.Fatal(err)
		}
		e.close()
	}
}
