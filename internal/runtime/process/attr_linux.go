package process

import "syscall"

// attributes puts the process into its own group and has the kernel send it a signal when its parent dies,
// however that happens. SIGTERM from a server: codex then kills the commands it runs, which live in sessions of
// their own. SIGKILL from a shim: no process is left that could escalate.
func attributes(dieWithParent bool) *syscall.SysProcAttr {
	signal := syscall.SIGTERM
	if dieWithParent {
		signal = syscall.SIGKILL
	}
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: signal}
}
