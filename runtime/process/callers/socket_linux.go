package callers

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"

	"golang.org/x/sys/unix"
)

// Sizes and places of the kernel's structures inet_diag_req_v2 and inet_diag_msg, see sock_diag(7).
const (
	requestBytes = unix.SizeofNlMsghdr + 56
	answerBytes  = unix.SizeofNlMsghdr + 72
	inodeAt      = unix.SizeofNlMsghdr + 68
	anyCookie    = 0xffffffff
)

// inode is the number of a socket of this machine, given its own address and its peer's. 0 when no process holds it any
// more; known is false when there is no such socket here: it has gone without a trace, or is another machine's.
func inode(own, peer netip.AddrPort) (number uint32, known bool, err error) {
	socket, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return 0, false, fmt.Errorf("ask the kernel for a socket: %w", err)
	}
	defer func() { _ = unix.Close(socket) }()
	if err := unix.Sendto(socket, question(own, peer), 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return 0, false, fmt.Errorf("ask the kernel for a socket: %w", err)
	}
	answer := make([]byte, 4096)
	n, _, err := unix.Recvfrom(socket, answer, 0)
	if err != nil {
		return 0, false, fmt.Errorf("ask the kernel for a socket: %w", err)
	}
	answer = answer[:n]
	if n < unix.SizeofNlMsghdr+4 {
		return 0, false, fmt.Errorf("the kernel's answer about a socket has %d bytes", n)
	}
	if kind := binary.NativeEndian.Uint16(answer[4:]); kind == unix.NLMSG_ERROR {
		code := unix.Errno(
			-int32(binary.NativeEndian.Uint32(answer[unix.SizeofNlMsghdr:]))) //nolint:gosec // a negated error number
		if errors.Is(code, unix.ENOENT) {
			return 0, false, nil
		}
		return 0, false, fmt.Errorf("ask the kernel for a socket: %w", code)
	}
	if n < answerBytes {
		return 0, false, fmt.Errorf("the kernel's answer about a socket has %d bytes", n)
	}
	return binary.NativeEndian.Uint32(answer[inodeAt:]), true, nil
}

// question asks for the one TCP socket between two addresses.
func question(own, peer netip.AddrPort) []byte {
	m := make([]byte, requestBytes)
	binary.NativeEndian.PutUint32(m, requestBytes)
	binary.NativeEndian.PutUint16(m[4:], unix.SOCK_DIAG_BY_FAMILY)
	binary.NativeEndian.PutUint16(m[6:], unix.NLM_F_REQUEST)
	body := m[unix.SizeofNlMsghdr:]
	family := byte(unix.AF_INET6)
	if own.Addr().Is4() {
		family = unix.AF_INET
	}
	body[0], body[1] = family, unix.IPPROTO_TCP
	binary.NativeEndian.PutUint32(body[4:], 0xffffffff) // in any state
	binary.BigEndian.PutUint16(body[8:], own.Port())
	binary.BigEndian.PutUint16(body[10:], peer.Port())
	copy(body[12:28], own.Addr().AsSlice())
	copy(body[28:44], peer.Addr().AsSlice())
	binary.NativeEndian.PutUint32(body[48:], anyCookie)
	binary.NativeEndian.PutUint32(body[52:], anyCookie)
	return m
}
