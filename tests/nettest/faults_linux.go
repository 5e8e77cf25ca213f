package nettest

import (
	"fmt"
	"slices"
	"strings"
)

// way is from one host to another.
type way struct{ from, to *Host }

// Drop drops what one host sends to another, without an error. What the other one sends arrives.
func (n *Network) Drop(from, to *Host) {
	n.t.Helper()
	n.set(from, to, "drop")
}

// Lose is Drop of so many packets of a hundred.
func (n *Network) Lose(from, to *Host, percent int) {
	n.t.Helper()
	n.set(from, to, fmt.Sprintf("numgen random mod 100 < %d drop", percent))
}

const reset = "meta l4proto tcp reject with tcp reset"

// Reset has what one host sends another one refused: who sends something on a connection finds that broken.
func (n *Network) Reset(from, to *Host) {
	n.t.Helper()
	n.set(from, to, reset)
}

// Mend ends what Drop, Lose and Reset did between two hosts, in both directions.
func (n *Network) Mend(one, other *Host) {
	n.t.Helper()
	n.set(one, other, "")
	n.set(other, one, "")
}

func (n *Network) set(from, to *Host, what string) {
	n.t.Helper()
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.faults[way{from, to}] = what; what == "" {
		delete(n.faults, way{from, to})
	}
	n.apply(from)
}

// apply has the packets of a host treated as faults say and in no other way, at once. The bridge drops them
// without an error; the host itself refuses them, as not every kernel has bridges that can. Hosts always find
// each other (ARP): otherwise the other direction would be lost, too.
func (n *Network) apply(from *Host) {
	n.t.Helper()
	var dropped, refused strings.Builder
	for between, what := range n.faults {
		switch {
		case between.from != from:
		case what == reset:
			fmt.Fprintf(&refused, "ip daddr { %s } %s\n", strings.Join(between.to.addresses(), ", "), what)
		default:
			fmt.Fprintf(&dropped, "iifname %q ether daddr %s ether type ip %s\n", from.port, between.to.hardware, what)
		}
	}
	n.table(n.bridge, "bridge "+from.port, "prerouting", dropped.String())
	n.table(from.namespace, "ip "+from.port, "output", refused.String())
}

// table puts rules in the place of those of a table.
func (n *Network) table(where namespace, name, hook, rules string) {
	n.t.Helper()
	text := fmt.Sprintf("add table %s\ndelete table %[1]s\ntable %[1]s {\nchain faults {\ntype filter hook %s priority 0\n%s}\n}\n",
		name, hook, rules)
	if _, err := run(where, text, "nft", "-f", "-"); err != nil {
		n.t.Fatal(err)
	}
}

// Move gives an address that is no host's own to one of them, and takes it from who has it.
func (n *Network) Move(address string, to *Host) {
	n.t.Helper()
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, h := range n.hosts {
		if at := slices.Index(h.moved, address); at >= 0 {
			h.moved = slices.Delete(h.moved, at, at+1)
			n.must(h.namespace, "ip", "address", "del", address+"/32", "dev", "eth0")
		}
	}
	to.moved = append(to.moved, address)
	n.must(to.namespace, "ip", "address", "add", address+"/32", "dev", "eth0")
	n.forget(address)
	for _, h := range n.hosts {
		n.apply(h)
	}
}

// Shared is an address for Move.
func (n *Network) Shared() string { return subnet + "200" }

// addresses are all that a host has.
func (h *Host) addresses() []string { return append([]string{h.address}, h.moved...) }
