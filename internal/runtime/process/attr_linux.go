package process

import "syscall"

// attributes puts the process into a new process group and sets its parent-death signal. A server's child gets
// SIGTERM: codex then kills its commands, which have separate sessions. A shim's child gets SIGKILL, because no
// process is left that could escalate.
func attributes(dieWithParent bool) *syscall.SysProcAttr {
	signal := syscall.SIGTERM
	if dieWithParent {
		signal = syscall.SIGKILL
	}
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: signal}
}
