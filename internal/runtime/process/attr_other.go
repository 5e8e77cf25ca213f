//go:build !linux

package process

import "syscall"

// attributes puts the process into its own group. There is no parent-death signal here: codex ends by itself when its
// stdin closes, and what does not is swept at the next start.
func attributes(bool) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
