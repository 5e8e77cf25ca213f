package remote

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"

	"github.com/spf13/cobra"

	"harness/client"
)

// bundle requests a support bundle from a server, and saves it.
func (c *commands) bundle() *cobra.Command {
	var path, task string
	cmd := c.one("bundle SESSION", "Write a redacted support bundle for a session",
		func(cmd *cobra.Command, api *client.Client, args []string) (err error) {
			params := &client.GetSupportBundleParams{}
			if task != "" {
				params.TaskID = &task
			}
			response, err := api.GetSupportBundle(cmd.Context(), args[0], params)
			if err != nil {
				return err
			}
			if response.StatusCode != http.StatusOK {
				_, err := read[struct{}](response, nil)
				return err
			}
			defer func() { err = errors.Join(err, response.Body.Close()) }()
			if path == "-" {
				_, err := io.Copy(cmd.OutOrStdout(), response.Body)
				return err
			}
			if path == "" {
				path = "harness-bundle-" + args[0] + ".tar.gz"
			}
			if err := keep(path, response.Body); err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), path)
			return err
		})
	cmd.Flags().StringVarP(&path, "file", "f", "",
		"new file to write; - is standard output (default: harness-bundle-SESSION.tar.gz)")
	cmd.Flags().StringVar(&task, "task", "", "task the bundle is about")
	return cmd
}

// keep writes a file, completely or not at all.
func keep(path string, content io.Reader) (err error) {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return usage("cannot write the bundle: %w", err)
	}
	_, err = io.Copy(file, content)
	if err = errors.Join(err, file.Close()); err != nil {
		return errors.Join(fmt.Errorf("incomplete bundle: %w", err), os.Remove(path))
	}
	return nil
}
