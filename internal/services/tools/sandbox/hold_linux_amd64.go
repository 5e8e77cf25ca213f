package sandbox

import "golang.org/x/sys/unix"

const (
	nativeArch = unix.AUDIT_ARCH_X86_64
	// otherNumbers is the first call number of another numbering (x32).
	otherNumbers = 0x40000000
)

func setsModes() []moded {
	return []moded{{unix.SYS_CHMOD, 1, -1}, {unix.SYS_FCHMOD, 1, -1}, {unix.SYS_FCHMODAT, 2, -1}, {unix.SYS_FCHMODAT2, 2, -1},
		{unix.SYS_CREAT, 1, -1}, {unix.SYS_MKNOD, 1, -1}, {unix.SYS_MKNODAT, 2, -1}, {unix.SYS_OPEN, 2, 1}, {unix.SYS_OPENAT, 3, 2}}
}
