// Package remote has the commands that work on a server, this machine's or another's, over its API.
//
// It owns the output of those commands and their exit codes. It must never know how a server works inside: it has
// package client and a URL.
package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"harness/client"
)

// Exit codes beyond 0 (success), 1 (failure) and 2 (invalid command line).
const (
	// ExitTurnFailed: the agent's turn failed.
	ExitTurnFailed = 3
	// ExitTurnInterrupted: the turn was interrupted, from here or by another client.
	ExitTurnInterrupted = 4
)

// ExitError ends the command with a specific exit code.
type ExitError struct {
	Code int
	Err  error
}

// Error implements error.
func (e *ExitError) Error() string { return e.Err.Error() }

// Unwrap makes errors.As match the wrapped error.
func (e *ExitError) Unwrap() error { return e.Err }

// UsageError reports an invalid command line.
type UsageError struct{ Err error }

// Error implements error.
func (e *UsageError) Error() string { return e.Err.Error() }

// Unwrap makes errors.As match the wrapped error.
func (e *UsageError) Unwrap() error { return e.Err }

func usage(format string, values ...any) error { return &UsageError{fmt.Errorf(format, values...)} }

// commands makes the commands and holds their shared state.
type commands struct {
	Connection
	local    Local
	output   string
	quiet    bool
	terminal func(any) bool
}

// Commands returns the commands of this package.
func Commands(local Local, codex Codex) []*cobra.Command {
	c := &commands{local: local, terminal: isTerminal}
	all := []*cobra.Command{
		c.run(), c.sessions(), c.approvals(), c.transcript(), c.projects(), c.models(), c.settings(), c.prices(), c.tokens(),
		c.bundle(), c.api(), c.exportSession(), c.changes(), c.blame(), c.rewind(), c.worktrees(), c.profiles(), c.open(), c.attach(codex),
	}
	for _, one := range all {
		c.flags(one)
	}
	return all
}

// Subcommands returns, by group, the commands to add to groups that examine this machine.
func Subcommands(local Local) map[string][]*cobra.Command {
	c := &commands{local: local, terminal: isTerminal}
	all := map[string][]*cobra.Command{"runtimes": {c.runtimes()}}
	for _, group := range all {
		for _, one := range group {
			c.flags(one)
		}
	}
	return all
}

func (c *commands) flags(cmd *cobra.Command) {
	flags := cmd.PersistentFlags()
	c.AddFlags(flags)
	flags.StringVarP(&c.output, "output", "o", "",
		"json: the server's response; jsonl: one JSON object per line; default: text")
	flags.BoolVarP(&c.quiet, "quiet", "q", false, "print only the result")
	complete(cmd, "output", "json", "jsonl")
}

// complete offers values for a flag.
func complete(cmd *cobra.Command, flag string, values ...string) {
	offer := cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)
	if err := cmd.RegisterFlagCompletionFunc(flag, offer); err != nil {
		panic("remote: " + err.Error()) // the flag does not exist, or already has completions: a bug in this package
	}
}

// asksJSON reports whether the user requested output for programs.
func (c *commands) asksJSON() bool { return c.output != "" }

// connect makes a client from the flags and the environment.
func (c *commands) connect() (*client.Client, error) {
	if c.output != "" && c.output != "json" && c.output != "jsonl" {
		return nil, usage("-o must be json or jsonl, not %s", c.output)
	}
	base, token, err := c.Find(c.local)
	if err != nil {
		return nil, err
	}
	made, err := client.Connect(base, token, client.WithHTTPClient(doer{base}))
	if err != nil {
		return nil, &UsageError{err}
	}
	return made, nil
}

// doer converts connection failures to readable errors.
type doer struct{ base string }

// Do implements client.HTTPRequestDoer.
func (d doer) Do(request *http.Request) (*http.Response, error) {
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		var failed *url.Error
		if errors.As(err, &failed) {
			err = failed.Err
		}
		return nil, fmt.Errorf("no server answers at %s: %w; start one with `harness serve`, or name another with --url",
			d.base, err)
	}
	return response, nil
}

// read is client.Read, but adds a remedy to a refusal.
func read[T any](response *http.Response, err error) (T, error) {
	out, err := client.Read[T](response, err)
	return out, remedied(err)
}

// remedied adds a remedy to a refusal if the server gives none.
func remedied(err error) error {
	var refused *client.StatusError
	if !errors.As(err, &refused) {
		return err
	}
	switch {
	case refused.Code == "auth_required": // an agent's own login; the server names the remedy
		return err
	case refused.Status == http.StatusUnauthorized && strings.Contains(refused.Message, "sign in again"):
		return fmt.Errorf("%w: harness login --provider NAME", err)
	case refused.Status == http.StatusUnauthorized:
		return fmt.Errorf("%w; name the server's token in HARNESS_TOKEN or --token-file", err)
	case refused.Code == "not_found" && !strings.Contains(err.Error(), "check the id"):
		return fmt.Errorf("%w; check the id", err)
	}
	return err
}

// show prints a response: unchanged for programs, or with write for people.
func show[T any](c *commands, out io.Writer, answer json.RawMessage, write func(T) error) error {
	if c.asksJSON() {
		_, err := fmt.Fprintln(out, string(answer))
		return err
	}
	var value T
	if err := json.Unmarshal(answer, &value); err != nil {
		return fmt.Errorf("unexpected response of the server: %w", err)
	}
	return write(value)
}

// completeSessions offers the ids of the newest sessions, each with its title.
func (c *commands) completeSessions(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	const none = cobra.ShellCompDirectiveNoFileComp
	if len(args) > 0 {
		return nil, none
	}
	api, err := c.connect()
	if err != nil {
		return nil, none
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), 2*time.Second)
	defer cancel()
	view := client.ListSessionsParamsViewConsole
	page, err := client.Read[client.ListSessions200JSONResponseBody](api.ListSessions(ctx, &client.ListSessionsParams{View: &view}))
	if err != nil {
		return nil, none
	}
	var offered []string
	for _, session := range page.Data {
		offered = append(offered, session.SessionID+"\t"+session.Title)
	}
	return offered, none
}
