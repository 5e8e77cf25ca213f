// Package nettest gives a test a network of machines in the kernel. Each is a network namespace on one bridge, with
// links that lose packets on demand, in one or both directions. The machine's own network is not affected.
//
// It is for tests only, and needs root on Linux, iproute2 and nftables.
package nettest

import (
	"bytes"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"harness/tests/outside"
	"harness/tests/polling"
)

// Network is a bridge with hosts.
type Network struct {
	t      testing.TB
	bridge namespace
	mu     sync.Mutex
	hosts  []*Host
	faults map[way]string // rules for packets in nftables syntax
}

// Host is a machine of a Network.
type Host struct {
	network   *Network
	namespace namespace
	// Name is the host's name in messages.
	Name string
	// port is the bridge's end of its link. hardware is the hardware address of the other end.
	port, hardware string
	address        string
	moved          []string // addresses that Move gave it
}

// New makes a network without hosts. It and everything running in it end with the test.
func New(t testing.TB) *Network {
	t.Helper()
	outside.Needs(t, "networks of its own")
	n := &Network{t: t, faults: map[way]string{}}
	var err error
	if n.bridge, err = newNamespace(); err != nil {
		t.Fatalf("%v (run the tests as root)", err)
	}
	t.Cleanup(func() { n.end(n.bridge) })
	n.must(n.bridge, "ip", "link", "add", "bridge", "type", "bridge")
	n.must(n.bridge, "ip", "link", "set", "bridge", "up")
	return n
}

func (n *Network) end(one namespace) {
	if err := one.file.Close(); err != nil {
		n.t.Error(err)
	}
}

// subnet is the prefix of all addresses.
const subnet = "10.231.0."

// Host adds a machine.
func (n *Network) Host(name string) *Host {
	n.t.Helper()
	made, err := newNamespace()
	if err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(func() { n.end(made) })
	n.mu.Lock()
	defer n.mu.Unlock()
	number := len(n.hosts) + 1
	h := &Host{network: n, namespace: made, Name: name, address: fmt.Sprint(subnet, number), port: fmt.Sprint("host", number),
		hardware: fmt.Sprintf("02:00:00:00:00:%02x", number)}
	n.hosts = append(n.hosts, h)
	n.must(made, "ip", "link", "set", "lo", "up")
	n.must(n.bridge, "ip", "link", "add", h.port, "type", "veth", "peer", "name", "eth0", "address", h.hardware,
		"netns", made.path())
	n.must(n.bridge, "ip", "link", "set", h.port, "master", "bridge", "up")
	n.must(made, "ip", "address", "add", h.address+"/24", "dev", "eth0")
	n.must(made, "ip", "link", "set", "eth0", "up")
	return h
}

// Address returns the host's address for other hosts.
func (h *Host) Address() string { return h.address }

// Unplug unplugs the host's cable: the interface remains, without a carrier.
func (h *Host) Unplug() {
	h.network.t.Helper()
	h.network.must(h.network.bridge, "ip", "link", "set", h.port, "down")
}

// Plug undoes Unplug, and returns when the host is reachable.
func (h *Host) Plug() {
	h.network.t.Helper()
	h.network.must(h.network.bridge, "ip", "link", "set", h.port, "up")
	if !polling.Until(10*time.Second, func() bool {
		said, err := run(h.namespace, "", "ip", "link", "show", "eth0")
		return err == nil && strings.Contains(said, " state UP ")
	}) {
		h.network.t.Fatal("an interface has no carrier, though its cable is back")
	}
	h.network.forget(h.address)
	h.network.must(h.namespace, "ip", "neighbour", "flush", "dev", "eth0")
}

// forget makes hosts resolve an address again.
func (n *Network) forget(address string) {
	n.t.Helper()
	for _, h := range n.hosts {
		n.must(h.namespace, "ip", "neighbour", "flush", "to", address)
	}
}

// Delay delays all packets to the host by this much, 0 for none. It returns false if the kernel cannot do this
// (netem).
func (h *Host) Delay(by time.Duration) bool {
	h.network.t.Helper()
	if by == 0 {
		h.network.must(h.network.bridge, "tc", "qdisc", "del", "dev", h.port, "root")
		return true
	}
	_, err := run(h.network.bridge, "", "tc", "qdisc", "replace", "dev", h.port, "root", "netem", "delay", by.String(),
		(by / 4).String())
	if err != nil && strings.Contains(err.Error(), "qdisc kind is unknown") {
		return false
	}
	if err != nil {
		h.network.t.Fatal(err)
	}
	return true
}

func (n *Network) must(where namespace, program string, args ...string) {
	n.t.Helper()
	if _, err := run(where, "", program, args...); err != nil {
		n.t.Fatal(err)
	}
}

// run runs a program in a namespace with an input, and returns its output.
func run(where namespace, input, program string, args ...string) (string, error) {
	path, err := exec.LookPath(program)
	if err != nil {
		return "", fmt.Errorf("%w; scripts/setup-test.sh brings it", err)
	}
	cmd := exec.Command(path, args...)
	cmd.Stdin = strings.NewReader(input)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := where.inside(cmd.Run); err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s%s", program, strings.Join(args, " "), err, &said, input)
	}
	return said.String(), nil
}
