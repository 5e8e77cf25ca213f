//go:build !linux

package process

import "syscall"

// attributes puts the process into a new process group. This system has no parent-death signal: codex exits when its
// stdin closes, and the next start sweeps the other processes.
func attributes(bool) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
