//go:build !linux

package shim

import "net"

// checkPeer cannot tell who connects on this system: there the token alone decides.
func (s *server) checkPeer(net.Conn) error { return nil }
