//go:build !linux

package process

import "syscall"

// attributes puts the process into its own group. There is no parent-death signal here: codex ends when its stdin
// closes, and the next start sweeps the rest.
func attributes(bool) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
