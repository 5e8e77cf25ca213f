package confine

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Landlock controls connect(2) of sockets with the protocol TCP. A filter of system calls (seccomp(2)) refuses the
// other ways to a TCP connection. It uses the error of a kernel without the feature, so that programs do without it:
//
//   - sockets of MPTCP (RFC 8684) and SMC (RFC 7609), which fall back to plain TCP, and the protocol over TCP
//     (TCP_ULP) that turns a TCP socket into an SMC socket. This also disables kernel TLS;
//   - data in the first packet (TCP fast open, RFC 7413) by a flag of a send call, which then connects itself. The
//     option TCP_FASTOPEN_CONNECT connects by connect(2), and stays available;
//   - io_uring: no filter sees its requests;
//   - all of it through the other tables of system calls that a kernel has: 32-bit ones, and x32. socketcall(2) of 32-bit
//     programs keeps its arguments in memory, where no filter sees them: the filter refuses the whole call. Such programs
//     have the direct calls, which Linux 4.3 added.

// Numbers that golang.org/x/sys does not have.
const (
	protocolMPTCP = 262
	protocolSMC   = 256 // IPPROTO_SMC, Linux 6.11
	familySMC     = 43
	sendFastOpen  = 0x20000000 // MSG_FASTOPEN
	x32Bit        = 0x40000000
)

// architecture is one table of system calls: its name for filters, and the numbers of the filtered calls. Zero is
// none.
type architecture struct {
	audit                  uint32
	x32                    bool // numbers with x32Bit are another table
	socket, socketpair     uint32
	send                   []uint32 // flags are their fourth argument
	sendmsg, setsockopt    uint32
	ioUringSetup, multiple uint32 // multiple is socketcall
}

// architectures returns the tables that a kernel of a machine may have, by the machine's name in Go.
func architectures(machine string) []architecture {
	switch machine {
	case "amd64":
		return []architecture{
			{audit: unix.AUDIT_ARCH_X86_64, x32: true, socket: 41, socketpair: 53, send: []uint32{44, 307}, sendmsg: 46,
				setsockopt: 54, ioUringSetup: 425},
			{audit: unix.AUDIT_ARCH_I386, socket: 359, socketpair: 360, send: []uint32{369, 345}, sendmsg: 370,
				setsockopt: 366, ioUringSetup: 425, multiple: 102},
		}
	case "arm64":
		return []architecture{
			{audit: unix.AUDIT_ARCH_AARCH64, socket: 198, socketpair: 199, send: []uint32{206, 269}, sendmsg: 211,
				setsockopt: 208, ioUringSetup: 425},
			{audit: unix.AUDIT_ARCH_ARM, socket: 281, socketpair: 288, send: []uint32{289, 290, 374}, sendmsg: 296,
				setsockopt: 294, ioUringSetup: 425, multiple: 102},
		}
	}
	return nil
}

// socketFilter returns the filter of this machine.
func socketFilter() ([]unix.SockFilter, error) {
	tables := architectures(runtime.GOARCH)
	if tables == nil {
		return nil, fmt.Errorf("system calls of %s are not known here, amd64's and arm64's are", runtime.GOARCH)
	}
	return assemble(tables), nil
}

// filterSockets installs the filter on this thread.
func filterSockets() error {
	filter, err := socketFilter()
	if err != nil {
		return err
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]} //nolint:gosec // some hundred at most
	if _, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0,
		uintptr(unsafe.Pointer(&program))); errno != 0 {
		return fmt.Errorf("filter system calls: %w", errno)
	}
	return nil
}

// assemble makes the filter of tables, with one part for each. It refuses a call through any other table.
func assemble(tables []architecture) []unix.SockFilter {
	var filter program
	for _, table := range tables {
		filter.load(offsetArchitecture)
		filter.unless(unix.BPF_JEQ, table.audit, table.rules())
	}
	filter.refuse(unix.ENOSYS)
	return filter
}

// rules returns the rules of one table. They end in an answer.
func (a architecture) rules() program {
	var rules program
	rules.load(offsetNumber)
	if a.x32 {
		var other program
		other.refuse(unix.ENOSYS) // all of them: distributions' kernels do not have the table
		rules.unless(unix.BPF_JGE, x32Bit, other)
	}
	var never, socket, option program
	never.refuse(unix.ENOSYS)
	for _, number := range []uint32{a.ioUringSetup, a.multiple} {
		if number != 0 {
			rules.unless(unix.BPF_JEQ, number, never)
		}
	}
	socket.sockets()
	for _, number := range []uint32{a.socket, a.socketpair} {
		rules.unless(unix.BPF_JEQ, number, socket)
	}
	for _, number := range a.send {
		rules.unless(unix.BPF_JEQ, number, sends(3))
	}
	rules.unless(unix.BPF_JEQ, a.sendmsg, sends(2))
	option.options()
	rules.unless(unix.BPF_JEQ, a.setsockopt, option)
	rules.allow()
	return rules
}
