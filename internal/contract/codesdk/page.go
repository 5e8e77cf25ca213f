package codesdk

import (
	"fmt"
	"strings"
)

// Page is the page of the documentation about clients of codesdkd.
func Page() string {
	var out strings.Builder
	out.WriteString(`# Compatibility with codesdkd

Programs that start the codesdkd daemon and speak to it by its URL work with ` + "`harness codesdkd --data-dir DIR`" +
		`, or with
` + "`/v1`" + ` of any server, but for what is listed here. The recorded exchanges, events and streams of codesdkd 0.1.3 are replayed
against the real server with the real codex and a scripted model; what differs and is not listed fails the test, and so does a row
that nothing meets any more:

` + "```sh\ngo test ./internal/e2e/clients -run TestClientsOfCodesdkdAreServed\n```" + `

Ids, times, hashes of what a model is given, token counts and the model's words are put aside; hashes of what tools are called
with are the same. See [tasks.md](tasks.md) for the API itself.

| | what differs | why |
|---|---|---|
`)
	for i, row := range Rows() {
		fmt.Fprintf(&out, "| %d | %s | %s |\n", i+1, row.What, row.Reason)
	}
	return out.String()
}
