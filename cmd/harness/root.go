package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"harness/cmd/harness/remote"
	"harness/internal/lib/version"
	"harness/internal/platform/auth"
	"harness/internal/platform/config"
	"harness/migrations"
	"harness/server"
)

// Exit codes of the command.
const (
	exitFailure     = 1
	exitUsage       = 2   // an invalid setting or flag
	exitInterrupted = 130 // as shells report SIGINT
)

// endError ends the program with an exit code and prints nothing.
type endError struct{ code int }

func (e *endError) Error() string { return fmt.Sprintf("exit %d", e.code) }

// run executes one command line and returns its exit code. Errors are one line on stderr.
func run(ctx context.Context, args []string, stdout, stderr io.Writer, further ...server.RuntimeMaker) int {
	root := bareRoot()
	if len(args) > 0 && args[0] == shimCommand {
		root.AddCommand(newShim()) // a shim lives as long as its runtime, so it must not pay for the other commands
	} else {
		addCommands(root, further)
	}
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	cmd, err := root.ExecuteContextC(ctx)
	var end *endError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &end):
		return end.code
	case cmd.Name() == codesdkdName && exitCode(err) == exitUsage:
		_, _ = fmt.Fprintf(stderr, "harness: %v\n%s", err, cmd.UsageString())
		return exitFailure
	}
	// Joined errors, and errors of drivers, have several lines.
	_, _ = fmt.Fprintln(stderr, "harness:", strings.ReplaceAll(err.Error(), "\n", "; "))
	return exitCode(err)
}

func exitCode(err error) int {
	if code := remoteCode(err); code != 0 {
		return code
	}
	var (
		setting *config.Error
		file    *config.FileError
		rule    *config.RuleError
		bind    *auth.BindError
		newer   *migrations.NewerSchemaError
		usage   *config.UsageError
	)
	if errors.As(err, &setting) || errors.As(err, &file) || errors.As(err, &rule) || errors.As(err, &bind) ||
		errors.As(err, &newer) || errors.As(err, &usage) {
		return exitUsage
	}
	return exitFailure
}

func newRoot(further []server.RuntimeMaker) *cobra.Command {
	root := bareRoot()
	addCommands(root, further)
	return root
}

// bareRoot makes the root command without its subcommands.
func bareRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "harness",
		Short: "A control plane for coding-agent runtimes",
		Long: "harness supervises coding-agent runtimes (codex app-server) and serves them over REST and a " +
			"websocket stream.\n\nStart with:  harness serve\nThen, in another terminal:  harness run \"what is in this folder?\"",
		SilenceUsage:  true,
		SilenceErrors: true,
		Version:       version.Line(),
		Args:          remote.NoCommand,
		RunE:          printHelp,
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetFlagErrorFunc(remote.FlagError)
	root.SetHelpCommand(&cobra.Command{Use: "help [COMMAND]", Short: "Show what a command does", RunE: helpFor})
	return root
}

func addCommands(root *cobra.Command, further []server.RuntimeMaker) {
	root.AddCommand(newServe(further), newCodesdkd(further), newMigrate(), newConfig(), newHealthcheck(), newJobs(),
		newExtensions(),
		newRuntimes(), newTrust(), newToken(), newDoctor(), newVersion(), newCodexCommand(), newLogin(),
		newShim(), newMCP(), newAppServer(), newACP(), newAudit(), newReplay(), newRunTool(), newConfine(), newTryConfine(), newBridge(),
		newBackup(), newRestore(), newMigrateStore(), newNodesCommand(), newArchiveCommand(), newImport())
	addRemote(root)
	if man := newMan(root); man != nil {
		root.AddCommand(man)
	}
	refuseArguments(root)
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		if cmd.Name() == "completion" {
			cmd.Args, cmd.RunE = remote.NoCommand, printHelp
		}
	}
}

// refuseArguments makes surplus arguments of a command and its subcommands a usage error.
func refuseArguments(cmd *cobra.Command) {
	if check := cmd.Args; check != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			err := check(cmd, args)
			if err == nil || exitCode(err) == exitUsage {
				return err
			}
			if worded := remote.ArgumentsError(cmd, args); worded != nil {
				return worded
			}
			return config.Usagef("%w: %s", err, cmd.UseLine())
		}
	}
	for _, below := range cmd.Commands() {
		refuseArguments(below)
	}
}

// newGroup makes a command that only has subcommands: alone it lists them.
func newGroup(use, short string, commands ...*cobra.Command) *cobra.Command {
	group := &cobra.Command{Use: use, Short: short, Args: remote.NoCommand, RunE: printHelp}
	group.AddCommand(commands...)
	return group
}

func printHelp(cmd *cobra.Command, _ []string) error { return cmd.Help() }

// helpFor shows the help of the command named by the arguments.
func helpFor(cmd *cobra.Command, args []string) error {
	found, rest, err := cmd.Root().Find(args)
	if err != nil || len(rest) > 0 && found.HasSubCommands() {
		if found == nil || err != nil {
			found, rest = cmd.Root(), args
		}
		return remote.NoCommand(found, rest)
	}
	found.InitDefaultHelpFlag()
	return found.Help()
}
