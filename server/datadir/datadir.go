// Package datadir opens a data directory: who may use it, its lock, its node id, its database.
//
// It owns the operator's consent to files that act for a server (a .env, a data directory, extensions). It must never
// know what a server does with them.
package datadir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"harness/internal/content/backup"
	"harness/internal/lib/durable"
	"harness/internal/lib/ids"
)

// Dir is the server's folder on disk, owned by one server at a time.
type Dir struct {
	Path string
	lock *os.File
	// NodeID identifies this server among the servers that share a database; it survives restarts.
	NodeID string
}

// Open creates the folder if missing, takes its lock and reads the node id.
func Open(path string) (*Dir, error) {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, fmt.Errorf("make the data directory: %w (set DATA_DIR to a folder this user may write)", err)
	}
	lock, err := Lock(path)
	if err != nil {
		return nil, err
	}
	if backup.Unfinished(path) {
		_ = lock.Close()
		return nil, fmt.Errorf("a restore into %s was interrupted: run harness restore again, or remove %[1]s/.restoring", path)
	}
	nodeID, err := readNodeID(filepath.Join(path, NodeIDFile))
	if err != nil {
		_ = lock.Close()
		return nil, err
	}
	return &Dir{Path: path, lock: lock, NodeID: nodeID}, nil
}

// Names of files in a data directory.
const (
	LockFile   = "harness.lock"
	NodeIDFile = "node-id"
)

// Lock takes the lock of a data directory; closing the file releases it.
func Lock(path string) (*os.File, error) {
	lock, err := os.OpenFile(filepath.Join(path, LockFile), os.O_CREATE|os.O_RDWR|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the data directory's lock: %w (set DATA_DIR to a folder this user may write)", err)
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = lock.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf(
				"another harness is already using the data directory %s: stop it, or give this one its own DATA_DIR", path)
		}
		return nil, fmt.Errorf("lock the data directory %s: %w", path, err)
	}
	return lock, nil
}

func readNodeID(path string) (string, error) {
	content, err := os.ReadFile(path)
	if id := strings.TrimSpace(string(content)); err == nil && id != "" {
		return id, nil
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("read the node id: %w", err)
	}
	id := ids.New()
	if err := durable.Write(path, []byte(id+"\n")); err != nil {
		return "", fmt.Errorf("write the node id: %w", err)
	}
	return id, nil
}

// Place identifies the locked file among all files of all running machines; "" if unknown.
func (d *Dir) Place() string {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	info, err := d.lock.Stat()
	if err != nil {
		return ""
	}
	file, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	return fmt.Sprintf("%s/%d/%d", strings.TrimSpace(string(boot)), file.Dev, file.Ino)
}

// Close releases the folder.
func (d *Dir) Close() error { return d.lock.Close() }
