package remote

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"harness/client"
)

func sortRows(rows [][]string) {
	slices.SortFunc(rows, func(a, b []string) int { return strings.Compare(a[0], b[0]) })
}

// api sends any request, for operations without a command.
func (c *commands) api() *cobra.Command {
	var data string
	cmd := c.one("api METHOD [PATH]", "Send a request and print the raw response: harness api GET /api/health",
		func(cmd *cobra.Command, api *client.Client, args []string) error {
			method, path := "GET", args[0]
			if len(args) > 1 {
				method, path = strings.ToUpper(args[0]), args[1]
			} else if data != "" {
				method = "POST"
			}
			if !strings.HasPrefix(path, "/") {
				return usage("the path must begin with /, for example: harness api GET /api/health")
			}
			var body io.Reader
			switch {
			case data == "-":
				body = cmd.InOrStdin()
			case strings.HasPrefix(data, "@"):
				file, err := os.Open(data[1:])
				if err != nil {
					return usage("cannot read the body: %w", err)
				}
				defer file.Close()
				body = file
			case data != "":
				body = strings.NewReader(data)
			}
			request, err := http.NewRequestWithContext(cmd.Context(), method, strings.TrimSuffix(api.Server, "/")+path, body)
			if err != nil {
				return &UsageError{err}
			}
			if body != nil {
				request.Header.Set("Content-Type", "application/json")
			}
			for _, edit := range api.RequestEditors {
				if err := edit(cmd.Context(), request); err != nil {
					return err
				}
			}
			response, err := api.Client.Do(request)
			if err != nil {
				return err
			}
			defer response.Body.Close()
			if _, err := io.Copy(cmd.OutOrStdout(), response.Body); err != nil {
				return fmt.Errorf("the response ended early: %w", err)
			}
			if response.StatusCode >= http.StatusBadRequest {
				return fmt.Errorf("%s %s: %s", method, path, response.Status)
			}
			return nil
		})
	cmd.Long = "Send a request and print the raw response. Exit code 1 when it is 400 or above.\n\n" +
		"  harness api /api/health\n  harness api POST /api/projects -d '{\"name\":\"web\"}'"
	cmd.Flags().StringVarP(&data, "data", "d", "", "the body: JSON, @FILE or - for standard input")
	return cmd
}
