package confine

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// errHidden is why a program cannot work in a hidden folder.
var errHidden = errors.New("it is among the server's files, which are hidden from agents")

// noProgram exceeds the maximum length of a path: executing it fails with ENAMETOOLONG.
var noProgram = "/" + strings.Repeat("x", 1<<13)

// Enter returns why a program under the plan cannot have a folder as its working directory, nil when it can.
func (p Plan) Enter(folder string) error {
	if real, err := filepath.EvalSymlinks(folder); err == nil && p.hides(real) {
		return errHidden
	}
	if !p.User {
		return unix.Access(folder, unix.X_OK)
	}
	// A child becomes that user, enters the folder, and then fails to execute the program: the error shows the failed
	// step.
	_, err := syscall.ForkExec(noProgram, []string{noProgram}, &syscall.ProcAttr{Dir: folder, Sys: &syscall.SysProcAttr{
		Credential: &syscall.Credential{Uid: p.UID, Gid: p.GID, Groups: p.Groups}}})
	if errors.Is(err, unix.ENAMETOOLONG) {
		return nil
	}
	return fmt.Errorf("user %d: %w", p.UID, err)
}

// hides reports whether a real path is hidden from the program.
func (p Plan) hides(path string) bool {
	in := func(folder string) bool {
		inside, err := filepath.Rel(folder, path)
		return err == nil && filepath.IsLocal(inside)
	}
	return slices.ContainsFunc(p.Hide, in) && !slices.ContainsFunc(p.Keep, in)
}
