package confine

import (
	"encoding/binary"
	"testing"

	"golang.org/x/sys/unix"
)

// systemCall is a call to test a filter with.
type systemCall struct {
	table, number uint32
	arguments     [6]uint64
}

// ask runs a filter as the kernel does, and returns the error of its answer, 0 when it allows the call.
func ask(t *testing.T, filter []unix.SockFilter, c systemCall) unix.Errno {
	t.Helper()
	var data [64]byte
	binary.LittleEndian.PutUint32(data[0:], c.number)
	binary.LittleEndian.PutUint32(data[4:], c.table)
	for i, argument := range c.arguments {
		binary.LittleEndian.PutUint64(data[16+8*i:], argument)
	}
	var loaded uint32
	for at := 0; ; at++ {
		step := filter[at]
		jump := map[bool]uint8{true: step.Jt, false: step.Jf}
		switch step.Code {
		case unix.BPF_LD | unix.BPF_W | unix.BPF_ABS:
			loaded = binary.LittleEndian.Uint32(data[step.K:])
		case unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K:
			at += int(jump[loaded == step.K])
		case unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K:
			at += int(jump[loaded >= step.K])
		case unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K:
			at += int(jump[loaded&step.K != 0])
		case unix.BPF_RET | unix.BPF_K:
			if step.K == unix.SECCOMP_RET_ALLOW {
				return 0
			}
			return unix.Errno(step.K & unix.SECCOMP_RET_DATA)
		default:
			t.Fatalf("step %d is unknown: %+v", at, step)
		}
	}
}

// The filters of all machines, with the numbers of their system calls from the kernel's tables.
func TestFiltersOfAllMachines(t *testing.T) {
	const none = 0
	for machine, tables := range map[string][]struct {
		audit, socket, socketpair, connect, sendto, sendmsg, sendmmsg, setsockopt, multiple uint32
	}{
		"amd64": {{0xc000003e, 41, 53, 42, 44, 46, 307, 54, none}, {0x40000003, 359, 360, 362, 369, 370, 345, 366, 102}},
		"arm64": {{0xc00000b7, 198, 199, 203, 206, 211, 269, 208, none}, {0x40000028, 281, 288, 283, 290, 296, 374, 294, 102}},
	} {
		filter := assemble(architectures(machine))
		for _, n := range tables {
			const high = 0xdead << 32 // the kernel ignores it
			for _, one := range []struct {
				number    uint32
				arguments [6]uint64
				want      unix.Errno
			}{
				{n.socket, [6]uint64{unix.AF_INET, 1, 0}, 0}, {n.socket, [6]uint64{unix.AF_INET, 1, 6}, 0},
				{n.socket, [6]uint64{unix.AF_INET, 1, 262}, unix.EPROTONOSUPPORT},
				{n.socket, [6]uint64{unix.AF_INET6 | high, 1 | high, 262 | high}, unix.EPROTONOSUPPORT},
				{n.socket, [6]uint64{unix.AF_INET6, 1, 256}, unix.EPROTONOSUPPORT},
				{n.socket, [6]uint64{43, 1, 0}, unix.EPROTONOSUPPORT}, {n.socket, [6]uint64{43 | high, 1, 1}, unix.EPROTONOSUPPORT},
				{n.socket, [6]uint64{unix.AF_PACKET, 3, 256}, 0}, {n.socket, [6]uint64{unix.AF_UNIX, 1, 0}, 0},
				{n.socketpair, [6]uint64{unix.AF_INET, 1, 262}, unix.EPROTONOSUPPORT}, {n.socketpair, [6]uint64{unix.AF_UNIX, 1, 0}, 0},
				{n.connect, [6]uint64{3, 262, 262, unix.MSG_FASTOPEN}, 0},
				{n.sendto, [6]uint64{3, 0, 1, unix.MSG_NOSIGNAL}, 0}, {n.sendto, [6]uint64{3, 0, unix.MSG_FASTOPEN, 0}, 0},
				{n.sendto, [6]uint64{3, 0, 1, unix.MSG_FASTOPEN | unix.MSG_NOSIGNAL}, unix.EOPNOTSUPP},
				{n.sendmsg, [6]uint64{3, 0, 0, unix.MSG_FASTOPEN}, 0},
				{n.sendmsg, [6]uint64{3, 0, unix.MSG_FASTOPEN | unix.MSG_DONTWAIT}, unix.EOPNOTSUPP},
				{n.sendmmsg, [6]uint64{3, 0, 1, 0}, 0}, {n.sendmmsg, [6]uint64{3, 0, 1, unix.MSG_FASTOPEN | high}, unix.EOPNOTSUPP},
				{n.setsockopt, [6]uint64{3, unix.SOL_TCP, unix.TCP_ULP}, unix.ENOPROTOOPT},
				{n.setsockopt, [6]uint64{3, unix.SOL_TCP, unix.TCP_NODELAY}, 0}, {n.setsockopt, [6]uint64{3, unix.SOL_SOCKET, 31}, 0},
				{425, [6]uint64{8}, unix.ENOSYS}, {426, [6]uint64{8}, 0}, {1, [6]uint64{}, 0}, {n.multiple, [6]uint64{1}, unix.ENOSYS},
			} {
				if one.number == none {
					continue
				}
				if got := ask(t, filter, systemCall{n.audit, one.number, one.arguments}); got != one.want {
					t.Errorf("%s, table %#x, call %d %v: %v, want %v", machine, n.audit, one.number, one.arguments, got, one.want)
				}
			}
		}
		if got := ask(t, filter, systemCall{0xdead, 1, [6]uint64{}}); got != unix.ENOSYS {
			t.Errorf("%s: a table that is not known: %v", machine, got)
		}
	}
	for _, one := range []systemCall{
		{0xc000003e, 0x40000000 | 41, [6]uint64{unix.AF_INET, 1, 262}}, {0xc000003e, 0x40000000 | 518, [6]uint64{}},
	} {
		if got := ask(t, assemble(architectures("amd64")), one); got != unix.ENOSYS {
			t.Errorf("x32 call %d: %v", one.number, got)
		}
	}
	if filter := assemble(architectures("arm64")); ask(t, filter,
		systemCall{0x40000028, 289, [6]uint64{3, 0, 1, unix.MSG_FASTOPEN}}) != unix.EOPNOTSUPP {
		t.Error("send of 32-bit ARM opens fast")
	}
}
