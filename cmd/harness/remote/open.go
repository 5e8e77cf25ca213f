package remote

import (
	"errors"
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"github.com/spf13/cobra"

	"harness/client"
)

// open logs in a browser.
func (c *commands) open() *cobra.Command {
	var printOnly bool
	cmd := c.one("open", "Print a one-time link to the console, and open it in a browser",
		func(cmd *cobra.Command, api *client.Client, _ []string) error {
			made, err := read[client.CreateLoginLink201JSONResponseBody](api.CreateLoginLink(cmd.Context()))
			var refused *client.StatusError
			if errors.As(err, &refused) && refused.Code == "no_token_shown" {
				made.URL, err = api.Server, nil // a browser needs no token either
			}
			if err != nil {
				return err
			}
			if _, err := fmt.Fprintln(cmd.OutOrStdout(), made.URL); err != nil || printOnly {
				return err
			}
			program := browser(os.Getenv)
			if program == "" {
				return nil
			}
			page, err := openingPage(made.URL)
			if err == nil {
				err = exec.CommandContext(cmd.Context(), program, page).Run()
			}
			if err != nil {
				return fmt.Errorf("%s can't open the link: %w; use --print and open it yourself", program, err)
			}
			return nil
		})
	cmd.Long = "Print a link to the console that signs one browser in as you, once and within five minutes, " +
		"and open it where there is a desktop."
	cmd.Flags().BoolVar(&printOnly, "print", false, "print only the link")
	return cmd
}

// openingPage creates a page that redirects to a link, and returns its path. Agents can see the command lines of
// programs, and one could use the link before the browser does, but the page's folder is hidden from them. Afterwards
// the link is useless.
func openingPage(link string) (path string, err error) {
	dir, err := profilesDir()
	if err != nil {
		return "", err
	}
	path = filepath.Join(dir, "open.html")
	page := fmt.Appendf(nil, "<!doctype html><title>harness</title><meta http-equiv=\"refresh\" content=\"0;url=%s\">\n",
		html.EscapeString(link))
	return path, writePrivate(path, page)
}

// browser returns the program that opens links on this desktop, "" without one.
func browser(lookup func(string) string) string {
	if runtime.GOOS == "darwin" {
		if lookup("SSH_CONNECTION") != "" {
			return ""
		}
		return "open"
	}
	if lookup("DISPLAY") == "" && lookup("WAYLAND_DISPLAY") == "" {
		return ""
	}
	if _, err := exec.LookPath("xdg-open"); err != nil {
		return ""
	}
	return "xdg-open"
}
