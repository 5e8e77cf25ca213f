package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"harness/cmd/harness/remote"
	"harness/extensions"
	"harness/internal/platform/config"
	"harness/internal/services/tools"
	"harness/server"
	"harness/server/datadir"
)

// newExtensions makes the commands for extensions: two contact a running server, two examine a folder without one.
func newExtensions() *cobra.Command {
	lifecycle := &lifecycleClient{}
	ask := func(use, short string, do func(context.Context, *lifecycleClient, io.Writer) error) *cobra.Command {
		one := &cobra.Command{Use: use, Short: short, Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error {
			if err := lifecycle.configure(cmd); err != nil {
				return err
			}
			return do(cmd.Context(), lifecycle, cmd.OutOrStdout())
		}}
		config.AddFlags(one.Flags())
		lifecycle.server.AddFlags(one.Flags())
		one.Flags().StringVar(&lifecycle.role, "role", "admin", "role to name in RBAC mode header")
		one.Flags().StringVar(&lifecycle.actor, "actor", "", "actor to name in RBAC mode header")
		one.Flags().StringVar(&lifecycle.bearer, "bearer-file", "", "file with the token for RBAC mode jwt")
		return one
	}
	folder := func(use, short string, do func(context.Context, string, []extensions.Host,
		io.Writer) error) *cobra.Command {
		return &cobra.Command{Use: use + " DIR", Short: short, Args: cobra.ExactArgs(1),
			RunE: func(cmd *cobra.Command, args []string) error {
				return withHosts(cmd, args[0], do)
			}}
	}
	return newGroup("extensions", "List, reload, check and certify extensions",
		ask("list", "List the extensions of a running server",
			func(ctx context.Context, c *lifecycleClient, out io.Writer) error { return c.list(ctx, out) }),
		ask("reload", "Reload a running server's extensions; all or nothing",
			func(ctx context.Context, c *lifecycleClient, out io.Writer) error {
				return c.reload(ctx, out)
			}),
		folder("check", "Load the extension in DIR in a sandbox and print what is wrong with it; no server is touched",
			checkExtension),
		folder("conformance", "Run the extension in DIR under two runtime profiles and write a JSON report", conformance),
	)
}

// withHosts runs a command on a folder with temporary hosts, whose children live in a temporary folder. The user who
// names the folder consents to its code.
func withHosts(cmd *cobra.Command, folder string,
	do func(context.Context, string, []extensions.Host, io.Writer) error) error {
	path, err := filepath.Abs(folder)
	if err != nil {
		return err
	}
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return config.Usagef("%s is no folder", folder)
	}
	cfg, err := datadir.LoadConfig(nil)
	if err != nil {
		return err
	}
	return server.TemporaryHosts(cmd.Context(), cfg.Extensions.PassEnv, func(hosts []extensions.Host) error {
		return do(cmd.Context(), path, hosts, cmd.OutOrStdout())
	})
}

// errProblems ends a command if its report names problems.
var errProblems = errors.New("the extension has problems")

// checkExtension loads a folder like a reload, in trust mode warn, and prints the result.
func checkExtension(ctx context.Context, folder string, hosts []extensions.Host, out io.Writer) (err error) {
	roots := []extensions.Root{{Type: extensions.ConfiguredRoot, Path: folder}}
	offered, err := tools.NewRegistry(tools.RegistryOptions{AllowDangerous: true, AllowNetwork: true})
	if err != nil {
		return err
	}
	registry := extensions.New(extensions.Options{Roots: roots, Hosts: hosts,
		Runtimes: server.RuntimeNames(), Logger: zerolog.Nop(),
		AgentTools: server.ExtensionTools{Names: []string{"*"}, Registry: offered, Log: zerolog.Nop()}})
	defer func() { err = errors.Join(err, registry.Close(context.WithoutCancel(ctx))) }()
	result := registry.Reload(ctx, "check")
	var report strings.Builder
	for _, problem := range result.Errors {
		fmt.Fprintf(&report, "error    %s: %s: %s\n", problem.Extension, problem.Code,
			strings.ReplaceAll(problem.Message, "\n", "\nerror    "))
	}
	refused := extensions.AgentConfigProblems(roots, server.RuntimeNames())
	for _, problem := range refused {
		fmt.Fprintf(&report, "error    the agent's workers are refused: %v\n", problem)
	}
	breaks := false
	for _, m := range result.Modules {
		state := "ok"
		for _, missing := range m.Missing {
			if missing.Guarded {
				continue
			}
			state, breaks = "breaks", true
			fmt.Fprintf(&report, "error    %s\n", missing)
		}
		fmt.Fprintf(&report, "%-8s %s %s (agent %s) handles %s\n", state, m.Name, m.Version, m.AgentID,
			strings.Join(m.Events, ", "))
		for _, missing := range m.Missing {
			if missing.Guarded {
				fmt.Fprintf(&report, "note     %s: %s is not there, and the code looks for it first\n", missing.Position, missing.Name)
			}
		}
		for _, diagnostic := range m.Diagnostics {
			if slices.ContainsFunc(m.Missing, func(one extensions.Missing) bool { return one.String() == diagnostic }) {
				continue
			}
			fmt.Fprintf(&report, "note     %s\n", diagnostic)
		}
		for _, warning := range m.Trust.Warnings {
			fmt.Fprintf(&report, "warning  %s (trust mode enforced refuses this)\n", warning)
		}
	}
	if result.Code == extensions.Reloaded && len(result.Modules) == 0 {
		fmt.Fprintf(&report,
			"error    there is no extension in %s: it needs extension.manifest.json or events.js, events.mjs or events.ts\n",
			folder)
	}
	if _, err := io.WriteString(out, report.String()); err != nil {
		return err
	}
	if result.Code != extensions.Reloaded || len(result.Modules) == 0 || refused != nil || breaks {
		return errProblems
	}
	return nil
}

// errNotMovable ends conformance for an extension that runs in only one profile.
var errNotMovable = errors.New("the extension is not portable; the report says why")

func conformance(ctx context.Context, folder string, hosts []extensions.Host, out io.Writer) error {
	// Running this command on a folder also allows its process.
	var allowed []string
	if raw, err := os.ReadFile(filepath.Join(folder, "extension.manifest.json")); err == nil {
		var manifest struct{ Name string }
		if json.Unmarshal(raw, &manifest) == nil {
			allowed = []string{strings.TrimSpace(manifest.Name)}
		}
	}
	report := extensions.Conformance(ctx, folder, hosts, allowed)
	if err := printJSON(out, report); err != nil {
		return err
	}
	if !report.Movable {
		return errNotMovable
	}
	return nil
}

// lifecycleClient sends requests to a server's extension routes.
type lifecycleClient struct {
	server                    remote.Connection
	base, role, actor, bearer string
	headers                   http.Header
}

func (c *lifecycleClient) configure(cmd *cobra.Command) error {
	cfg, err := datadir.LoadConfig(cmd.Flags())
	if err != nil {
		return err
	}
	// Flags take precedence over HARNESS_URL.
	if flags := cmd.Flags(); !flags.Changed("url") && (flags.Changed("host") || flags.Changed("port")) {
		if err := flags.Set("url", datadir.ServerURL(cfg)); err != nil {
			return err
		}
	}
	base, token, err := c.server.Find(func(named string) (string, string, error) {
		return datadir.ServerURL(cfg), localToken(cfg, named), nil
	})
	if err != nil {
		return err
	}
	c.base, c.headers = base, http.Header{}
	if token != "" {
		c.headers.Set("X-Harness-Token", token)
	}
	switch cfg.Extensions.RBACMode {
	case "header":
		c.headers.Set("X-Codex-Role", c.role)
		if cfg.Extensions.RBACHeaderSecret != "" {
			c.headers.Set("X-Codex-Rbac-Token", cfg.Extensions.RBACHeaderSecret)
		}
		if c.actor != "" {
			c.headers.Set("X-Codex-Actor", c.actor)
		}
	case "jwt":
		if c.bearer == "" {
			return config.Usagef("RBAC mode jwt needs --bearer-file with a token")
		}
		token, err := os.ReadFile(c.bearer)
		if err != nil {
			return fmt.Errorf("read the token: %w", err)
		}
		c.headers.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	}
	return nil
}

type listedModule struct {
	Name, Version, AgentID string
	Events                 []string
	Origin                 struct{ Type string }
	Trust                  struct {
		Status   string
		Warnings []string
	}
	Health *struct{ State string }
}

type lifecycleAnswer struct {
	Status, Code, Message, SnapshotVersion, LoadedAt string
	Modules                                          []listedModule
	Errors, Untrusted                                []extensions.LoadError
}

// lifecycleTimeout bounds a reload of many extensions.
const lifecycleTimeout = 2 * time.Minute

func (c *lifecycleClient) ask(ctx context.Context, method, path string) (status int, answer lifecycleAnswer,
	err error) {
	ctx, cancel := context.WithTimeout(ctx, lifecycleTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, c.base+path, nil)
	if err != nil {
		return 0, answer, err
	}
	request.Header = c.headers.Clone()
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, answer, fmt.Errorf(
			"no server answers at %s (start one with `harness serve`, or name another with --url): %w", c.base, err)
	}
	defer func() { err = errors.Join(err, response.Body.Close()) }()
	raw, err := io.ReadAll(io.LimitReader(response.Body, 64<<20))
	if err != nil {
		return 0, answer, err
	}
	if err := json.Unmarshal(bytes.TrimSpace(raw), &answer); err != nil {
		return 0, answer, fmt.Errorf("%s answered %d with something that is no JSON", c.base, response.StatusCode)
	}
	return response.StatusCode, answer, nil
}

func refusedBy(status int, answer lifecycleAnswer) error {
	text := answer.Code
	if answer.Message != "" {
		text += ": " + answer.Message
	}
	return fmt.Errorf("the server refused (%d %s)", status, text)
}

func (c *lifecycleClient) list(ctx context.Context, out io.Writer) error {
	status, answer, err := c.ask(ctx, http.MethodGet, "/api/agents/extensions")
	if err != nil {
		return err
	}
	if status != http.StatusOK {
		return refusedBy(status, answer)
	}
	table := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "NAME\tVERSION\tAGENT\tORIGIN\tTRUST\tHEALTH\tEVENTS") // Flush returns a failed write
	for _, m := range answer.Modules {
		health := "ok"
		if m.Health != nil {
			health = m.Health.State
		}
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", m.Name, m.Version, m.AgentID, m.Origin.Type, m.Trust.Status,
			health, strings.Join(m.Events, ","))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, problem := range answer.Untrusted {
		if _, err := fmt.Fprintf(out, "not trusted  %s: %s: %s\n", problem.Extension, problem.Code,
			problem.Message); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(out, "snapshot %s, loaded %s\n", answer.SnapshotVersion, answer.LoadedAt)
	return err
}

func (c *lifecycleClient) reload(ctx context.Context, out io.Writer) error {
	status, answer, err := c.ask(ctx, http.MethodPost, "/api/agents/extensions/reload")
	if err != nil {
		return err
	}
	for _, problem := range answer.Errors {
		if _, err := fmt.Fprintf(out, "error    %s: %s: %s\n", problem.Extension, problem.Code, problem.Message); err != nil {
			return err
		}
	}
	if status != http.StatusOK {
		return refusedBy(status, answer)
	}
	_, err = fmt.Fprintf(out, "%d loaded, snapshot %s\n", len(answer.Modules), answer.SnapshotVersion)
	return err
}
