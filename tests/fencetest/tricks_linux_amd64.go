package fencetest

import (
	"encoding/binary"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// machineTricks returns the ways that exist only on this architecture: the 32-bit table of system calls, which any
// program can use, and x32.
func machineTricks() map[string]trick {
	return map[string]trick{
		"32-bit connect": func(t Target) error {
			return with32(func(m *low) error { return m.connect(0, m.address(t.Fenced)) })
		},
		"32-bit connect to the open port": func(t Target) error {
			return with32(func(m *low) error { return m.connect(0, m.address(t.Open)) })
		},
		"32-bit MPTCP": func(t Target) error {
			return with32(func(m *low) error { return m.connect(262, m.address(t.Fenced)) })
		},
		"32-bit fast open by sendto": func(t Target) error {
			return with32(func(m *low) error {
				return m.send(func(fd uintptr) error {
					return m.call(369, fd, m.place("x"), 1, unix.MSG_FASTOPEN, m.address(t.Fenced), 16)
				})
			})
		},
		"32-bit fast open by sendmsg": func(t Target) error {
			return with32(func(m *low) error {
				return m.send(func(fd uintptr) error { return m.call(370, fd, m.message(t.Fenced), unix.MSG_FASTOPEN) })
			})
		},
		"32-bit fast open by sendmmsg": func(t Target) error {
			return with32(func(m *low) error {
				return m.send(func(fd uintptr) error { return m.call(345, fd, m.message(t.Fenced), 1, unix.MSG_FASTOPEN) })
			})
		},
		"32-bit SMC over TCP": func(Target) error {
			return with32(func(m *low) error {
				return m.send(func(fd uintptr) error { return m.call(366, fd, unix.SOL_TCP, unix.TCP_ULP, m.place("smc"), 3) })
			})
		},
		"32-bit io_uring": func(Target) error {
			return with32(func(m *low) error { return m.call(425, 8, m.place(string(make([]byte, 120)))) })
		},
		"32-bit socketcall": func(t Target) error { return with32(func(m *low) error { return m.socketcall(t) }) },
		"x32 MPTCP":         func(Target) error { return call(0x40000000|unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_STREAM, 262) },
	}
}

// machineAnswers are the errors of machineTricks.
func machineAnswers() map[string]string {
	return map[string]string{
		"32-bit connect": "EACCES", "32-bit connect to the open port": "ok", "32-bit MPTCP": "EPROTONOSUPPORT",
		"32-bit fast open by sendto": "ENOTSUP", "32-bit fast open by sendmsg": "ENOTSUP",
		"32-bit fast open by sendmmsg": "ENOTSUP", "32-bit SMC over TCP": "ENOPROTOOPT", "32-bit io_uring": "ENOSYS",
		"32-bit socketcall": "ENOSYS", "x32 MPTCP": "ENOSYS",
	}
}

// low is memory below 4 GiB for 32-bit calls, with the code that makes such a call at its start.
type low struct {
	memory []byte
	used   int
	enter  func(number, a, b, c, d, e, f uintptr) uintptr
}

// with32 runs a trick that makes 32-bit calls.
func with32(try func(m *low) error) error {
	memory, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE|unix.PROT_EXEC,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_32BIT)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Munmap(memory) }()
	// Arguments arrive in Go's registers (AX, BX, CX, DI, SI, R8, R9) and move to those of int 0x80 (eax, ebx, ecx, edx,
	// esi, edi, ebp).
	code := []byte{
		0x48, 0x89, 0xfa, // mov rdx, rdi
		0x4c, 0x89, 0xc7, // mov rdi, r8
		0x55,             // push rbp
		0x4c, 0x89, 0xcd, // mov rbp, r9
		0xcd, 0x80, // int 0x80
		0x5d, // pop rbp
		0xc3, // ret
	}
	m := &low{memory: memory, used: copy(memory, code)}
	entry := &struct{ code *byte }{&memory[0]} // a function value points to this
	m.enter = *(*func(number, a, b, c, d, e, f uintptr) uintptr)(unsafe.Pointer(&entry))
	defer runtime.KeepAlive(entry)
	return try(m)
}

// place copies data into the memory and returns its address.
func (m *low) place(what string) uintptr {
	at := (m.used + 15) &^ 15
	m.used = at + copy(m.memory[at:], what)
	return uintptr(unsafe.Pointer(&m.memory[at]))
}

func (m *low) words(all ...uintptr) uintptr {
	var text []byte
	for _, word := range all {
		text = binary.LittleEndian.AppendUint32(text, uint32(word))
	}
	return m.place(string(text))
}

func (m *low) address(port int) uintptr {
	raw := raw4(port)
	return m.place(string(unsafe.Slice((*byte)(unsafe.Pointer(raw)), unsafe.Sizeof(*raw))))
}

// message returns a 32-bit struct mmsghdr, which starts with a struct msghdr.
func (m *low) message(port int) uintptr {
	return m.words(m.address(port), 16, m.words(m.place("x"), 1), 1, 0, 0, 0, 0)
}

func (m *low) call(number uintptr, arguments ...uintptr) error {
	_, err := m.result(number, arguments...)
	return err
}

func (m *low) result(number uintptr, arguments ...uintptr) (uintptr, error) {
	var a [6]uintptr
	copy(a[:], arguments)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if r := int32(m.enter(number, a[0], a[1], a[2], a[3], a[4], a[5])); r < 0 {
		return 0, unix.Errno(-r)
	} else {
		return uintptr(r), nil
	}
}

func (m *low) connect(protocol, address uintptr) error {
	fd, err := m.result(359, unix.AF_INET, unix.SOCK_STREAM, protocol)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(int(fd)) }()
	return m.call(362, fd, address, 16)
}

// send makes a call on a new 64-bit socket. A connection in progress counts as connected.
func (m *low) send(try func(fd uintptr) error) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	if err := try(uintptr(fd)); err != nil && err != unix.EINPROGRESS { //nolint:errorlint // by call
		return err
	}
	return nil
}

// socketcall creates an MPTCP socket with the call that takes its arguments in memory, and connects it.
func (m *low) socketcall(t Target) error {
	fd, err := m.result(102, 1, m.words(unix.AF_INET, unix.SOCK_STREAM, 262))
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(int(fd)) }()
	return m.call(102, 3, m.words(fd, m.address(t.Fenced), 16))
}
