//go:build !linux

package callers

import (
	"context"
	"net/netip"
	"time"
)

type look struct{}

// Find cannot tell on this system: every caller counts as outside.
func (f *Finder) Find(context.Context, netip.AddrPort, netip.AddrPort, time.Time) (Caller, error) {
	return Caller{}, nil
}
