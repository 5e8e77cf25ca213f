//go:build !linux

package shim

import "net"

// checkPeer cannot identify the peer on this system: there the token alone decides.
func (s *server) checkPeer(net.Conn) error { return nil }
