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

` + "```sh\ngo test ./tests/e2e/clients -run TestClientsOfCodesdkdAreServed\n```" + `

Ids, times, hashes of what a model is given, token counts and the model's words are put aside; hashes of what tools are called
with are the same. See [tasks.md](tasks.md) for the API itself.

| | what differs | why |
|---|---|---|
`)
	for i, row := range Rows() {
		fmt.Fprintf(&out, "| %d | %s | %s |\n", i+1, row.What, row.Reason)
	}
	out.WriteString(starting)
	return out.String()
}

// starting is what a program that starts the daemon has to know.
const starting = `
## Starting it

It prints one line, ` +
	"`{\"url\":\"http://127.0.0.1:PORT\"}`" + `, when it takes requests. The URL is an origin: every path of the task API is
answered behind it with and without ` + "`/v1`" + `. A page that a browser opens there (` + "`Accept: text/html`" + `) is the console's.
The flags are the daemon's: ` + "`--data-dir`, `--host`, `--port`, `--runtimes`, `--default-runtime`, `--default-permission-mode`" + ` and
` + "`--workspace-root`" + `; runtimes may have the daemon's names (` +
	"`codex-sdk`, `claude-agent-sdk`" + `). SIGTERM ends it with 0, SIGINT with 130, flags that
cannot be used with 1, with the reason and how it is used on stderr.

` + "`runtimeConfig`" + ` is taken when it has no members. With members it is 400 ` + "`not_supported`" + `: ` +
	"`refused`" + ` lists them, and ` + "`supported`" + ` the
members of a session that are there in their place.

## Limits

| limit | codesdkd | here |
|---|---|---|
| a body | 1 MiB, then the connection is cut | 1 MiB, then 413 ` + "`payload_too_large`" + ` |
| tasks that are not over | 32 | 1,000 (` + "`HARNESS_TASKS_MAX`" + `), and 32 of a session (` +
	"`HARNESS_TASKS_MAX_PER_SESSION`" + `); then 429 ` + "`backpressure`" + ` with ` + "`limit`" + ` and ` + "`of`" + ` |
| streams of events at once | 64 | 10,000 (` + "`HARNESS_WS_MAX_CONNECTIONS`" + `); then 429 ` + "`sse_limit`" + ` |
| a stream whose reader is slow | cut after about 16 KiB | ` + "`event: overflow`" + ` with ` +
	"`last_seq`" + `, after 20,000 events or 30 s without a byte; a replay has no bound |
| events of a page | 500, any number with ` + "`limit`" + ` | 500, 5,000 with ` + "`limit`" + ` |
| requests by the minute | off | none |
| early decisions | 404 | kept for the question for 30 s |
`
