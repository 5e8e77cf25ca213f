package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"harness/auth"
	"harness/config"
	"harness/migrations"
)

// Exit codes of the command.
const (
	exitFailure = 1
	exitUsage   = 2 // a setting or flag that cannot be used
)

// run executes one command line and returns its exit code. Errors are one line on stderr.
func run(ctx context.Context, args []string, stdout, stderr io.Writer, further ...runtimeMaker) int {
	root := bareRoot()
	if len(args) > 0 && args[0] == shimCommand {
		root.AddCommand(newShim()) // a shim lives as long as its runtime: it does not pay for the other commands
	} else {
		addCommands(root, further)
	}
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	// Joined errors, and those of drivers, come on several lines.
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
		usage   *usageError
	)
	if errors.As(err, &setting) || errors.As(err, &file) || errors.As(err, &rule) || errors.As(err, &bind) ||
		errors.As(err, &newer) || errors.As(err, &usage) {
		return exitUsage
	}
	return exitFailure
}

// usageError is a command line that cannot be understood.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func newRoot(further []runtimeMaker) *cobra.Command {
	root := bareRoot()
	addCommands(root, further)
	return root
}

// bareRoot is the program without its commands.
func bareRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "harness",
		Short: "A control plane for coding-agent runtimes",
		Long: "harness supervises coding-agent runtimes (codex app-server) and serves them over REST and a " +
			"websocket stream.\n\nStart with:  harness serve\nThen, in another terminal:  harness run \"what is in this folder?\"",
		SilenceUsage:  true,
		SilenceErrors: true,
		Version:       versionLine(),
		Args:          noSuchCommand,
		RunE:          printHelp,
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &usageError{err} })
	return root
}

func addCommands(root *cobra.Command, further []runtimeMaker) {
	root.AddCommand(newServe(further), newCodesdkd(further), newMigrate(), newConfig(), newHealthcheck(), newJobs(),
		newExtensions(),
		newRuntimes(), newTrust(), newDoctor(), newVersion(), newCodexCommand(), newLogin(),
		newShim(), newMCP(), newAudit(), newReplay(), newRunTool(), newConfine(), newTryConfine(), newBridge(),
		newBackup(), newRestore(), newMigrateStore(), newNodesCommand(), newArchiveCommand(), newImport())
	addRemote(root)
	if man := newMan(root); man != nil {
		root.AddCommand(man)
	}
	refuseArguments(root)
}

// refuseArguments makes arguments that a command or one below it does not take a command line that cannot be understood.
func refuseArguments(cmd *cobra.Command) {
	if check := cmd.Args; check != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			err := check(cmd, args)
			if err == nil || exitCode(err) == exitUsage {
				return err
			}
			return &usageError{fmt.Errorf("%w: %s", err, cmd.UseLine())}
		}
	}
	for _, below := range cmd.Commands() {
		refuseArguments(below)
	}
}

// newGroup makes a command that only holds others: alone it says which.
func newGroup(use, short string, commands ...*cobra.Command) *cobra.Command {
	group := &cobra.Command{Use: use, Short: short, Args: noSuchCommand, RunE: printHelp}
	group.AddCommand(commands...)
	return group
}

func printHelp(cmd *cobra.Command, _ []string) error { return cmd.Help() }

// noSuchCommand refuses arguments of a command that has only sub-commands: cobra hands it what it does not know.
func noSuchCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return &usageError{fmt.Errorf("there is no command %q; %s --help lists them", args[0], cmd.CommandPath())}
}
