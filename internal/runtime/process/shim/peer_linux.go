package shim

import (
	"debug/buildinfo"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"

	"golang.org/x/sys/unix"

	"harness/internal/runtime/process"
)

// checkPeer returns why a connection is not from a server of this shim, nil when it may be one. A token alone does
// not prove that: commands of the runtime have the same user and can read it where its sandbox allows.
//
// A server is a process of this user that runs this program and is in no runtime's process tree. A process cannot
// change its ancestry: a shim is the parent of its runtime's orphans (process.KeepDescendants). So checkPeer checks
// the generation of each process above the peer.
func (s *server) checkPeer(conn net.Conn) error {
	return checkPeer(conn, s.spec.Outer, func(pid int) error { return sameProgram(pid, s.spec.Server) })
}

// CheckPeer returns why the peer of a unix socket of this process is no process of its user, or is inside of a runtime;
// nil otherwise. outer is the generation of the runtime in which this process itself runs, "" for none.
func CheckPeer(conn net.Conn, outer string) error {
	return checkPeer(conn, outer, func(int) error { return nil })
}

func checkPeer(conn net.Conn, outer string, isServer func(pid int) error) error {
	peer, err := credentials(conn)
	if err != nil {
		return fmt.Errorf("cannot find out which process connects: %w", err)
	}
	pid := int(peer.Pid)
	started := process.Started(pid)
	if pid <= 0 || started == 0 {
		return errors.New("the process that connects is gone, or in another container")
	}
	who := fmt.Sprintf("process %d (%s)", pid, process.Name(pid))
	if int(peer.Uid) != os.Getuid() && peer.Uid != 0 {
		return fmt.Errorf("%s is of user %d; only the socket's user may connect", who, peer.Uid)
	}
	for above := pid; above > 1; above = process.Parent(above) {
		if above == os.Getpid() {
			return fmt.Errorf("%s was started by the process that it connects to", who)
		}
		generation := process.Variable(above, GenerationVariable)
		if generation != "" && generation == outer {
			break // a process above this one is above what starts beside it, too
		}
		if generation != "" {
			return fmt.Errorf("%s runs inside of the runtime %s", who, generation)
		}
	}
	if err := isServer(pid); err != nil {
		return fmt.Errorf("%s is no server: %w", who, err)
	}
	// All reads used the process id. If another process has the id by now, its start time is later.
	if process.Started(pid) != started {
		return errors.New("the process that connected is gone")
	}
	return nil
}

// credentials returns the credentials of the peer process at the time of its connection.
func credentials(conn net.Conn) (*unix.Ucred, error) {
	socket, ok := conn.(*net.UnixConn)
	if !ok {
		return nil, fmt.Errorf("%T is no unix socket", conn)
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return nil, err
	}
	var peer *unix.Ucred
	var failed error
	if err := raw.Control(func(fd uintptr) {
		peer, failed = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) //nolint:gosec // a descriptor
	}); err != nil {
		return nil, err
	}
	return peer, failed
}

// sameProgram reports whether a process runs the program of the server that started this shim, by its path, or
// another build of it: a server may be upgraded in place, or into another folder.
func sameProgram(pid int, server string) error {
	link := fmt.Sprintf("/proc/%d/exe", pid)
	path, err := os.Readlink(link)
	if err != nil {
		// A server hides its memory, and with it this link, from processes of its user. A process with visible memory
		// can be checked.
		if errors.Is(err, os.ErrPermission) {
			return nil
		}
		return err
	}
	own, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return err
	}
	path = whole(path)
	if path == whole(own) || path == server {
		return nil
	}
	built, err := buildinfo.ReadFile(link)
	if err != nil {
		return fmt.Errorf("%s is not harness", filepath.Base(path))
	}
	if mine, ok := debug.ReadBuildInfo(); !ok || built.Main.Path != mine.Main.Path {
		return fmt.Errorf("%s is not harness", filepath.Base(path))
	}
	return nil
}

// whole returns a program's path without the kernel's mark for a replaced file.
func whole(path string) string { return strings.TrimSuffix(path, " (deleted)") }
