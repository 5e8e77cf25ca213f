package nettest

import (
	"fmt"
	"slices"
	"strings"
)

// way is a direction from one host to another.
type way struct{ from, to *Host }

// Drop drops all packets from one host to another, without an error. Packets in the other direction arrive.
func (n *Network) Drop(from, to *Host) {
	n.t.Helper()
	n.set(from, to, "drop")
}

// Lose drops this percentage of the packets from one host to another.
func (n *Network) Lose(from, to *Host, percent int) {
	n.t.Helper()
	n.set(from, to, fmt.Sprintf("numgen random mod 100 < %d drop", percent))
}

const reset = "meta l4proto tcp reject with tcp reset"

// Reset refuses all packets from one host to another. A host that sends on a connection gets a connection error.
func (n *Network) Reset(from, to *Host) {
	n.t.Helper()
	n.set(from, to, reset)
}

// Mend ends Drop, Lose and Reset between two hosts, in both directions.
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

// apply makes the current faults take effect on a host's packets immediately, and removes all others. The bridge
// drops packets without an error. The host itself refuses packets, because not every kernel's bridges can. Hosts can
// always resolve each other (ARP); otherwise the other direction would fail too.
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

// table replaces the rules of a table.
func (n *Network) table(where namespace, name, hook, rules string) {
	n.t.Helper()
	text := fmt.Sprintf("add table %s\ndelete table %[1]s\ntable %[1]s {\nchain faults {\ntype filter hook %s priority 0\n%s}\n}\n",
		name, hook, rules)
	if _, err := run(where, text, "nft", "-f", "-"); err != nil {
		n.t.Fatal(err)
	}
}

// Move gives a floating address to one host and removes it from its current holder.
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

// Shared returns an address for Move.
func (n *Network) Shared() string { return subnet + "200" }

// addresses returns all addresses of a host.
func (h *Host) addresses() []string { return append([]string{h.address}, h.moved...) }
