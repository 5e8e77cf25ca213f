package main

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// leaveNetwork gives this thread and its child programs a network with loopback and an interface that leads nowhere:
// with loopback alone a browser considers itself offline. On an error the network is unchanged.
func leaveNetwork() error {
	before, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		return err
	}
	defer func() { _ = before.Close() }() // it was only read
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("unshare: %w", err)
	}
	if err := errors.Join(start("lo", nil), nowhere()); err != nil {
		return errors.Join(err, unix.Setns(int(before.Fd()), unix.CLONE_NEWNET))
	}
	return nil
}

// nowhere creates an interface that accepts packets to an address for measurements (RFC 2544), and drops them.
func nowhere() error {
	// The interface exists while this is open, including in child programs.
	tunnel, err := unix.Open("/dev/net/tun", unix.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("open /dev/net/tun: %w", err)
	}
	made, err := unix.NewIfreq("nowhere")
	if err != nil {
		return err
	}
	made.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
	if err := unix.IoctlIfreq(tunnel, unix.TUNSETIFF, made); err != nil {
		return fmt.Errorf("make an interface: %w", err)
	}
	return start("nowhere", []byte{198, 18, 0, 1})
}

// start starts an interface, with an address unless that is nil.
func start(name string, address []byte) error {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open a socket: %w", err)
	}
	defer func() { _ = unix.Close(socket) }() // nothing was written
	about, err := unix.NewIfreq(name)
	if err != nil {
		return err
	}
	if address != nil {
		if err := about.SetInet4Addr(address); err != nil {
			return err
		}
		if err := unix.IoctlIfreq(socket, unix.SIOCSIFADDR, about); err != nil {
			return fmt.Errorf("give %s an address: %w", name, err)
		}
	}
	about.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if err := unix.IoctlIfreq(socket, unix.SIOCSIFFLAGS, about); err != nil {
		return fmt.Errorf("start %s: %w", name, err)
	}
	return nil
}
