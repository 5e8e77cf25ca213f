package contract

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Page returns the compatibility page of the documentation. It has every published operation, whether this server
// serves it (served), the differences that apply to it, and the table of differences.
func Page(served func(Operation) bool) string {
	var out strings.Builder
	out.WriteString(pageHead)
	replayed := Rows()
	rows := slices.Concat(replayed, Beyond())
	var same, missing []string
	var differing strings.Builder
	for _, operation := range Operations() {
		name := operation.Method + " " + operation.Path
		var notes []string
		for i, row := range rows {
			if slices.Contains(row.Routes, name) {
				notes = append(notes, strconv.Itoa(i+1))
			}
		}
		switch {
		case !served(operation):
			missing = append(missing, "`"+name+"`")
		case len(notes) > 0:
			fmt.Fprintf(&differing, "| `%s` | %s |\n", name, strings.Join(notes, ", "))
		default:
			same = append(same, "`"+name+"`")
		}
	}
	fmt.Fprintf(&out, "## Routes\n\nThese routes answer as codex-manager does:\n%s.\n", strings.Join(same, ",\n"))
	if len(missing) > 0 {
		fmt.Fprintf(&out, "\nNot served (404 route not found):\n%s.\n", strings.Join(missing, ",\n"))
	}
	out.WriteString("\nThese differ; the numbers are those of the [differences](#differences):\n\n| route | differences |\n|---|---|\n")
	out.WriteString(differing.String())
	fmt.Fprintf(&out, "\n## Differences\n\nAll %d deliberate differences. The recordings show 1 to %d; each of the others has a test "+
		"of its own.\n\n| | difference | why |\n|---|---|---|\n", len(rows), len(replayed))
	for i, row := range rows {
		fmt.Fprintf(&out, "| %d | %s | %s |\n", i+1, cell(row.What), cell(row.Reason))
	}
	exchanges := 0
	for _, topic := range Topics() {
		exchanges += len(topic.Incomparable) + len(topic.Raced)
	}
	fmt.Fprintf(&out, pageTail, exchanges)
	return out.String()
}

func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

const pageHead = `# Compatibility with codex-manager

<!-- Generated from the contract test's tables: HARNESS_UPDATE=1 go test ./cmd/harness -run TestTheCompatibilityPageIsCurrent -->

Clients of codex-manager (its web UI, command line, Python SDK, scripts) work unchanged. Set their base URL:

` + "```sh" + `
HARNESS_ALLOWED_ORIGINS=http://127.0.0.1:5173,http://localhost:5173 harness serve   # the origins are for its web UI on port 5173
harness import codex-manager /srv/codex-manager/.data                               # takes its data over; see operations
` + "```" + `

[Operations](operations.md#coming-from-codex-manager) describes the import.

The contract test replays recordings of codex-manager against the real server and the real codex: 21 topics, about
1,200 exchanges and 6,000 websocket frames, made with codex 0.169.0 and a scripted model. It compares status, content type,
body and frames, in their order per socket and thread,
after it normalizes ids, times, folders and the model's text. Any difference that is not listed here fails the test.

`

const pageTail = `
## Not compared

The test leaves out %d recorded exchanges, and frames whose number or moment depends on the model or the machine.
Each has its reason in the test's tables. Queue figures in health, token usage, the outcome of
shell commands, process ids and versions are compared by type only.
`
