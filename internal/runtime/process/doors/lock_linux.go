package doors

import (
	"os"

	"golang.org/x/sys/unix"
)

// lock locks a file for writing until it is closed. The lock belongs to the open file (fcntl(2), F_OFD_SETLK), and
// requires write access: a process that can only read an entry cannot make it appear live.
func lock(file *os.File) error {
	return unix.FcntlFlock(file.Fd(), unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_WRLCK})
}

// locked reports whether an entry is locked by another open file.
func locked(file *os.File) (bool, error) {
	lock := unix.Flock_t{Type: unix.F_RDLCK}
	err := unix.FcntlFlock(file.Fd(), unix.F_OFD_GETLK, &lock)
	return lock.Type == unix.F_WRLCK, err
}
