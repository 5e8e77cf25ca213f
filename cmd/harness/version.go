package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is set by the release build: -ldflags "-X main.version=1.2.3".
var version = "dev" //nolint:gochecknoglobals // the linker can set nothing else

// revision is the commit of a release, set likewise: Go itself names it only for builds of a clone.
var revision = "" //nolint:gochecknoglobals // the linker can set nothing else

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of this binary",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), versionLine())
			return err
		},
	}
}

func versionLine() string {
	return fmt.Sprintf("harness %s (%s, %s/%s, commit %s)", version, runtime.Version(), runtime.GOOS,
		runtime.GOARCH, commit())
}

func commit() string {
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
