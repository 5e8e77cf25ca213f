// Package doors registers the TCP ports of the servers on this machine, so that every server can keep its agents away
// from the ports of all.
//
// A port is a file with the port as its name, in a folder of the user or of root. Its server locks it for writing
// while it runs. The kernel releases the lock when the process ends, for any reason: an unlocked file is stale and
// has no effect. The package owns these folders. It must never know the purpose of a port, or how programs are kept
// from it.
//
// Limits: servers in another container, or with another XDG_RUNTIME_DIR, do not see each other. A user's server sees
// the servers of root and of that user; root's server sees those of all logged-in users. A program that may write to
// a folder can remove registered ports, or register ports itself: the folder must be protected from agents
// (confine.Plan.Protect).
package doors

import (
	"os"
	"path/filepath"
	"strconv"
)

// Other is a server that has registered a port.
type Other struct {
	// Port is the TCP port, PID the process that registered it, in that process's own namespace.
	Port uint16
	PID  int
}

const (
	// rootFolder is the folder of root's servers.
	rootFolder = "/run/harness"
	// userFolders is the pattern of the folders of users' servers.
	userFolders = "/run/user/*/harness"
	folderName  = "harness"
)

// Folders returns the folders of registrations: own is this user's, all are patterns of the folders to read. They may
// be missing. lookup reads the environment (os.Getenv).
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
