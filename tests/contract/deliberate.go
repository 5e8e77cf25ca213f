package contract

import (
	"regexp"
	"sync"
)

// Row is one deliberate difference from codex-manager.
type Row struct {
	// Topic, Exchange ("METHOD path", or "frame TYPE") and Place (as in Difference) are regular expressions for the whole
	// text; "" fits all. So is Name, which is the recorder's name of the exchange.
	Topic, Name, Exchange, Place string
	// What differs, in a line, and why a user of codex-manager is no worse off.
	What, Reason string
	// Routes the row is about, as documented; empty for the stream and for what all routes share.
	Routes []string
}

// Rows is the one table of deliberate differences. Anything else is a failure of the contract test.
func Rows() []Row {
	return []Row{
		{
			Topic: "suggested-request", Exchange: `POST /api/sessions/[^/]*/suggested-request`,
			Place:  `body\.(?:status|suggestion|requestKey)`,
			What:   "a suggested request says ok and brings the worker's suggestion",
			Reason: "the original said fallback even when it had one (its bug 3)",
			Routes: []string{"POST /api/sessions/{sessionId}/suggested-request"},
		},
		{
			Topic: "suggested-request", Exchange: `POST /api/sessions/[^/]*/suggested-request/jobs`, Place: `body\.requestKey`,
			What:   "a second request for a suggestion under way gets the key of the first",
			Reason: "the original made up a key that no event would ever carry (its bug 5)",
			Routes: []string{"POST /api/sessions/{sessionId}/suggested-request/jobs"},
		},
		{
			Topic: "suggested-request", Exchange: `GET /api/(?:orchestrator/jobs/.*|projects/[^/]*/orchestrator/jobs)`,
			Place:  `body\.(?:job|data).*`,
			What:   "a suggestion is a job of type suggest_request with the suggestion in its result",
			Reason: "the published type; the original had an extension wrap it in another one and lose the result",
			Routes: []string{"GET /api/orchestrator/jobs/{jobId}", "GET /api/projects/{projectId}/orchestrator/jobs"},
		},
		{
			Topic: "extensions-.*", Exchange: "POST /api/agents/extensions/reload", Place: `body\.errors\[\d+\]\.message`,
			What:   "errors of a failed reload name the file, the line and the missing fields",
			Reason: "the codes are the same; the original passed on what its JavaScript engine said",
			Routes: []string{"POST /api/agents/extensions/reload"},
		},
		{
			Topic: "extensions-.*", Exchange: "GET /api/agents/extensions", Place: `body\.modules\[\d+\]\.diagnostics.*`,
			What:   "diagnostics tell of an entry point that does not exist",
			Reason: "the original loaded another file without a word", Routes: []string{"GET /api/agents/extensions"},
		},
		{
			Place:  `.*thread\.originator|body\.data\[\d+\]\.originator`,
			What:   `a thread's originator is "harness", not "codex_manager_api"`,
			Reason: "codex shows which program drives it; it should be true",
		},
		{
			Place:  `body\.transcript\[\d+\] order`,
			What:   "every transcript entry has its members in one order",
			Reason: "the original's order depended on where an entry came from; JSON objects have none",
		},
		{
			Exchange: `\w+ /api/sessions/.*`, Place: `body\.title`,
			What:   "410 of a deleted chat names its title",
			Reason: "documented so; the original had thrown the title away by then",
		},
		{
			Exchange: `GET /api/sessions\?.*cursor=.*`, Place: "status",
			What: "a cursor that is none: 400 with issues instead of 500", Reason: "the client's mistake, said to the client",
			Routes: []string{"GET /api/sessions"},
		},
		{
			Exchange: `\w+ /api/sessions/(?:` + unknownSession +
				`|not-a-uuid)(?:/(?:rename|archive|unarchive|resume|rollback))?`, Place: "status",
			What:   "an unknown session: 404 not_found instead of 500, or of a misleading 409",
			Reason: "the client's mistake, said to the client; the same envelope as on all other routes",
			Routes: []string{"GET /api/sessions/{sessionId}", "POST /api/sessions/{sessionId}/rename",
				"POST /api/sessions/{sessionId}/archive", "POST /api/sessions/{sessionId}/unarchive",
				"POST /api/sessions/{sessionId}/resume", "POST /api/sessions/{sessionId}/rollback"},
		},
		{
			Exchange: `POST /api/sessions/[^/]*/interrupt`, Place: "status",
			What:   "interrupting a turn that does not run: 409 instead of 500",
			Reason: "the client's mistake, said to the client", Routes: []string{"POST /api/sessions/{sessionId}/interrupt"},
		},
		{
			Exchange: `POST /api/sessions/[^/]*/unarchive`, Place: "status",
			What:   "unarchiving a chat that is not archived: 409 not_materialized instead of 500",
			Reason: "the client's mistake, said to the client as archive says it",
			Routes: []string{"POST /api/sessions/{sessionId}/unarchive"},
		},
		{
			Exchange: `POST /api/sessions/[^/]*/messages`, Place: `body\.details\.method`,
			What:   "a message to an archived chat is refused while it is resumed",
			Reason: "same status and code; the details name the call that codex refused",
			Routes: []string{"POST /api/sessions/{sessionId}/messages"},
		},
		{
			Exchange: `GET /api/sessions\?.*limit=.*`, Place: `body\.data\.length|body\.nextCursor`,
			What:   "a page of sessions holds as many as the limit says",
			Reason: "the original added all loaded chats to the first page and filtered workers out of the others, so a page had any length",
			Routes: []string{"GET /api/sessions"},
		},
		{
			Exchange: `GET /api/models\?cursor=.*|GET /api/account/rate-limits`, Place: "status|header .*",
			What: "a bad models cursor is 400 instead of 500; rate limits without a login are the documented 401 instead of 409, and say " +
				"whose login is meant",
			Reason: "the client's mistake, said to the client as documented",
			Routes: []string{"GET /api/models", "GET /api/account/rate-limits"},
		},
		{
			Exchange: `\w+ /api/sessions/[^/]*(?:/(?:settings|session-controls).*)?`,
			Place:    `.*settings(?:\.\w+)? order|body\.transcript\[\d+\]\.details`, Topic: "controls-settings",
			What:   "members of settings come sorted",
			Reason: "JSON objects have no order; sorted ones make equal settings equal texts",
			Routes: []string{"GET /api/sessions/{sessionId}/settings", "POST /api/sessions/{sessionId}/settings",
				"DELETE /api/sessions/{sessionId}/settings/{key}"},
		},
		{
			Exchange: `DELETE /api/sessions/[^/]*/settings/.*`, Place: "status",
			What:   "settings keys of 101 to 240 characters can be deleted",
			Reason: "they can be set, so the original kept them for ever (its bug 14)",
			Routes: []string{"DELETE /api/sessions/{sessionId}/settings/{key}"},
		},
		{
			Topic: "tool-input|tool-calls|approvals", Exchange: "frame app_server.turn.completed turn/completed", Place: "order",
			What:   "when a turn is interrupted, its open requests are resolved before the turn ends",
			Reason: "a client that drops a turn at its end would miss what became of the request",
		},
		{
			Topic: "sessions", Exchange: "frame app_server.thread.started thread/started",
			Place: `frame\.payload\.session\.title`, What: "a fork's first signal names its title already",
			Reason: "the fork has the title from the start", Routes: []string{"POST /api/sessions/{sessionId}/fork"},
		},
		{
			Exchange: "frame app_server.thread.archived thread/archived", Place: `frame\.payload\.session\.projectId`,
			What:   "when a project's chats are archived, the signal still names the project",
			Reason: "the chat leaves the project when it is archived, not before",
			Routes: []string{"POST /api/projects/{projectId}/chats/move-all"},
		},
		{
			Topic: "persistence-restart", Exchange: `GET /api/sessions/.*`, Place: `body\.transcript\[\d+\]\.startedAt`,
			What:   "a time given in seconds is still in seconds after a restart",
			Reason: "the original changed it to milliseconds when it read its file",
			Routes: []string{"POST /api/sessions/{sessionId}/transcript/upsert"},
		},
		{
			Topic: "sessions", Exchange: "POST /api/sessions", Place: "status",
			What:   "approval policy on-failure works, and a refused tool name is 400 with codex's words; both were 500",
			Reason: "codex 0.169 dropped the policy: it is mapped to on-request; and a client should learn what is wrong",
			Routes: []string{"POST /api/sessions", "POST /api/sessions/{sessionId}/messages"},
		},
		{
			Topic: "tool-input|tool-calls|approvals", Exchange: `POST /api/(?:approvals|tool-input|tool-calls)/.*`,
			Place: `body\.(?:code|resolution)`, What: "404 of a request already decided also says who decided what",
			Reason: "a second approver should see the first one's decision",
			Routes: []string{"POST /api/approvals/{approvalId}/decision", "POST /api/tool-input/{requestId}/decision",
				"POST /api/tool-calls/{requestId}/response"},
		},
		{
			Topic: "transcript-upsert", Place: `body\.transcript\[\d+\]\.completedAt`,
			What: "completedAt is never before startedAt", Reason: "the original did this on the second write only (its bug 13)",
			Routes: []string{"POST /api/sessions/{sessionId}/transcript/upsert"},
		},
		{
			Topic: "stream", Exchange: `GET websocket origin|GET /api/health`, Place: "status",
			What:   "a foreign Origin is refused with 403 before the upgrade",
			Reason: "any web page could open the original's stream and read everything (its bug 2)",
			Routes: []string{"GET /api/stream"},
		},
		{
			Topic: "stream", Exchange: `GET websocket ws-health`,
			What:   "an upgrade on another route is answered like a plain request",
			Reason: "the original upgraded and closed at once, which no client can use",
		},
		{
			Place:  "close reason",
			What:   "close frames for protocol errors carry a reason",
			Reason: "the code is the same; the text tells a client's author what was wrong",
			Routes: []string{"GET /api/stream"},
		},
		{
			Topic: "stream", Exchange: "raw declared length 200 MiB",
			What:   "1009 comes when the limit is exceeded, not when a length is announced, and the limit is 1 MiB",
			Reason: "no client sends commands of 100 MiB", Routes: []string{"GET /api/stream"},
		},
		{
			Topic: "persistence-restart", Exchange: "close open-at-shutdown", Place: "close",
			What:   "a restart closes sockets with 1012 service restart, not without a code",
			Reason: "a client can tell a restart from a fault and come back at once", Routes: []string{"GET /api/stream"},
		},
		{
			Topic: "persistence-restart", Exchange: `\w+ /api/sessions/01a1fbbe-d91f-7320-8f49-bd011309da27.*`, Place: "status",
			What: "a deleted chat stays deleted after a restart: 410", Reason: "the original forgot deletions (its bug 8)",
			Routes: []string{"GET /api/sessions/{sessionId}", "POST /api/sessions/{sessionId}/transcript/upsert"},
		},
		{
			Topic: "persistence-restart", Exchange: `GET /api/sessions`, Place: `body\.data\.length`,
			What:   "a chat without messages is still listed after a restart",
			Reason: "it can be opened and written to; the original listed what codex had rollouts for",
			Routes: []string{"GET /api/sessions"},
		},
		{
			Topic:  "codex-crash",
			Place:  `status|extra|body\.features\..*|body\.codex\..*|body\.runtime\..*|body\.methods\..*|body\.details\..*`,
			What:   "after a crash of codex everything works again within seconds",
			Reason: "the original answered 500 until an operator restarted it (its bug 9)", Routes: []string{"GET /api/health"},
		},
		{
			Exchange: `frame (?:app_server\.thread\.(?:status\.changed|deleted|archived)|notification) ` +
				`thread/(?:status/changed notLoaded|deleted|archived)`,
			Place: "extra", What: "deleting a chat is followed by codex's own word that the thread is gone",
			Reason: "codex is asked to delete, where the original removed files behind its back",
			Routes: []string{"DELETE /api/sessions/{sessionId}"},
		},
		{
			Exchange: `GET /api/capabilities.*`,
			Place:    `body\.details\..*\.reason|body\.(?:methods|details)\.thread/rollback.*|body\.features\.threadRollback`,
			What:     "capabilities come from the method list of codex; rollback is available",
			Reason:   "the original probed by making real calls with broken parameters; rollback works here on old and new codex",
			Routes:   []string{"GET /api/capabilities", "POST /api/sessions/{sessionId}/rollback"},
		},
		{
			Exchange: `frame app_server\.(?:request\..*|server_request\.resolved.*)`,
			Place:    `frame\.payload\.(?:nativeRequestId|requestId)`,
			What: "a signal of a runtime's request names it by the id that REST and actions take; the runtime's own number is in " +
				"nativeRequestId. app_server.server_request.resolved has that id beside the params",
			Reason: "the number begins at 0 with every process of the runtime; an answer by it must meet the request that was shown",
		},
		{
			Exchange: `frame approval.*|GET /api/sessions/[^/]*/approvals`,
			Place:    `(?:frame\.payload|body\.data\[\d+\])\.availableDecisions`,
			What:     "an approval names the decisions the runtime offers",
			Reason:   "what can be chosen is found without reading the runtime's parameters",
			Routes:   []string{"GET /api/sessions/{sessionId}/approvals"},
		},
		{
			Topic: "jobs", Exchange: `GET /api/sessions/.*`,
			Place:  `body\.session\.(?:approvalPolicy|sessionControls\.(?:model|approvalPolicy|networkAccess|filesystemSandbox))`,
			What:   "a worker's session shows the controls it runs with",
			Reason: "the original showed the defaults, though the worker ran as its agent.config.json said",
			Routes: []string{"GET /api/sessions/{sessionId}"},
		},
		{
			Topic: "jobs", Exchange: `GET /api/sessions/.*`,
			Place:  `body\.thread\.(?:preview|turns\[0\]\.items\[0\]\.content\[0\]\.text)|body\.transcript\[0\]\.content`,
			What:   "a new worker is told what it is in other words",
			Reason: "the original's named its own files and commands; agent.config.json may say others",
			Routes: []string{"GET /api/sessions/{sessionId}"},
		},
		{
			Place: `body\.capabilities`, What: "a session says what its runtime can do: capabilities",
			Reason: "runtimes differ; what one cannot do is not offered, and refused with 409 unsupported_by_runtime or 400 unsupported_control",
			Routes: []string{"GET /api/sessions/{sessionId}"},
		},
		{
			Place:  `body\.(?:session|data\[\d+\])\.(?:state|activity|activeTurnId|pendingCount|lastError)`,
			What:   "a session says what goes on in it: state, activity, activeTurnId, pendingCount, lastError",
			Reason: "a list shows what runs, waits or failed without a look into each session",
			Routes: []string{"GET /api/sessions", "GET /api/sessions/{sessionId}", "POST /api/sessions"},
		},
		{
			Topic:    "messages|approvals|tool-input|tool-calls|integrations|sessions",
			Exchange: `GET /api/sessions/[^/]*|frame transcript_updated`, Place: `body\.transcript turn\.(?:error|stopped)|extra`,
			What: "a turn that failed has an entry that says why and what to do (role system, type turn.error, status error), one that " +
				"was stopped an entry that says who stopped it, and when (type turn.stopped); they are announced",
			Reason: "the original's transcript broke off, or said nothing at all",
			Routes: []string{"GET /api/stream", "GET /api/sessions/{sessionId}", "POST /api/sessions/{sessionId}/messages",
				"POST /api/sessions/{sessionId}/interrupt"},
		},
		{
			Topic: "messages", Exchange: `GET /api/sessions/[^/]*`,
			Place:  `body\.transcript\[1[12]\]\.(?:messageId|role|type|content)`,
			What:   "entries stand in the order in which they began: a message that steers is behind the answer it interrupts",
			Reason: "the original put an answer where it ended", Routes: []string{"GET /api/sessions/{sessionId}"},
		},
		{
			Exchange: `GET /api/sessions/[^/]*`, Place: `body\.transcript\[\d+\]\.content images`,
			What:   "an entry whose item has images says where their bytes are, a line each behind its text",
			Reason: "the original dropped them", Routes: []string{"GET /api/sessions/{sessionId}"},
		},
		{
			Place:  `.*sessionControls\.effective`,
			What:   "controls that restrict the network in a sandbox without bounds say what they come to: effective",
			Reason: "they are stored and shown as they were sent, and nothing restricts that network",
			Routes: []string{"POST /api/sessions", "GET /api/sessions/{sessionId}/session-controls"},
		},
		{
			Exchange: `(?:GET|HEAD) /api/(?:projects|sessions(?:/[^/]*)?)(?:\?.*)?`, Place: `body\.pos`,
			What:   "a session, a list of sessions and the list of projects tell the position on the event stream at which they are true",
			Reason: "an additional member; a stream resumed with `after=<pos>` goes on from exactly there",
			Routes: []string{"GET /api/sessions/{sessionId}", "GET /api/sessions", "GET /api/projects"},
		},
		{
			Topic: "tool-calls", Exchange: `POST /api/sessions/[^/]*/messages`, Place: "status",
			What: "`dynamicTools` of a message or a resumption that are not those the session was created with: 400 that " +
				"says so, where the original " +
				"said 202 and 200; those it has are taken",
			Reason: "codex takes tools when a conversation begins and ignores them later: the model never saw them, and nobody was told",
			Routes: []string{"POST /api/sessions/{sessionId}/messages", "POST /api/sessions/{sessionId}/resume"},
		},
		{
			Place: `body\.(?:session|data\[\d+\])\.runtime`,
			What:  "a session names its runtime", Reason: "a server may drive several; who has codex only sees codex",
			Routes: []string{"GET /api/sessions", "GET /api/sessions/{sessionId}", "POST /api/sessions"},
		},
		{
			Place:  `body\.(?:runtimes|codex\.shim)`,
			What:   "health lists every runtime of the server with its state and processes, and names the shim that keeps codex running",
			Reason: "`codex` has room for one runtime; operators ask who owns its process, and the original's died with it",
			Routes: []string{"GET /api/health"},
		},
		{
			Exchange: `frame (?:approval|tool_user_input|tool_call)_resolved.*`, Place: `frame\.payload\.decidedBy`,
			What:   "the frame that settles a request says who decided",
			Reason: "whoever else was about to decide is told by whom it was done",
		},
		{
			Topic: "rbac-jwt", Name: "(?:GET|POST) role array", Place: "status",
			What: "the role claim of a signed token may be a list or nested (a path with dots, or a name that is a URL), and " +
				"`HARNESS_ROLE_MAP` translates names; the highest known role counts",
			Reason: "the original took a text at the top alone, and issuers write lists: such tokens were 403 `invalid_role_claim`, which is " +
				"now answered when no role is known",
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

// whole compiles a pattern for whole texts; "" fits all.
func whole(pattern string) *regexp.Regexp {
	if pattern == "" {
		pattern = `(?s).*`
	}
	return regexp.MustCompile("^(?:" + pattern + ")$")
}

// excuse tells which rows cover a result's differences, and whether they cover all.
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
