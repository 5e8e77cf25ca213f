package resources

import (
	"fmt"
	"syscall"
)

// KeepPrivate keeps other processes of this user, such as the commands of an agent, from reading the server's
// environment and memory, where the secrets are, and from tracing it; it also writes no core. It holds for the server
// alone: what it executes is as readable as ever, so that leftovers are found by their mark. Root is kept from nothing.
func KeepPrivate() error {
	if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, syscall.PR_SET_DUMPABLE, 0, 0); errno != 0 {
		return fmt.Errorf("keep the server's environment private: %w", errno)
	}
	return nil
}
