package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"harness/internal/platform/auth/owner"
	"harness/internal/platform/config"
	"harness/server/datadir"
)

// newToken makes the command for the server's owner.
func newToken() *cobra.Command {
	var renew bool
	cmd := &cobra.Command{
		Use:   "token",
		Short: "Print the owner's token of this machine's server",
		Long: "Print the owner's token of the server of this configuration, to send as Authorization: Bearer. Who has it may do everything.\n" +
			"serve makes it at its first start and keeps it in HOME/.config/harness/owner, for its own user alone.\n" +
			"With --renew another one is made: the old one, and what it opened, ends. A running server need not be started anew.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := datadir.LoadConfig(cmd.Flags())
			if err != nil {
				return err
			}
			token, err := datadir.OwnersToken(cfg)
			if err != nil {
				return err
			}
			secret, err := token.Read()
			if renew {
				secret, err = token.Renew()
			}
			var notKept *owner.NotKeptError
			if errors.As(err, &notKept) {
				_, err = fmt.Fprintf(cmd.ErrOrStderr(), "this token counts, and can be kept in no file, so keep it yourself: %s\n",
					strings.ReplaceAll(notKept.Error(), "\n", "; "))
			}
			if err != nil {
				return err
			}
			if renew {
				showRenewed(cmd.Context(), cfg, secret)
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), secret)
			return err
		},
	}
	cmd.Flags().BoolVar(&renew, "renew", false, "make another one; the old one ends")
	config.AddFlags(cmd.Flags())
	return cmd
}

// showRenewed sends a new token to the server, so that access with the old one ends immediately. The server need not
// run.
func showRenewed(ctx context.Context, cfg *config.Config, secret string) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, datadir.ServerURL(cfg)+cfg.BasePath+"/api/me", nil)
	if err != nil {
		return
	}
	request.Header.Set("Authorization", "Bearer "+secret)
	if response, err := http.DefaultClient.Do(request); err == nil {
		_ = response.Body.Close() // the response does not matter
	}
}

// localToken returns the token that a command on this machine sends to the named server, "" for the configured one. The
// owner's token is only for that server: any program may listen on another port.
func localToken(cfg *config.Config, named string) string {
	if cfg.AuthToken != "" {
		return cfg.AuthToken
	}
	if at, err := url.Parse(named); named != "" && (err != nil || at.Port() != strconv.Itoa(cfg.Port)) {
		return ""
	}
	token, err := datadir.OwnersToken(cfg)
	if err != nil {
		return ""
	}
	secret, err := token.Read()
	if err != nil {
		return "" // the server reports what it needs
	}
	return secret
}
