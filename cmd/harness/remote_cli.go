package main

import (
	"errors"

	"github.com/spf13/cobra"

	"harness/cmd/harness/remote"
	"harness/server/datadir"
)

// addRemote adds the commands that work on a server to the commands that examine this machine.
func addRemote(root *cobra.Command) {
	root.AddCommand(remote.Commands(localServer, frontEndCodex)...)
	for name, commands := range remote.Subcommands(localServer) {
		for _, group := range root.Commands() {
			if group.Name() == name {
				group.AddCommand(commands...)
			}
		}
	}
}

// localServer implements remote.Local.
func localServer(named string) (base, token string, err error) {
	cfg, err := datadir.LoadConfig(nil)
	if err != nil {
		return "", "", err
	}
	return datadir.ServerURL(cfg), localToken(cfg, named), nil
}

// remoteCode returns the exit code of an error of such a command, 0 if it has none of its own.
func remoteCode(err error) int {
	var (
		ended *remote.ExitError
		usage *remote.UsageError
	)
	switch {
	case errors.As(err, &ended):
		return ended.Code
	case errors.As(err, &usage):
		return exitUsage
	}
	return 0
}
