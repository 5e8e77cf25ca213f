package shim

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
)

// MaxSocketPath is the longest portable path of a unix socket (104 bytes on macOS, 108 on Linux, with the final NUL).
const MaxSocketPath = 103

// socketFolder is the prefix of a folder made only for a socket.
const socketFolder = "harness-"

// socket is the listening socket of a shim.
type socket struct {
	net.Listener
	path string
}

// listen opens the shim's socket for its owner only. It is in the shim's folder. If that path is too long for a
// socket, it is in a private folder of the system's temporary one. The state file has its path.
func listen(dir string) (*socket, error) {
	path := filepath.Join(dir, socketFile)
	if len(path) > MaxSocketPath {
		short, err := os.MkdirTemp(os.TempDir(), socketFolder)
		if err != nil {
			return nil, fmt.Errorf("make a folder for the socket: %w", err)
		}
		path = filepath.Join(short, socketFile)
		if len(path) > MaxSocketPath {
			_ = os.RemoveAll(short)
			return nil, fmt.Errorf("the path %s is too long for a socket: set TMPDIR to a shorter one", path)
		}
	}
	_ = os.Remove(path)
	listener, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("listen for the server: %w", err)
	}
	// The folder is already private; this covers a folder with widened permissions.
	if err := os.Chmod(path, 0o600); err != nil {
		_ = listener.Close()
		return nil, fmt.Errorf("protect the socket: %w", err)
	}
	return &socket{Listener: listener, path: path}, nil
}

// remove closes the socket and deletes a folder made for it.
func (s *socket) remove(dir string) {
	_ = s.Close() // deletes the file, too
	if folder := filepath.Dir(s.path); folder != dir {
		_ = os.RemoveAll(folder)
	}
}
