// Package disktest gives a test a file system that the test can fill and empty. It is for tests only.
package disktest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"harness/tests/outside"
)

// Disk is a file system of limited size.
type Disk struct {
	t    testing.TB
	Path string
}

// New mounts a file system of this size in bytes and unmounts it at the end of the test. It needs the right to mount.
func New(t testing.TB, size string) *Disk {
	t.Helper()
	outside.Needs(t, "the right to mount")
	if err := sweep(); err != nil {
		t.Fatal(err)
	}
	d := &Disk{t: t, Path: t.TempDir()}
	if err := unix.Mount(fmt.Sprint(named, os.Getpid()), d.Path, "tmpfs", 0, "mode=0755,size="+size); err != nil {
		t.Fatalf("mount a small file system: %v (run the tests as root, or under `unshare --user --map-root-user --mount`)",
			err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(d.Path, unix.MNT_DETACH); err != nil {
			t.Errorf("unmount the small file system: %v", err)
		}
	})
	return d
}

// named is the name prefix of a process's file systems. The process id follows.
const named = "harness-disk-"

// sweep removes the file systems of killed test runs.
func sweep() error {
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return fmt.Errorf("look for what killed tests have left mounted: %w", err)
	}
	for line := range strings.Lines(string(mounts)) {
		fields := strings.Fields(line)
		pid, err := strconv.Atoi(strings.TrimPrefix(fields[0], named))
		if err != nil || !strings.HasPrefix(fields[0], named) || !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			continue
		}
		// Another test may unmount it concurrently.
		if err := unix.Unmount(fields[1], unix.MNT_DETACH); err != nil && !errors.Is(err, unix.EINVAL) {
			return fmt.Errorf("unmount what a killed test has left at %s: %w", fields[1], err)
		}
	}
	return nil
}

func (d *Disk) ballast() string { return filepath.Join(d.Path, "ballast") }

// Fill uses up all free space.
func (d *Disk) Fill() {
	d.t.Helper()
	file, err := os.OpenFile(d.ballast(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		d.t.Fatal(err)
	}
	for block := make([]byte, 4096); err == nil; {
		_, err = file.Write(block)
	}
	if closeErr := file.Close(); !errors.Is(err, syscall.ENOSPC) || closeErr != nil {
		d.t.Fatalf("fill the disk: %v", errors.Join(err, closeErr))
	}
}

// Free releases the space that Fill used.
func (d *Disk) Free() {
	d.t.Helper()
	if err := os.Remove(d.ballast()); err != nil {
		d.t.Fatal(err)
	}
}
