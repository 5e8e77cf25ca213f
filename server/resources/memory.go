// Package resources keeps the server's use of memory and descriptors within what the machine allows.
//
// It must never know what the memory is used for.
package resources

import (
	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/rs/zerolog"
)

// ownShare is how much of the memory of its container the server plans with: the rest is for what Go does not count.
const ownShare = 0.9

// LimitMemory has Go collect garbage in time to stay within the memory limit of the server's cgroup, unless GOMEMLIMIT
// is set.
func LimitMemory(log zerolog.Logger) {
	if _, err := memlimit.Set(memlimit.WithRatio(ownShare)); err != nil {
		log.Warn().Err(err).Msg("the memory limit of the server's cgroup cannot be read, so the server may outgrow it; set GOMEMLIMIT")
	}
}
