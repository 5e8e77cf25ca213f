package resources

import (
	"fmt"
	"syscall"
)

// KeepPrivate prevents other processes of this user, such as the commands of an agent, from tracing the server and from
// reading its environment and memory, where the secrets are. It also disables core dumps. It applies to the server
// alone: programs that the server executes stay readable, so that leftovers are found by their mark. It does not
// restrict root.
func KeepPrivate() error {
	if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, syscall.PR_SET_DUMPABLE, 0, 0); errno != 0 {
		return fmt.Errorf("keep the server's environment private: %w", errno)
	}
	return nil
}
