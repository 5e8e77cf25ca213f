package fencetest

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// trick is one way to connect to a port. It returns the error of the connecting call, nil if it succeeded.
type trick func(t Target) error

// tricks returns the ways that exist on any machine. The test's table has the errors.
func tricks() map[string]trick {
	all := map[string]trick{
		"open port": func(t Target) error { return connect(unix.AF_INET, 0, 0, in4(t.Open)) },
		"open port by IPv6": func(t Target) error {
			return connect(unix.AF_INET6, 0, 0, &unix.SockaddrInet6{Port: t.Open, Addr: [16]byte{15: 1}})
		},
		"IPv4":         func(t Target) error { return connect(unix.AF_INET, 0, 0, in4(t.Fenced)) },
		"IPv6":         func(t Target) error { return connect(unix.AF_INET6, 0, 0, in6(t.Fenced, loopback6())) },
		"mapped":       func(t Target) error { return connect(unix.AF_INET6, 0, 0, in6(t.Fenced, mapped())) },
		"non-blocking": func(t Target) error { return connect(unix.AF_INET, unix.SOCK_NONBLOCK, 0, in4(t.Fenced)) },
		"by name of the protocol": func(t Target) error {
			return connect(unix.AF_INET, 0, unix.IPPROTO_TCP, in4(t.Fenced))
		},
		"MPTCP":           func(t Target) error { return connect(unix.AF_INET, 0, 262, in4(t.Fenced)) },
		"MPTCP by IPv6":   func(t Target) error { return connect(unix.AF_INET6, 0, 262, in6(t.Fenced, mapped())) },
		"pair of MPTCP":   func(Target) error { _, err := unix.Socketpair(unix.AF_INET, unix.SOCK_STREAM, 262); return err },
		"SMC":             func(t Target) error { return connect(43, 0, 0, in4(t.Fenced)) },
		"SMC by protocol": func(t Target) error { return connect(unix.AF_INET, 0, 256, in4(t.Fenced)) },
		"SMC over TCP":    becomeSMC,
		"fast open by sendto": func(t Target) error {
			return fastOpen(t, func(fd int, to *unix.RawSockaddrInet4) error { return sendTo(fd, to, unix.MSG_FASTOPEN) })
		},
		"fast open by sendmsg":                 func(t Target) error { return fastOpen(t, sendMsg) },
		"fast open by sendmmsg":                func(t Target) error { return fastOpen(t, sendMmsg) },
		"fast open by the flags of a message":  func(t Target) error { return fastOpen(t, sendMsgFlagInside) },
		"fast open by connect":                 fastOpenConnect,
		"fast open of another address":         fastOpenElsewhere,
		"connect after dissolving an open one": reconnect,
		"io_uring": func(Target) error {
			return call(unix.SYS_IO_URING_SETUP, 8, uintptr(unsafe.Pointer(&[120]byte{})), 0)
		},
		"another thread":                 fromThread,
		"a thread's own descriptors":     fromOwnDescriptors,
		"a socket out of a message":      fromMessage,
		"a descriptor of the listener's": stealDescriptor,
		"a raw socket":                   rawSocket,
		"abstract socket":                func(t Target) error { return connectUnix("@" + t.Abstract) },
		"own abstract socket":            ownAbstract,
	}
	for name, trick := range machineTricks() {
		all[name] = trick
	}
	return all
}

func in4(port int) *unix.SockaddrInet4 {
	return &unix.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}}
}

func in6(port int, address [16]byte) *unix.SockaddrInet6 {
	return &unix.SockaddrInet6{Port: port, Addr: address}
}

func loopback6() [16]byte { return [16]byte{15: 1} }

func mapped() [16]byte { return [16]byte{10: 0xff, 11: 0xff, 12: 127, 15: 1} }

// connect makes a socket and connects it. A connection in progress counts as connected.
func connect(family, kind, protocol int, to unix.Sockaddr) error {
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|kind, protocol)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	if err := unix.Connect(fd, to); err != nil && !errors.Is(err, unix.EINPROGRESS) {
		return err
	}
	return nil
}

func call(number uintptr, arguments ...uintptr) error {
	var a [6]uintptr
	copy(a[:], arguments)
	if _, _, errno := unix.Syscall6(number, a[0], a[1], a[2], a[3], a[4], a[5]); errno != 0 {
		return errno
	}
	return nil
}

// becomeSMC turns a TCP socket into an SMC socket, which Landlock does not restrict. Few kernels support SMC. The
// filter's error differs from theirs (ENOENT).
func becomeSMC(t Target) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	if err := unix.SetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_ULP, "smc"); err != nil {
		return err
	}
	return unix.Connect(fd, in4(t.Fenced))
}

func raw4(port int) *unix.RawSockaddrInet4 {
	raw := &unix.RawSockaddrInet4{Family: unix.AF_INET, Addr: [4]byte{127, 0, 0, 1}}
	*(*[2]byte)(unsafe.Pointer(&raw.Port)) = [2]byte{byte(port >> 8), byte(port)} //nolint:gosec // a port
	return raw
}

// fastOpen connects by sending, without a cookie from the server. A connection in progress (EINPROGRESS) counts as
// connected.
func fastOpen(t Target, send func(fd int, to *unix.RawSockaddrInet4) error) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	if err := unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_FASTOPEN_NO_COOKIE, 1); err != nil {
		return err
	}
	if err := send(fd, raw4(t.Fenced)); err != nil && !errors.Is(err, unix.EINPROGRESS) {
		return err
	}
	return nil
}

func sendTo(fd int, to *unix.RawSockaddrInet4, flags int) error {
	data := []byte("x")
	return call(unix.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(&data[0])), 1, uintptr(flags|unix.MSG_NOSIGNAL),
		uintptr(unsafe.Pointer(to)), unsafe.Sizeof(*to))
}

func message(to *unix.RawSockaddrInet4) *unix.Msghdr {
	data := []byte("x")
	vector := &unix.Iovec{Base: &data[0], Len: 1}
	return &unix.Msghdr{Name: (*byte)(unsafe.Pointer(to)), Namelen: uint32(unsafe.Sizeof(*to)), Iov: vector, Iovlen: 1}
}

func sendMsg(fd int, to *unix.RawSockaddrInet4) error {
	m := message(to)
	err := call(unix.SYS_SENDMSG, uintptr(fd), uintptr(unsafe.Pointer(m)), unix.MSG_FASTOPEN|unix.MSG_NOSIGNAL)
	runtime.KeepAlive(m)
	return err
}

// sendMsgFlagInside sets the flags in the message, which a kernel does not read.
func sendMsgFlagInside(fd int, to *unix.RawSockaddrInet4) error {
	m := message(to)
	m.Flags = unix.MSG_FASTOPEN
	err := call(unix.SYS_SENDMSG, uintptr(fd), uintptr(unsafe.Pointer(m)), unix.MSG_NOSIGNAL)
	runtime.KeepAlive(m)
	return err
}

func sendMmsg(fd int, to *unix.RawSockaddrInet4) error {
	m := &struct {
		unix.Msghdr
		sent uint32
	}{Msghdr: *message(to)}
	err := call(unix.SYS_SENDMMSG, uintptr(fd), uintptr(unsafe.Pointer(m)), 1, unix.MSG_FASTOPEN|unix.MSG_NOSIGNAL)
	runtime.KeepAlive(m)
	return err
}

// deferred returns a socket that connects with the first sent data.
func deferred() (int, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		return -1, err
	}
	for _, option := range []int{unix.TCP_FASTOPEN_NO_COOKIE, unix.TCP_FASTOPEN_CONNECT} {
		if err := unix.SetsockoptInt(fd, unix.IPPROTO_TCP, option, 1); err != nil {
			return -1, errors.Join(err, unix.Close(fd))
		}
	}
	return fd, nil
}

func fastOpenConnect(t Target) error {
	fd, err := deferred()
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	if err := unix.Connect(fd, in4(t.Fenced)); err != nil {
		return err
	}
	return sendTo(fd, raw4(t.Fenced), 0)
}

// fastOpenElsewhere connects to the open port, and names the fenced port with the connecting data. The data goes to
// the open port, or nowhere.
func fastOpenElsewhere(t Target) error {
	fd, err := deferred()
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	if err := unix.Connect(fd, in4(t.Open)); err != nil {
		return err
	}
	if err := sendTo(fd, raw4(t.Fenced), 0); err != nil && !errors.Is(err, unix.EINPROGRESS) {
		return err
	}
	peer, err := unix.Getpeername(fd)
	if err != nil {
		return err
	}
	if to, ok := peer.(*unix.SockaddrInet4); !ok || to.Port != t.Fenced {
		return errors.New("connected to the open port")
	}
	return nil
}

func reconnect(t Target) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	if err := unix.Connect(fd, in4(t.Open)); err != nil {
		return err
	}
	dissolve := raw4(t.Fenced)
	dissolve.Family = unix.AF_UNSPEC
	if err := call(unix.SYS_CONNECT, uintptr(fd), uintptr(unsafe.Pointer(dissolve)), unsafe.Sizeof(*dissolve)); err != nil {
		return fmt.Errorf("dissolve: %s", unix.ErrnoName(err.(unix.Errno))) //nolint:errorlint,forcetypeassert // by call
	}
	return unix.Connect(fd, in4(t.Fenced))
}

func fromThread(t Target) error {
	result := make(chan error)
	go func() {
		runtime.LockOSThread() // a separate thread, which ends with the goroutine
		result <- connect(unix.AF_INET, 0, 0, in4(t.Fenced))
	}()
	return <-result
}

func stealDescriptor(t Target) error {
	process, err := unix.PidfdOpen(t.PID, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(process) }()
	fd, err := unix.PidfdGetfd(process, t.FD, 0)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

func rawSocket(Target) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_TCP)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

func connectUnix(name string) error {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	return unix.Connect(fd, &unix.SockaddrUnix{Name: name})
}

func ownAbstract(t Target) error {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	name := "@" + t.Abstract + "-own"
	if err := errors.Join(unix.Bind(fd, &unix.SockaddrUnix{Name: name}), unix.Listen(fd, 1)); err != nil {
		return err
	}
	return connectUnix(name)
}
