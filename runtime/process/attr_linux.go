package process

import "syscall"

// attributes puts the process into its own group and has the kernel send it SIGTERM when the server dies, however that happens. SIGTERM and
// not SIGKILL: codex then kills the commands it runs, which live in sessions of their own.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}
