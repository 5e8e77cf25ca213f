package contract

import (
	"regexp"
	"sync"
)

// Row is one deliberate difference from codex-manager.
type Row struct {
	// Topic, Exchange ("METHOD path", or "frame TYPE") and Place (as in Difference) are regular expressions for the
	// whole text; "" matches all. So is Name, the recorder's name of the exchange.
	Topic, Name, Exchange, Place string
	// What is the difference in one line. Reason is why a user of codex-manager is no worse off.
	What, Reason string
	// Routes are the routes of the row, as documented. It is empty for the stream and for properties that all routes
	// share.
	Routes []string
}

// Rows is the single table of deliberate differences. Any other difference fails the contract test.
func Rows() []Row {
	return []Row{
		{
			Topic: "suggested-request", Exchange: `POST /api/sessions/[^/]*/suggested-request`,
			Place:  `body\.(?:status|suggestion|requestKey)`,
			What:   "a suggested request answers `ok` with the worker's suggestion",
			Reason: "the original answered `fallback` even when it had one",
			Routes: []string{"POST /api/sessions/{sessionId}/suggested-request"},
		},
		{
			Topic: "suggested-request", Exchange: `POST /api/sessions/[^/]*/suggested-request/jobs`, Place: `body\.requestKey`,
			What:   "a second request for a suggestion in progress gets the first one's key",
			Reason: "the original returned a key that no event carried",
			Routes: []string{"POST /api/sessions/{sessionId}/suggested-request/jobs"},
		},
		{
			Topic: "suggested-request", Exchange: `GET /api/(?:orchestrator/jobs/.*|projects/[^/]*/orchestrator/jobs)`,
			Place:  `body\.(?:job|data).*`,
			What:   "a suggestion is a job of type `suggest_request` with the suggestion in its result",
			Reason: "this is the published type; the original wrapped it and lost the result",
			Routes: []string{"GET /api/orchestrator/jobs/{jobId}", "GET /api/projects/{projectId}/orchestrator/jobs"},
		},
		{
			Topic: "extensions-.*", Exchange: "POST /api/agents/extensions/reload", Place: `body\.errors\[\d+\]\.message`,
			What:   "errors of a failed reload name the file, the line and the missing fields",
			Reason: "same codes; the original passed on its JavaScript engine's message",
			Routes: []string{"POST /api/agents/extensions/reload"},
		},
		{
			Topic: "extensions-.*", Exchange: "GET /api/agents/extensions", Place: `body\.modules\[\d+\]\.diagnostics.*`,
			What:   "diagnostics report an entry point that does not exist",
			Reason: "the original silently loaded another file",
			Routes: []string{"GET /api/agents/extensions"},
		},
		{
			Place:  `.*thread\.originator|body\.data\[\d+\]\.originator`,
			What:   "a thread's originator is `harness`, not `codex_manager_api`",
			Reason: "codex shows which program drives it",
		},
		{
			Place:  `body\.transcript\[\d+\] order`,
			What:   "every transcript entry has its members in one order",
			Reason: "JSON objects have none; the original's order varied",
		},
		{
			Exchange: `\w+ /api/sessions/.*`, Place: `body\.title`,
			What:   "410 of a deleted chat names its title",
			Reason: "documented, but the original had discarded the title",
		},
		{
			Exchange: `GET /api/sessions\?.*cursor=.*`, Place: "status",
			What:   "an invalid cursor is 400 with issues, not 500",
			Reason: "a client error",
			Routes: []string{"GET /api/sessions"},
		},
		{
			Exchange: `\w+ /api/sessions/(?:` + unknownSession +
				`|not-a-uuid)(?:/(?:rename|archive|unarchive|resume|rollback))?`, Place: "status",
			What:   "an unknown session is 404 `not_found`, not 500 or 409",
			Reason: "a client error, with the envelope of all other routes",
			Routes: []string{"GET /api/sessions/{sessionId}", "POST /api/sessions/{sessionId}/rename",
				"POST /api/sessions/{sessionId}/archive", "POST /api/sessions/{sessionId}/unarchive",
				"POST /api/sessions/{sessionId}/resume", "POST /api/sessions/{sessionId}/rollback"},
		},
		{
			Exchange: `POST /api/sessions/[^/]*/interrupt`, Place: "status",
			What:   "interrupting a turn that is not running is 409, not 500",
			Reason: "a client error",
			Routes: []string{"POST /api/sessions/{sessionId}/interrupt"},
		},
		{
			Exchange: `POST /api/sessions/[^/]*/unarchive`, Place: "status",
			What:   "unarchiving a chat that is not archived is 409 `not_materialized`, not 500",
			Reason: "a client error, as for archive",
			Routes: []string{"POST /api/sessions/{sessionId}/unarchive"},
		},
		{
			Exchange: `POST /api/sessions/[^/]*/messages`, Place: `body\.details\.method`,
			What:   "a message to an archived chat is refused when the session resumes",
			Reason: "same status and code; the details name codex's failed call",
			Routes: []string{"POST /api/sessions/{sessionId}/messages"},
		},
		{
			Exchange: `GET /api/sessions\?.*limit=.*`, Place: `body\.data\.length|body\.nextCursor`,
			What:   "a page of sessions has as many entries as `limit` says",
			Reason: "the original's pages had any length",
			Routes: []string{"GET /api/sessions"},
		},
		{
			Exchange: `GET /api/models\?cursor=.*|GET /api/account/rate-limits`, Place: "status|header .*",
			What: "an invalid models cursor is 400, not 500; rate limits without a login are 401, not 409, and " +
				"name the login",
			Reason: "documented so",
			Routes: []string{"GET /api/models", "GET /api/account/rate-limits"},
		},
		{
			Exchange: `\w+ /api/sessions/[^/]*(?:/(?:settings|session-controls).*)?`,
			Place:    `.*settings(?:\.\w+)? order|body\.transcript\[\d+\]\.details`, Topic: "controls-settings",
			What:   "members of settings are sorted",
			Reason: "equal settings give equal text",
			Routes: []string{"GET /api/sessions/{sessionId}/settings", "POST /api/sessions/{sessionId}/settings",
				"DELETE /api/sessions/{sessionId}/settings/{key}"},
		},
		{
			Exchange: `DELETE /api/sessions/[^/]*/settings/.*`, Place: "status",
			What:   "settings keys of 101 to 240 characters can be deleted",
			Reason: "the original could set but not delete them",
			Routes: []string{"DELETE /api/sessions/{sessionId}/settings/{key}"},
		},
		{
			Topic: "tool-input|tool-calls|approvals", Exchange: "frame app_server.turn.completed turn/completed", Place: "order",
			What:   "when a turn is interrupted, its open requests are resolved before it ends",
			Reason: "a client that drops a turn at its end would miss them",
		},
		{
			Topic: "sessions", Exchange: "frame app_server.thread.started thread/started",
			Place:  `frame\.payload\.session\.title`,
			What:   "a fork's first signal has its title",
			Reason: "the fork has it from the start",
			Routes: []string{"POST /api/sessions/{sessionId}/fork"},
		},
		{
			Exchange: "frame app_server.thread.archived thread/archived", Place: `frame\.payload\.session\.projectId`,
			What:   "when a project's chats are archived, the signal still names the project",
			Reason: "the chat leaves the project on archiving, not before",
			Routes: []string{"POST /api/projects/{projectId}/chats/move-all"},
		},
		{
			Topic: "persistence-restart", Exchange: `GET /api/sessions/.*`, Place: `body\.transcript\[\d+\]\.startedAt`,
			What:   "a time given in seconds is still in seconds after a restart",
			Reason: "the original changed it to milliseconds",
			Routes: []string{"POST /api/sessions/{sessionId}/transcript/upsert"},
		},
		{
			Topic: "sessions", Exchange: "POST /api/sessions", Place: "status",
			What: "approval policy `on-failure` works, and a refused tool name is 400 with codex's message; both " +
				"were 500",
			Reason: "codex 0.169 dropped the policy, so it is mapped to `on-request`",
			Routes: []string{"POST /api/sessions", "POST /api/sessions/{sessionId}/messages"},
		},
		{
			Topic: "tool-input|tool-calls|approvals", Exchange: `POST /api/(?:approvals|tool-input|tool-calls)/.*`,
			Place:  `body\.(?:code|resolution)`,
			What:   "404 of a decided request says who decided what",
			Reason: "a second approver should see the first decision",
			Routes: []string{"POST /api/approvals/{approvalId}/decision", "POST /api/tool-input/{requestId}/decision",
				"POST /api/tool-calls/{requestId}/response"},
		},
		{
			Topic: "transcript-upsert", Place: `body\.transcript\[\d+\]\.completedAt`,
			What:   "`completedAt` is never before `startedAt`",
			Reason: "the original ensured that only on the second write",
			Routes: []string{"POST /api/sessions/{sessionId}/transcript/upsert"},
		},
		{
			Topic: "stream", Exchange: `GET websocket origin|GET /api/health`, Place: "status",
			What:   "a foreign Origin is 403 before the upgrade",
			Reason: "any web page could read the original's stream",
			Routes: []string{"GET /api/stream"},
		},
		{
			Topic: "stream", Exchange: `GET websocket ws-health`,
			What:   "an upgrade on another route is answered like a plain request",
			Reason: "the original upgraded and closed at once",
		},
		{
			Place:  "close reason",
			What:   "close frames for protocol errors have a reason",
			Reason: "same code; the text helps client authors",
			Routes: []string{"GET /api/stream"},
		},
		{
			Topic: "stream", Exchange: "raw declared length 200 MiB",
			What:   "1009 comes when the limit is exceeded, not when a length is announced; the limit is 1 MiB",
			Reason: "clients send no larger commands",
			Routes: []string{"GET /api/stream"},
		},
		{
			Topic: "persistence-restart", Exchange: "close open-at-shutdown", Place: "close",
			What:   "a restart closes sockets with 1012 `service restart`, not without a code",
			Reason: "a client can reconnect at once",
			Routes: []string{"GET /api/stream"},
		},
		{
			Topic: "persistence-restart", Exchange: `\w+ /api/sessions/01a1fbbe-d91f-7320-8f49-bd011309da27.*`, Place: "status",
			What:   "a deleted chat stays deleted after a restart: 410",
			Reason: "the original forgot deletions",
			Routes: []string{"GET /api/sessions/{sessionId}", "POST /api/sessions/{sessionId}/transcript/upsert"},
		},
		{
			Topic: "persistence-restart", Exchange: `GET /api/sessions`, Place: `body\.data\.length`,
			What:   "a chat without messages is listed after a restart",
			Reason: "the original listed only codex's rollouts",
			Routes: []string{"GET /api/sessions"},
		},
		{
			Topic:  "codex-crash",
			Place:  `status|extra|body\.features\..*|body\.codex\..*|body\.runtime\..*|body\.methods\..*|body\.details\..*`,
			What:   "after a crash of codex everything works again within seconds",
			Reason: "the original answered 500 until restarted",
			Routes: []string{"GET /api/health"},
		},
		{
			Exchange: `frame (?:app_server\.thread\.(?:status\.changed|deleted|archived)|notification) ` +
				`thread/(?:status/changed notLoaded|deleted|archived)`,
			Place:  "extra",
			What:   "deleting a chat is followed by codex's own `thread/deleted` signal",
			Reason: "codex is asked to delete; the original removed files",
			Routes: []string{"DELETE /api/sessions/{sessionId}"},
		},
		{
			Exchange: `GET /api/capabilities.*`,
			Place:    `body\.details\..*\.reason|body\.(?:methods|details)\.thread/rollback.*|body\.features\.threadRollback`,
			What:     "capabilities come from codex's method list; rollback works",
			Reason:   "the original probed with broken calls",
			Routes:   []string{"GET /api/capabilities", "POST /api/sessions/{sessionId}/rollback"},
		},
		{
			Exchange: `frame app_server\.(?:request\..*|server_request\.resolved.*)`,
			Place:    `frame\.payload\.(?:nativeRequestId|requestId)`,
			What: "signals name a runtime's request by its REST id; the runtime's number is `nativeRequestId`. " +
				"`app_server.server_request.resolved` has the id beside the params",
			Reason: "runtime numbers restart at 0 with each process",
		},
		{
			Exchange: `frame approval.*|GET /api/sessions/[^/]*/approvals`,
			Place:    `(?:frame\.payload|body\.data\[\d+\])\.availableDecisions`,
			What:     "an approval names the decisions the runtime offers",
			Reason:   "clients need not read the runtime's parameters",
			Routes:   []string{"GET /api/sessions/{sessionId}/approvals"},
		},
		{
			Topic: "jobs", Exchange: `GET /api/sessions/.*`,
			Place:  `body\.session\.(?:approvalPolicy|sessionControls\.(?:model|approvalPolicy|networkAccess|filesystemSandbox))`,
			What:   "a worker's session shows the controls it runs with",
			Reason: "the original showed the defaults",
			Routes: []string{"GET /api/sessions/{sessionId}"},
		},
		{
			Topic: "jobs", Exchange: `GET /api/sessions/.*`,
			Place:  `body\.thread\.(?:preview|turns\[0\]\.items\[0\]\.content\[0\]\.text)|body\.transcript\[0\]\.content`,
			What:   "a new worker gets different introductory instructions",
			Reason: "the original's named its own files and commands",
			Routes: []string{"GET /api/sessions/{sessionId}"},
		},
		{
			Place:  `body\.capabilities`,
			What:   "a session lists its runtime's `capabilities`",
			Reason: "runtimes differ; the rest is 409 `unsupported_by_runtime` or 400 `unsupported_control`",
			Routes: []string{"GET /api/sessions/{sessionId}"},
		},
		{
			Place:  `body\.(?:session|data\[\d+\])\.(?:state|activity|activeTurnId|pendingCount|lastError)`,
			What:   "a session has `state`, `activity`, `activeTurnId`, `pendingCount`, `lastError`",
			Reason: "a list shows what runs, waits or failed",
			Routes: []string{"GET /api/sessions", "GET /api/sessions/{sessionId}", "POST /api/sessions"},
		},
		{
			Topic:    "messages|approvals|tool-input|tool-calls|integrations|sessions",
			Exchange: `GET /api/sessions/[^/]*|frame transcript_updated`, Place: `body\.transcript turn\.(?:error|stopped)|extra`,
			What: "a failed turn has an entry with cause and remedy: role `system`, type `turn.error`, status " +
				"`error`. A stopped one has an entry `turn.stopped` with who and when",
			Reason: "the original's transcript ended without a reason",
			Routes: []string{"GET /api/stream", "GET /api/sessions/{sessionId}", "POST /api/sessions/{sessionId}/messages",
				"POST /api/sessions/{sessionId}/interrupt"},
		},
		{
			Topic: "messages", Exchange: `GET /api/sessions/[^/]*`,
			Place: `body\.transcript\[1[12]\]\.(?:messageId|role|type|content)`,
			What: "entries are in the order in which they began; a steering message follows the answer it " +
				"interrupts",
			Reason: "the original placed an answer where it ended",
			Routes: []string{"GET /api/sessions/{sessionId}"},
		},
		{
			Exchange: `GET /api/sessions/[^/]*`, Place: `body\.transcript\[\d+\]\.content images`,
			What:   "an entry whose item has images lists where their bytes are, one line each after its text",
			Reason: "the original dropped them",
			Routes: []string{"GET /api/sessions/{sessionId}"},
		},
		{
			Place:  `.*sessionControls\.effective`,
			What:   "controls that restrict the network in an unbounded sandbox have `effective`",
			Reason: "they are stored as sent, but nothing restricts that network",
			Routes: []string{"POST /api/sessions", "GET /api/sessions/{sessionId}/session-controls"},
		},
		{
			Exchange: `(?:GET|HEAD) /api/(?:projects|sessions(?:/[^/]*)?)(?:\?.*)?`, Place: `body\.pos`,
			What: "a session, and the lists of sessions and projects, have the stream position `pos` at which they " +
				"are true",
			Reason: "a stream with `after=<pos>` continues from there",
			Routes: []string{"GET /api/sessions/{sessionId}", "GET /api/sessions", "GET /api/projects"},
		},
		{
			Topic: "tool-calls", Exchange: `POST /api/sessions/[^/]*/messages`, Place: "status",
			What: "`dynamicTools` of a message or resume other than those at creation are 400, not 202 and 200; " +
				"the same ones are accepted",
			Reason: "codex ignores later tools, so the model never saw them",
			Routes: []string{"POST /api/sessions/{sessionId}/messages", "POST /api/sessions/{sessionId}/resume"},
		},
		{
			Place:  `body\.(?:session|data\[\d+\])\.runtime`,
			What:   "a session names its runtime",
			Reason: "a server may drive several",
			Routes: []string{"GET /api/sessions", "GET /api/sessions/{sessionId}", "POST /api/sessions"},
		},
		{
			Place:  `body\.(?:runtimes|codex\.shim)`,
			What:   "health lists every runtime with state and processes, and names codex's shim",
			Reason: "`codex` has room for one runtime",
			Routes: []string{"GET /api/health"},
		},
		{
			Exchange: `frame (?:approval|tool_user_input|tool_call)_resolved.*`, Place: `frame\.payload\.decidedBy`,
			What:   "the frame that settles a request says who decided",
			Reason: "other approvers see it",
		},
		{
			Topic: "rbac-jwt", Name: "(?:GET|POST) role array", Place: "status",
			What: "a signed token's role claim may be a list or nested; `HARNESS_ROLE_MAP` translates names; the " +
				"highest known role counts",
			Reason: "the original accepted one top-level text and answered 403 `invalid_role_claim`, now the answer " +
				"when no role is known",
			Routes: []string{"GET /api/agents/extensions", "POST /api/agents/extensions/reload"},
		},
	}
}

var compile = sync.OnceValue(func() []compiledRow {
	rows := Rows()
	compiled := make([]compiledRow, len(rows))
	for i, row := range rows {
		compiled[i] = compiledRow{whole(row.Topic), whole(row.Name), whole(row.Exchange), whole(row.Place)}
	}
	return compiled
})

type compiledRow struct{ topic, name, exchange, place *regexp.Regexp }

// whole compiles a pattern for whole texts; "" matches all.
func whole(pattern string) *regexp.Regexp {
	if pattern == "" {
		pattern = `(?s).*`
	}
	return regexp.MustCompile("^(?:" + pattern + ")$")
}

// excuse returns the rows that cover a result's differences, and whether they cover all.
func excuse(topic string, result Result) (rows []int, all bool) {
	for _, difference := range result.Differences {
		found := -1
		for i, row := range compile() {
			if row.topic.MatchString(topic) && row.name.MatchString(result.Name) && row.exchange.MatchString(result.Subject) &&
				row.place.MatchString(difference.Place) {
				found = i
				break
			}
		}
		if found < 0 {
			return nil, false
		}
		rows = append(rows, found)
	}
	return rows, true
}
