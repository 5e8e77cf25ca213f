package fencetest

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"testing"
)

// Machine has a port to fence and a port to leave open, on all addresses of this machine, and an abstract socket.
type Machine struct {
	t      *testing.T
	fenced *net.TCPListener
	Target Target
}

// New listens until the test ends.
func New(t *testing.T) *Machine {
	t.Helper()
	m := &Machine{t: t}
	open, ok := m.listen("tcp", "[::]:0").Addr().(*net.TCPAddr)
	fenced, is := m.listen("tcp", "[::]:0").(*net.TCPListener)
	if !ok || !is {
		t.Fatal("not TCP")
	}
	m.fenced = fenced
	name := fmt.Sprintf("harness-fence-%d-%d", os.Getpid(), m.Port())
	m.listen("unix", "@"+name)
	raw, err := fenced.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	m.Target = Target{Fenced: int(m.Port()), Open: open.Port, PID: os.Getpid(), Abstract: name}
	if err := raw.Control(func(fd uintptr) { m.Target.FD = int(fd) }); err != nil { //nolint:gosec // a descriptor
		t.Fatal(err)
	}
	return m
}

func (m *Machine) listen(network, address string) net.Listener {
	m.t.Helper()
	listener, err := net.Listen(network, address) //nolint:noctx // a moment
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() { _ = listener.Close() })
	return listener
}

// Port returns the port to fence.
func (m *Machine) Port() uint16 {
	return m.fenced.Addr().(*net.TCPAddr).AddrPort().Port() //nolint:forcetypeassert // of TCP
}

// Command is Target.Command.
func (m *Machine) Command(program, names string) string {
	m.t.Helper()
	command, err := m.Target.Command(program, names)
	if err != nil {
		m.t.Fatal(err)
	}
	return command
}

// Results parses the output of a program that ran tricks.
func Results(t *testing.T, output string) map[string]string {
	t.Helper()
	var all map[string]string
	if err := json.Unmarshal([]byte(output), &all); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	return all
}

// Compare fails the test if results differ from the expected ones.
func Compare(t *testing.T, got, want map[string]string) {
	t.Helper()
	for name, answer := range want {
		if got[name] != answer {
			t.Errorf("%s: %q, want %q", name, got[name], answer)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d tricks were played, want %d", len(got), len(want))
	}
}

// Untouched fails the test if anything connected to the fenced port. The first connection it accepts must be this
// test's.
func (m *Machine) Untouched() {
	m.t.Helper()
	mine, err := net.Dial("tcp", m.fenced.Addr().String()) //nolint:noctx // a moment
	if err != nil {
		m.t.Fatal(err)
	}
	defer func() { _ = mine.Close() }()
	first, err := m.fenced.Accept()
	if err != nil {
		m.t.Fatal(err)
	}
	defer func() { _ = first.Close() }()
	if first.RemoteAddr().String() != mine.LocalAddr().String() {
		m.t.Errorf("the fenced port was connected to, from %s", first.RemoteAddr())
	}
}
