package resources

import (
	"syscall"

	"github.com/rs/zerolog"

	"harness/internal/platform/config"
)

// descriptorReserve is the number of descriptors that the process needs beside connections: the store, runtimes,
// extensions, logs.
const descriptorReserve = 256

// WarnOfDescriptors warns if the limits of connections exceed the system's limit. Go has raised the soft limit already.
func WarnOfDescriptors(limits config.Limits, log zerolog.Logger) {
	var allowed syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &allowed); err != nil {
		return // accept will then fail and report it
	}
	need := uint64(limits.HTTPConnections + limits.Streams + descriptorReserve) //nolint:gosec // settings are not negative
	if allowed.Cur < need {
		log.Warn().Uint64("open_files", allowed.Cur).Uint64("needed", need).
			Msg("the limit of open files is lower than the limits of connections need: raise it (ulimit -n, LimitNOFILE=) " +
				"or lower streams of HARNESS_LIMITS")
	}
}
