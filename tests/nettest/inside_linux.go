package nettest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// namespace is a separate network in the kernel. It has no name. It ends with its last process and the last holder of
// this file.
type namespace struct{ file *os.File }

// path returns the namespace's path for programs to open.
func (n namespace) path() string { return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), n.file.Fd()) }

// own returns the namespace of the thread.
func own() (*os.File, error) { return os.Open("/proc/thread-self/ns/net") }

// newNamespace creates a namespace with only a loopback interface, which is down.
func newNamespace() (n namespace, err error) {
	err = onThread(func() error {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("make a network namespace: %w", err)
		}
		n.file, err = own()
		return err
	})
	return n, err
}

// inside runs a function on a thread inside the namespace. Sockets and programs that it creates stay there, even when
// used elsewhere. Goroutines that it starts do not run there.
func (n namespace) inside(do func() error) error {
	return onThread(func() error {
		if err := unix.Setns(int(n.file.Fd()), unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("go into a network namespace: %w", err)
		}
		return do()
	})
}

// onThread runs a function that may change the namespace of its thread. It discards the thread if it cannot restore
// the namespace.
func onThread(do func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		before, err := own()
		if err != nil {
			done <- err
			return
		}
		err = do()
		back := unix.Setns(int(before.Fd()), unix.CLONE_NEWNET)
		if back == nil {
			runtime.UnlockOSThread()
		}
		done <- errors.Join(err, before.Close())
	}()
	return <-done
}

// Inside runs a function on a thread inside the host. Sockets and programs that it creates stay there.
func (h *Host) Inside(do func() error) error { return h.namespace.inside(do) }

// Dial connects from the host to a numeric address.
func (h *Host) Dial(ctx context.Context, network, address string) (conn net.Conn, err error) {
	err = h.Inside(func() error {
		conn, err = (&net.Dialer{}).DialContext(ctx, network, address)
		return err
	})
	return conn, err
}

// Listen listens on an address of the host.
func (h *Host) Listen(network, address string) (listener net.Listener, err error) {
	err = h.Inside(func() error {
		listener, err = net.Listen(network, address) //nolint:noctx // a moment
		return err
	})
	return listener, err
}
