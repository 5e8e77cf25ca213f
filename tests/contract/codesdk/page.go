package codesdk

import (
	"fmt"
	"strings"
)

// Page is the page of the documentation about clients of codesdkd.
func Page() string {
	var out strings.Builder
	out.WriteString(intro + starting + limits)
	for i, row := range Rows() {
		fmt.Fprintf(&out, "| %d | %s | %s |\n", i+1, row.What, row.Reason)
	}
	return out.String()
}

// intro is the introduction of the page.
const intro = "# Compatibility with codesdkd\n" +
	"\n" +
	"Programs that start the codesdkd daemon and use its URL work with `harness codesdkd`, or with `/v1` of any " +
	"server. The differences are below.\n" +
	"[tasks.md](tasks.md) describes the API.\n" +
	"\n" +
	"```sh\n" +
	"harness codesdkd --data-dir /var/lib/mine                                 # prints " +
	"{\"url\":\"http://127.0.0.1:PORT\"} when it is ready\n" +
	"go test ./tests/e2e/clients -run TestClientsOfCodesdkdAreServed           # replays recordings of codesdkd 0.1.3\n" +
	"```\n" +
	"\n" +
	"The test replays the recordings against the real server with the real codex and a scripted model. An " +
	"unlisted difference fails it; so does a\n" +
	"row that no longer occurs. Ids, times, hashes of model input, token counts and the model's wording are not " +
	"compared.\n" +
	"\n"

// starting describes how a program starts the daemon.
const starting = "## Starting it\n" +
	"\n" +
	"* The URL is an origin. The task API is there with and without `/v1`. Browsers (`Accept: text/html`) get the " +
	"console.\n" +
	"* The flags are the daemon's: `--data-dir`, `--host`, `--port`, `--runtimes`, `--default-runtime`, " +
	"`--default-permission-mode` and `--workspace-root`.\n" +
	"  Runtimes may have the daemon's names (`codex-sdk`, `claude-agent-sdk`).\n" +
	"* Exit codes: 0 after SIGTERM, 130 after SIGINT, 1 for invalid flags, with reason and usage on standard error.\n" +
	"* `runtimeConfig` must be empty. With members it is 400 `not_supported`: `refused` lists them, `supported` " +
	"lists members of a session to use instead.\n" +
	"\n"

// limits precede the list of differences.
const limits = "## Limits\n" +
	"\n" +
	"| limit | codesdkd | here |\n" +
	"|---|---|---|\n" +
	"| a body | 1 MiB, then the connection is cut | 1 MiB, then 413 `payload_too_large` |\n" +
	"| unfinished tasks | 32 | 1,000, 32 per session (`tasks` and `tasks-per-session` of `HARNESS_LIMITS`); " +
	"then 429 `backpressure` with `limit` and `of` |\n" +
	"| event streams | 64 | 10,000 (`streams` of `HARNESS_LIMITS`); then 429 `sse_limit` |\n" +
	"| a slow stream reader | cut after about 16 KiB | `event: overflow` with `last_seq`, after 20,000 events or " +
	"30 s without a byte; a replay has no limit |\n" +
	"| events per page | 500, any number with `limit` | 500, 5,000 with `limit` |\n" +
	"| requests per minute | off | none |\n" +
	"| early decisions | 404 | kept for 30 s |\n" +
	"\n" +
	"## Differences\n" +
	"\n" +
	"| | difference | reason |\n" +
	"|---|---|---|\n"
