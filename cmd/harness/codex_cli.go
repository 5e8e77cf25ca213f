package main

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"harness/cmd/harness/remote"
	"harness/internal/platform/config"
	"harness/server"
	"harness/server/datadir"
)

// newCodexCommand runs the codex of this configuration, with its home: a codex installed by `make run` is not on PATH.
func newCodexCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "codex [-- ARGUMENT...]",
		Short: "Run this configuration's codex, with the same home: harness codex -- login status",
		RunE: func(cmd *cobra.Command, args []string) error {
			return becomeCodex(cmd, args)
		},
	}
	config.AddFlags(cmd.Flags())
	return cmd
}

// newLogin logs in codex in the home that servers of this configuration use.
func newLogin() *cobra.Command {
	var (
		server    remote.Connection
		provider  string
		inKeyring bool
	)
	cmd := &cobra.Command{
		Use:   "login [-- ARGUMENT...]",
		Short: "Sign codex in for this configuration's server (harness login -- --device-auth on a machine without a browser)",
		Long: "Sign codex in for this configuration's server: it runs `codex login` with the arguments after --, as this user.\n" +
			"With --provider you sign in yourself, at an OpenID Connect provider of a server: open the address it prints and enter the code.\n" +
			"How the other runtimes sign in:  curl http://127.0.0.1:3001/api/runtimes",
		RunE: func(cmd *cobra.Command, args []string) error {
			if provider != "" {
				return remote.Login(cmd, &server, localServer, provider, inKeyring)
			}
			return becomeCodex(cmd, append([]string{"login"}, args...))
		},
	}
	config.AddFlags(cmd.Flags())
	cmd.Flags().StringVar(&provider, "provider", "",
		"OpenID Connect provider of a server to log in at yourself; the login is kept in a profile")
	cmd.Flags().BoolVar(&inKeyring, "keyring", false,
		"with --provider: store the login in the system's keyring (default: a file with mode 0600)")
	server.AddFlags(cmd.Flags())
	return cmd
}

// becomeCodex replaces this process with codex, so that terminal, signals and exit code are codex's own. It returns
// only on failure.
func becomeCodex(cmd *cobra.Command, args []string) error {
	cfg, err := datadir.LoadConfig(cmd.Flags())
	if err != nil {
		return err
	}
	path, env, err := codexOf(cfg)
	if err != nil {
		return err
	}
	if cfg.CodexHome != "" {
		env = append(env, "CODEX_HOME="+cfg.CodexHome)
	}
	return fmt.Errorf("start %s: %w", path,
		syscall.Exec(path, append([]string{"codex"}, args...), env)) //nolint:gosec // what the operator named
}

// frontEndCodex implements remote.Codex. A front end has the user's own home.
func frontEndCodex() (path string, env []string, err error) {
	cfg, err := datadir.LoadConfig(nil)
	if err != nil {
		return "", nil, err
	}
	return codexOf(cfg)
}

// codexOf returns the codex of a configuration, and an environment without the server's secrets.
func codexOf(cfg *config.Config) (path string, env []string, err error) {
	path, err = exec.LookPath(server.CodexBin(cfg))
	if err != nil {
		return "", nil, fmt.Errorf("codex is missing: %w; set CODEX_BIN to its executable, or: npm install -g @openai/codex", err)
	}
	return path, slices.DeleteFunc(os.Environ(), isServerSecret), nil
}

// isServerSecret reports whether codex must not get a variable: all secrets here, except codex's own key.
func isServerSecret(assignment string) bool {
	name, _, _ := strings.Cut(assignment, "=")
	return slices.ContainsFunc(config.Variables(), func(v config.Variable) bool {
		return v.Name == name && (v.Secret || name == "DATABASE_URL") && name != "OPENAI_API_KEY"
	})
}
