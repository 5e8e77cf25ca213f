// Package version identifies the build of the program.
//
// It owns the two values that the linker sets. It must never know their use.
package version

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// program is set by the release build: -ldflags "-X harness/internal/lib/version.program=1.2.3".
var program = "dev" //nolint:gochecknoglobals // the linker can set nothing else

// revision is the commit of a release, set the same way: Go records it only for builds of a clone.
var revision = "" //nolint:gochecknoglobals // the linker can set nothing else

// Program returns the version of this build, "dev" for one that is no release.
func Program() string { return program }

// Line describes this build in one line: version, Go, platform and commit.
func Line() string {
	return fmt.Sprintf("harness %s (%s, %s/%s, commit %s)", program, runtime.Version(), runtime.GOOS,
		runtime.GOARCH, Commit())
}

// Commit returns the commit that this program was built from, "unknown" if the build did not record it.
func Commit() string {
	if revision != "" {
		return revision
	}
	info, ok := debug.ReadBuildInfo()
	if ok {
		for _, setting := range info.Settings {
			if setting.Key == "vcs.revision" {
				return setting.Value
			}
		}
	}
	return "unknown"
}
