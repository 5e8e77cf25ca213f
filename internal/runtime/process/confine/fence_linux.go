package confine

import (
	"errors"
	"fmt"
	"math"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Versions of Landlock's interface (landlock(7)) with relevant features.
const (
	landlockNetwork = 4 // rules for TCP ports, Linux 6.7
	landlockScopes  = 6 // abstract Unix sockets, Linux 6.12
)

// landlockRuleNetPort is LANDLOCK_RULE_NET_PORT, an enum in the kernel's header.
const landlockRuleNetPort = 2

// landlockRuleset is struct landlock_ruleset_attr, landlockPort struct landlock_net_port_attr.
type landlockRuleset struct{ files, network, scopes uint64 }

type landlockPort struct{ access, port uint64 }

// FenceSupported returns nil when this kernel supports a Fence, else ErrNoFence with the missing feature. It does not
// cover processes that are already running.
func FenceSupported() error {
	version, err := landlockVersion()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNoFence, err)
	}
	if version < landlockNetwork {
		return fmt.Errorf("%w: Landlock of this kernel (version %d) has no rules for TCP ports: Linux 6.7 or later has",
			ErrNoFence, version)
	}
	if err := addable(); err != nil {
		return fmt.Errorf("%w: %w", ErrNoFence, err)
	}
	if _, err := socketFilter(); err != nil {
		return fmt.Errorf("%w: %w", ErrNoFence, err)
	}
	if unix.Geteuid() == 0 {
		if err := rawSocketsDroppable(); err != nil {
			return fmt.Errorf("%w: %w", ErrNoFence, err)
		}
	}
	action := uint32(unix.SECCOMP_RET_ERRNO)
	if _, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_GET_ACTION_AVAIL, 0,
		uintptr(unsafe.Pointer(&action))); errno != 0 {
		return fmt.Errorf("%w: the kernel, or the container, allows no seccomp filters: %w", ErrNoFence, errno)
	}
	return nil
}

// landlockVersion returns the version of the interface. It ignores the errata that the kernel reports with it
// (LANDLOCK_CREATE_RULESET_ERRATA). The one for TCP rules made them apply to too many sockets, not too few. The
// filter refuses the sockets that the fix exempts (MPTCP, SMC) on all kernels.
func landlockVersion() (int, error) {
	version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	switch {
	case errno == unix.ENOSYS:
		return 0, errors.New("the kernel has no Landlock (CONFIG_SECURITY_LANDLOCK, Linux 6.7 or later)")
	case errno == unix.EOPNOTSUPP:
		return 0, errors.New("the kernel was booted without Landlock: add it to lsm= of its command line")
	case errno != 0:
		return 0, fmt.Errorf("the kernel, or the container's seccomp profile, refuses Landlock: %w", errno)
	}
	return int(version), nil //nolint:gosec // a small number
}

// addable reports whether a rule for a port can be added: a kernel without TCP has the interface but refuses the
// rule.
func addable() error {
	ruleset, err := newRuleset(landlockNetwork)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(ruleset) }()
	return allow(ruleset, math.MaxUint16)
}

// raise puts this thread, and the program that it becomes, behind the fence.
func raise(fenced map[uint16]bool) error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("forbid new rights: %w", err)
	}
	if err := dropRawSockets(); err != nil {
		return err
	}
	if err := restrict(fenced); err != nil {
		return err
	}
	return filterSockets()
}

// restrict enters a Landlock domain that may connect to all ports except the fenced ones. Landlock has no rule for a
// range and no deny rule: each open port needs one call.
func restrict(fenced map[uint16]bool) error {
	version, err := landlockVersion()
	if err != nil {
		return err
	}
	ruleset, err := newRuleset(version)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(ruleset) }()
	for port := range math.MaxUint16 + 1 {
		if fenced[uint16(port)] { //nolint:gosec // bounded above
			continue
		}
		if err := allow(ruleset, uint16(port)); err != nil { //nolint:gosec // as above
			return err
		}
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(ruleset), 0, 0); errno != 0 { //nolint:gosec // open
		return fmt.Errorf("enter the Landlock domain: %w", errno)
	}
	return nil
}

// newRuleset makes the ruleset of a version. If the kernel supports it, the ruleset blocks abstract Unix sockets of
// programs outside. A name in the abstract namespace needs no file, so no view of the file system hides it. Some of
// them (an old session bus, an X server, a multiplexer) belong to programs that run or type commands on request.
// Abstract sockets of the program and its children still work, and so does an X server that listens only on its file.
func newRuleset(version int) (int, error) {
	attr := landlockRuleset{network: unix.LANDLOCK_ACCESS_NET_CONNECT_TCP}
	size := unsafe.Offsetof(attr.scopes) // an older kernel refuses a structure with fields that it does not know
	if version >= landlockScopes {
		attr.scopes, size = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET, unsafe.Sizeof(attr)
	}
	ruleset, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), size, 0)
	if errno != 0 {
		return -1, fmt.Errorf("make a Landlock ruleset: %w", errno)
	}
	return int(ruleset), nil //nolint:gosec // a descriptor
}

func allow(ruleset int, port uint16) error {
	rule := landlockPort{unix.LANDLOCK_ACCESS_NET_CONNECT_TCP, uint64(port)}
	if _, _, errno := unix.RawSyscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), landlockRuleNetPort, //nolint:gosec // open
		uintptr(unsafe.Pointer(&rule)), 0, 0, 0); errno != 0 {
		return fmt.Errorf("make a Landlock rule for port %d: %w", port, errno)
	}
	return nil
}

// dropRawSockets takes CAP_NET_RAW from a program of root. With it, a program can send TCP packets on a raw socket,
// past every check of connections. A container gives it to root without further rights. No fence stops a program with
// more of root's rights (mounts, modules, the firewall). A program of another user has no rights at this point, and
// can gain none.
func dropRawSockets() error {
	if unix.Geteuid() != 0 {
		return nil
	}
	if err := rawSocketsDroppable(); err != nil {
		return err
	}
	header, sets, err := capabilities()
	if err != nil {
		return err
	}
	// The bounding set limits root's next program; inheritable rights are added to it.
	if err := unix.Prctl(unix.PR_CAPBSET_DROP, unix.CAP_NET_RAW, 0, 0, 0); err != nil && !errors.Is(err, unix.EPERM) {
		return fmt.Errorf("give up the right to raw sockets: %w", err)
	}
	sets[0].Inheritable &^= 1 << unix.CAP_NET_RAW
	if err := unix.Capset(&header, &sets[0]); err != nil {
		return fmt.Errorf("give up the right to raw sockets: %w", err)
	}
	return nil
}

// rawSocketsDroppable returns why root's programs would keep the right to raw sockets, nil when they lose it.
func rawSocketsDroppable() error {
	has, err := unix.PrctlRetInt(unix.PR_CAPBSET_READ, unix.CAP_NET_RAW, 0, 0, 0)
	if err != nil {
		return fmt.Errorf("look for the right to raw sockets: %w", err)
	}
	_, sets, err := capabilities()
	if err == nil && has != 0 && sets[0].Effective&(1<<unix.CAP_SETPCAP) == 0 {
		err = errors.New("root may use raw sockets here and cannot give that up: drop NET_RAW from the container, or add SETPCAP")
	}
	return err
}

func capabilities() (header unix.CapUserHeader, sets [2]unix.CapUserData, err error) {
	header.Version = unix.LINUX_CAPABILITY_VERSION_3
	if err := unix.Capget(&header, &sets[0]); err != nil {
		return header, sets, fmt.Errorf("read the rights of this program: %w", err)
	}
	return header, sets, nil
}
