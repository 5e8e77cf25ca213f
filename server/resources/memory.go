// Package resources keeps the server's use of memory and descriptors within the limits of the machine.
//
// It must never know what the memory is used for.
package resources

import (
	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/rs/zerolog"
)

// ownShare is the share of its container's memory that the server plans with: the rest is for memory that Go does not
// count.
const ownShare = 0.9

// LimitMemory makes Go collect garbage early enough to stay within the memory limit of the server's cgroup, unless
// GOMEMLIMIT is set.
func LimitMemory(log zerolog.Logger) {
	if _, err := memlimit.Set(memlimit.WithRatio(ownShare)); err != nil {
		log.Warn().Err(err).Msg("the memory limit of the server's cgroup cannot be read, so the server may outgrow it; set GOMEMLIMIT")
	}
}
