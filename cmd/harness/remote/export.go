package remote

import (
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"harness/client"
)

func (c *commands) exportSession() *cobra.Command {
	var format string
	cmd := c.one("export SESSION",
		"Print a session as Markdown, as HTML, as JSON lines (one transcript entry each) or as one JSON object",
		func(cmd *cobra.Command, api *client.Client, args []string) error {
			if c.output != "" {
				if cmd.Flags().Changed("format") && format != c.output {
					return usage("--format %s and -o %s are both set; choose one", format, c.output)
				}
				format = c.output
			}
			write := map[string]func(io.Writer, json.RawMessage) error{"markdown": asMarkdown, "html": asHTML, "jsonl": asLines,
				"json": func(out io.Writer, answer json.RawMessage) error {
					_, err := fmt.Fprintln(out, string(answer))
					return err
				}}[format]
			if write == nil {
				return usage("--format must be markdown, html, jsonl or json, not %s", format)
			}
			view := client.ReadSessionParamsViewConsole
			answer, err := read[json.RawMessage](api.ReadSession(cmd.Context(), args[0], &client.ReadSessionParams{View: &view}))
			if err != nil {
				return err
			}
			return write(cmd.OutOrStdout(), answer)
		})
	cmd.Flags().StringVar(&format, "format", "markdown", "markdown, html, jsonl or json")
	complete(cmd, "format", "markdown", "html", "jsonl", "json")
	return cmd
}

func asLines(out io.Writer, answer json.RawMessage) error {
	body, err := decoded[struct{ Transcript []json.RawMessage }](answer)
	for _, entry := range body.Transcript {
		if err == nil {
			_, err = fmt.Fprintln(out, string(entry))
		}
	}
	return err
}

func decoded[T any](answer json.RawMessage) (value T, err error) {
	if err = json.Unmarshal(answer, &value); err != nil {
		err = fmt.Errorf("unexpected response of the server: %w", err)
	}
	return value, err
}

func asMarkdown(out io.Writer, answer json.RawMessage) error {
	body, err := decoded[client.ReadSession200JSONResponseBody](answer)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "# %s\n\nSession %s, runtime %s, in `%s`.\n", body.Session.Title, body.Session.SessionID,
		text(body.Session.Runtime), body.Session.Cwd)
	for _, entry := range body.Transcript {
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(out, "\n## %s\n\n%s\n", heading(string(entry.Role), entry.Type), entry.Content)
	}
	return err
}

// heading returns the author of an entry, and the entry's kind if that adds information.
func heading(role, kind string) string {
	if kind == "" || kind == role {
		return role
	}
	return role + " (" + kind + ")"
}

// page is the template of a session as a standalone file: it loads nothing from elsewhere and runs no scripts.
const page = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{{.Title}}</title>
<style>
body { font: 16px/1.5 system-ui, sans-serif; max-width: 52rem; margin: 2rem auto; padding: 0 1rem; color-scheme: light dark }
article { border-left: 4px solid #8888; padding: .2rem 1rem; margin: 1rem 0 }
article.user { border-color: #36c } article.assistant { border-color: #393 }
h2 { font-size: .9rem; margin: 0; opacity: .7 }
pre { white-space: pre-wrap; overflow-wrap: anywhere; font: inherit; margin: .3rem 0 }
details pre { font-family: ui-monospace, monospace; font-size: .85rem }
</style>
<h1>{{.Title}}</h1>
<p>Session {{.ID}}, runtime {{.Runtime}}, in <code>{{.Folder}}</code></p>
{{range .Entries}}<article class="{{.Role}}">
<h2>{{.Heading}}{{with .At}} <time datetime="{{.}}">{{.}}</time>{{end}}</h2>
<pre>{{.Content}}</pre>
{{with .Details}}<details><summary>details</summary><pre>{{.}}</pre></details>
{{end}}</article>
{{end}}</html>
`

func asHTML(out io.Writer, answer json.RawMessage) error {
	body, err := decoded[struct {
		Session    struct{ SessionID, Title, Runtime, Cwd string }
		Transcript []struct {
			Role, Type, Content string
			Details             string
			StartedAt           *int64
		}
	}](answer)
	if err != nil {
		return err
	}
	type entry struct{ Role, Heading, At, Content, Details string }
	shown := struct {
		Title, ID, Runtime, Folder string
		Entries                    []entry
	}{body.Session.Title, body.Session.SessionID, body.Session.Runtime, body.Session.Cwd, nil}
	for _, e := range body.Transcript {
		one := entry{Role: e.Role, Heading: heading(e.Role, e.Type), Content: strings.TrimRight(e.Content, "\n"),
			Details: e.Details}
		if e.StartedAt != nil {
			one.At = time.UnixMilli(*e.StartedAt).UTC().Format(time.RFC3339)
		}
		shown.Entries = append(shown.Entries, one)
	}
	made, err := template.New("page").Parse(page)
	if err != nil {
		return err
	}
	return made.Execute(out, shown)
}
