package contract

import (
	"fmt"
	"slices"
	"strings"
)

// Page is the compatibility page of the documentation: every published operation, whether it is served and in what it
// is better, the table of differences, and what the contract test leaves out. served tells which operations this server
// has.
func Page(served func(Operation) bool) string {
	var out strings.Builder
	out.WriteString(pageHead)
	replayed := Rows()
	rows := slices.Concat(replayed, Beyond())
	out.WriteString("## Routes\n\n| route | compared with codex-manager |\n|---|---|\n")
	for _, operation := range Operations() {
		name := operation.Method + " " + operation.Path
		status := "same"
		var notes []string
		for i, row := range rows {
			if slices.Contains(row.Routes, name) {
				notes = append(notes, fmt.Sprintf("[%d](#differences)", i+1))
			}
		}
		switch {
		case !served(operation):
			status = "not served yet: 404 route not found"
		case len(notes) > 0:
			status = "better, see " + strings.Join(notes, ", ")
		}
		fmt.Fprintf(&out, "| `%s` | %s |\n", name, status)
	}
	fmt.Fprintf(&out, "\n## Differences\n\nThese are all %d deliberate differences. The recordings show 1 to %d, and "+
		"anything else that differs from them fails the test; "+
		"no recorded request comes near the others, each of which has a test of its own.\n\n| | what differs | why |\n|---|---|---|\n",
		len(rows), len(replayed))
	for i, row := range rows {
		fmt.Fprintf(&out, "| %d | %s | %s |\n", i+1, cell(row.What), cell(row.Reason))
	}
	out.WriteString("\n## Not compared\n\nExchanges of the recordings that are left out, and why:\n\n")
	for _, topic := range Topics() {
		for _, left := range []map[string]string{topic.Incomparable, topic.Raced} {
			for _, name := range sorted(left) {
				fmt.Fprintf(&out, "- %s, %q: %s\n", topic.Name, name, left[name])
			}
		}
		moments := map[string]string{}
		for moment, reason := range topic.Moments {
			moments[fmt.Sprintf("%q, `%s`", moment.Exchange, moment.Place)] = reason
		}
		for _, moment := range sorted(moments) {
			fmt.Fprintf(&out, "- %s, %s: %s\n", topic.Name, moment, moments[moment])
		}
	}
	out.WriteString("\nFrames that are left out, and why:\n\n")
	for _, ignored := range ignoredTypes {
		if ignored.reason != "as above" {
			fmt.Fprintf(&out, "- `%s`: %s\n", ignored.match, ignored.reason)
		}
	}
	out.WriteString(pageTail)
	return out.String()
}

func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

func sorted(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

const pageHead = `# Compatibility with codex-manager

Clients of codex-manager (its web UI, its command line, its Python SDK, scripts) work against this server unchanged: set their base URL.
Its web UI on port 5173 needs ` + "`HARNESS_ALLOWED_ORIGINS=http://127.0.0.1:5173,http://localhost:5173`" + ` as well.
This page is made from the tables the contract test uses, so it can not disagree with the test:
` + "`HARNESS_UPDATE=1 go test ./cmd/harness -run TestTheCompatibilityPageIsCurrent`" + ` writes it anew.

How it is known: recordings of codex-manager answering its clients (21 topics, about 1,200 exchanges and 6,000 websocket frames, with codex
0.169.0 and a scripted model) are replayed request by request against a real server process with the real codex. Status, content type, body
and frames are compared after ids, times, folders and the model's own words are normalised;` +
	` frames are compared in their order per socket and
thread. ` + "`go test ./tests/e2e/clients -run TestTheRecordedContractHolds -v`" + ` prints a line per topic.

`

const pageTail = `- raw response items: what the model was asked and answered, megabytes of it
- all deltas of an item but the first: their number is the model's

Beside these, the numbers of the queue in health, token usage, how a shell command ended (the sandbox of the machine decides that), process
ids and versions are compared by type only.
`
