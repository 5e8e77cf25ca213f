// Package doors registers the TCP ports on which servers of this machine let people in, so that every server can keep
// its agents away from the ports of all.
//
// A port is a file named by it, in a folder of the user or of root, which its server holds locked for writing while it
// lives. The kernel gives the lock up with the process, whatever ends it: a file that is not locked is stale and counts
// for nothing. It owns these folders; it must never know what a port is for, nor how programs are kept from it.
//
// What is not covered: servers in another container, or with another XDG_RUNTIME_DIR, do not see each other; a user's
// server sees root's and the user's own ones, root's sees those of all users who are logged in. A program that may write
// to a folder can remove what is registered there, or register ports itself: the folder must be protected from agents
// (confine.Plan.Protect).
package doors

import (
	"os"
	"path/filepath"
	"strconv"
)

// Other is a server that has registered a port.
type Other struct {
	// Port is the TCP port, PID the process that registered it, as that one sees itself.
	Port uint16
	PID  int
}

const (
	// rootFolder is where root's servers register.
	rootFolder = "/run/harness"
	// userFolders are where those of users do, as a pattern.
	userFolders = "/run/user/*/harness"
	folderName  = "harness"
)

// Folders are where servers register: own is this user's, all are patterns of those to be read. They need not be there.
// lookup reads the environment (os.Getenv).
func Folders(lookup func(string) string) (own string, all []string) {
	root, runtime := os.Geteuid() == 0, lookup("XDG_RUNTIME_DIR")
	switch {
	case root && runtime == "/run/user/0": // of a login; users could not read it
		own = rootFolder
	case filepath.IsAbs(runtime):
		own = filepath.Join(runtime, folderName)
	case root:
		own = rootFolder
	default:
		own = filepath.Join(os.TempDir(), folderName+"-"+strconv.Itoa(os.Geteuid()))
	}
	all = []string{own}
	if own != rootFolder {
		all = append(all, rootFolder)
	}
	if root {
		all = append(all, userFolders)
	}
	return own, all
}
