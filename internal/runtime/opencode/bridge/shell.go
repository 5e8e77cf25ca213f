package bridge

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// kept returns the variables to hide from OpenCode's commands: their output goes to the model and into the
// transcript.
func kept() []string { return []string{passwordVariable, "OPENCODE_CONFIG_CONTENT"} }

// commandShell writes a wrapper of the user's shell without the hidden variables, and returns its path. OpenCode has
// no setting for that. A command of the same user may still read the values elsewhere.
func commandShell() (string, error) {
	real := os.Getenv("SHELL")
	// OpenCode recognizes shells by name, and replaces unknown ones.
	if !slices.Contains([]string{"bash", "zsh", "sh", "dash", "ksh"}, filepath.Base(real)) {
		real = "bash"
	}
	real, err := exec.LookPath(real)
	if err != nil {
		if real, err = exec.LookPath("sh"); err != nil {
			return "", fmt.Errorf("find a shell for OpenCode's commands: %w", err)
		}
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find a place for the shell of OpenCode's commands: %w", err)
	}
	folder := filepath.Join(cache, "harness", "shell")
	path := filepath.Join(folder, filepath.Base(real))
	quoted := "'" + strings.ReplaceAll(real, "'", `'\''`) + "'"
	script := fmt.Sprintf("#!/bin/sh\nunset %s\nSHELL=%s\nexport SHELL\nexec %s \"$@\"\n", strings.Join(kept(), " "),
		quoted, quoted)
	err = os.MkdirAll(folder, 0o700)
	if err == nil {
		var fresh *os.File // renamed: an older OpenCode may be running it
		if fresh, err = os.CreateTemp(folder, ".shell-"); err == nil {
			_, err = fresh.WriteString(script)
			err = errors.Join(err, fresh.Chmod(0o700), fresh.Close())
			if err == nil {
				err = os.Rename(fresh.Name(), path)
			}
		}
	}
	if err != nil {
		return "", fmt.Errorf("write the shell of OpenCode's commands: %w; make %s a folder its user can write to",
			err, folder)
	}
	return path, nil
}
