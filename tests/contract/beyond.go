package contract

// Beyond lists the deliberate differences that no recorded request or frame shows, so that the replay cannot find
// them. Each has its own test in its package. Topic, Exchange and Place are empty.
func Beyond() []Row {
	return []Row{
		{
			What:   "a body nested deeper than 100 levels is 400",
			Reason: "the original had no bound, and codex reads 128 levels",
		},
		{
			What:   "slow, silent and flooding peers, and excess connections, are bounded: [limits](limits.md)",
			Reason: "one peer could exhaust the original's memory",
		},
		{
			What: "tools of MCP servers and permissions of the agent are approvals; an MCP server's questions are " +
				"tool input, its form as questions",
			Reason: "the original refused them at once. Scripts that answer approvals now see these too",
			Routes: []string{"GET /api/sessions/{sessionId}/approvals", "GET /api/sessions/{sessionId}/tool-input",
				"POST /api/approvals/{approvalId}/decision", "POST /api/tool-input/{requestId}/decision"},
		},
		{
			What: "a decision accepts a reason (`message`) and an offered decision (`choice`); a reply the runtime " +
				"would reject is 400",
			Reason: "the original stored it and sent what the runtime dropped",
			Routes: []string{"POST /api/approvals/{approvalId}/decision", "POST /api/tool-input/{requestId}/decision"},
		},
		{
			What: "pages of other origins may write, read and follow the stream (CORS) only if " +
				"`HARNESS_ALLOWED_ORIGINS` names them, as the web UI's dev server needs",
			Reason: "the original let any page do so",
		},
		{
			What: "`images` of a message reach the model, or the message is 400; the transcript names the address " +
				"of image data",
			Reason: "the original dropped `images` and answered 202",
			Routes: []string{"POST /api/sessions/{sessionId}/messages"},
		},
		{
			What:   "a list of sessions can be searched (`q`)",
			Reason: "the original ignored it",
			Routes: []string{"GET /api/sessions"},
		},
		{
			What: "body members with content (`attachments`, `files`, ...) and query members that select " +
				"(`search`, `sort`, ...) are 400 on routes without them; other unknown members are ignored",
			Reason: "the original dropped them silently",
		},
		{
			What:   "answers of 1 KiB and more are compressed for clients that accept gzip",
			Reason: "other clients get the same bytes",
		},
		{
			What: "deleting chats is answered within 10 s without the runtime; `deletedFileCount` is then 0, and " +
				"the runtime is asked later",
			Reason: "the original waited two minutes per chat",
			Routes: []string{"DELETE /api/sessions/{sessionId}", "POST /api/projects/{projectId}/chats/delete-all"},
		},
		{
			What: "with several servers, the owner's node does what needs its runtime, through node ports; else " +
				"421 `not_owner`: [operations](operations.md#several-servers-on-one-postgres)",
			Reason: "the original was one process",
		},
		{
			What: "`agent.config.json` is read when extensions load; two files about one agent, or a repeated " +
				"member, are refused; `runtime` and a short form are accepted: [extensions](extensions.md)",
			Reason: "a worker must not widen its own rights",
		},
		{
			What:   "an agent without a folder runs under the `DEFAULT_*` settings",
			Reason: "the original failed its jobs",
		},
		{
			What:   "entries behind one item (the supervisor's explanation and insight) are read in the order written",
			Reason: "the original reversed them in later reads",
		},
		{
			What: "`suggested-request` answers once the suggestion is stored; a job that promised one always " +
				"leaves one; its model and effort reach the worker",
			Reason: "in the original a lost suggestion left clients waiting",
		},
		{
			What: "a queued job of an unknown type stays queued until a server with that type runs it or a client " +
				"cancels it: [operations](operations.md)",
			Reason: "the original failed it at start; another server may have the type",
		},
		{
			What: "an agent cannot connect to this port. Its environment names its own (`CODEX_MANAGER_API_BASE`, " +
				"`CODEX_MANAGER_BEARER_TOKEN`), where all but a queue worker's job is 403 `agent_forbidden`: " +
				"[security](security.md)",
			Reason: "in the original an agent could open a session with more rights",
		},
		{
			What:   "runtimes cannot see the data directory and settings, or change extensions",
			Reason: "in the original an agent could write code that the server runs",
		},
		{
			What: "an extension without Node runs inside the server, with [web globals](extensions-hosts.md); one " +
				"that needs Node gets a process",
			Reason: "in the original each had all rights of the server",
		},
		{
			What: "`fetch` of an embedded extension reaches only hosts in its manifest, never this server or " +
				"link-local addresses",
			Reason: "events must not direct it to credentials",
		},
		{
			What: "an extension's Node process gets PATH, HOME, LANG, TZ and `HARNESS_EXTENSION_PASS_ENV`; its " +
				"working directory is its folder",
			Reason: "in the original it saw all secrets",
		},
		{
			What:   "reading a session has no effects; no `deprecationNotice` follows",
			Reason: "the original asked codex for the history each time",
			Routes: []string{"GET /api/sessions/{sessionId}"},
		},
		{
			What:   "a turn that ended with its process has an entry `turn.error`, announced before its end",
			Reason: "the original said nothing",
			Routes: []string{"GET /api/sessions/{sessionId}", "GET /api/stream"},
		},
		{
			What: "a turn whose model does not answer has an entry `turn.retrying`, updated in place, and " +
				"`lastError`: [API](api.md)",
			Reason: "the original's session said nothing for minutes",
			Routes: []string{"GET /api/sessions/{sessionId}", "GET /api/stream"},
		},
		{
			What:   "a runtime's entry has its own start and end times and its original position",
			Reason: "the original used the turn's times and moved entries",
		},
		{
			What:   "rolled-back turns leave the transcript; `session_rolled_back` names them",
			Reason: "the original still showed them",
			Routes: []string{"POST /api/sessions/{sessionId}/rollback", "GET /api/sessions/{sessionId}"},
		},
		{
			What:   "the text of a running item is in its entry; a cut-off one stays, as `canceled`",
			Reason: "the original showed it empty",
			Routes: []string{"GET /api/sessions/{sessionId}"},
		},
		{
			What: "a `.env` and process extensions count only with the operator's consent (`harness trust`, " +
				"`--trust`): [security](security.md#consent)",
			Reason: "the original ran anything in its folder",
		},
		{
			What:   "the list of extensions has `untrusted` when some lack consent",
			Reason: "the operator sees what, why, and the command",
		},
		{
			What: "in trust mode `enforced`, `enqueueJob` and settings getters are limited to the event's project " +
				"and session, as actions are",
			Reason: "tools must not exceed actions",
		},
		{
			What: "after a crash, or with `HARNESS_KEEP_RUNTIMES=true`, a job resumes its turn as the same " +
				"attempt; it resends the instruction only if no turn began, else fails with `outcome unknown`: " +
				"[operations](operations.md)",
			Reason: "the original sent it twice",
		},
		{
			What:   "a job's instruction waits for a turn running in its worker's session instead of steering it",
			Reason: "it would run with that turn's rights",
		},
		{
			What:   "a read of external history not yet imported has `historyPending`",
			Reason: "reads show the store; the original asked codex",
			Routes: []string{"GET /api/sessions/{sessionId}"},
		},
		{
			What: "`.data` of the working directory is used if this user's server made it or the operator " +
				"consented; `DATA_DIR` always: [security](security.md#consent)",
			Reason: "a stranger's folder could bring its own jobs",
		},
		{
			What: "`messageId`, `turnId`, `requestKey`, job keys and keys of extensions have at most 512 " +
				"characters (400 `invalid_request`)",
			Reason: "Postgres bounds index entries",
			Routes: []string{"POST /api/sessions/{sessionId}/transcript/upsert",
				"POST /api/sessions/{sessionId}/suggested-request/upsert"},
		},
		{
			What: "a session, and the defaults, have at most 256 settings of 128 KiB together; more is 400 and " +
				"changes nothing",
			Reason: "every edit stores all of them",
			Routes: []string{"POST /api/sessions/{sessionId}/settings", "POST /api/sessions/{sessionId}/session-controls"},
		},
		{
			What: "conflicting parts are 400: a review's `branch`, `sha`, `title` or `instructions` with another " +
				"`targetType`; `answers` with `response` or without accept; `text` with `contentItems`, either " +
				"with `response`",
			Reason: "the original silently dropped one",
			Routes: []string{"POST /api/sessions/{sessionId}/review", "POST /api/tool-input/{requestId}/decision",
				"POST /api/tool-calls/{requestId}/response"},
		},
		{
			What: "a runtime silent for `HARNESS_RUNTIME_HANG_MS` is `unresponsive`, then restarted; turns are " +
				"interrupted, approvals expire: [operations](operations.md#a-runtime-that-hangs)",
			Reason: "the original waited forever",
		},
		{
			What: "sessions idle for 30 minutes are unloaded, and an idle runtime above " +
				"`HARNESS_RUNTIME_LIMITS=memory-mb=N` is replaced: [operations](operations.md#the-memory-of-the-runtime)",
			Reason: "the original's runtime grew by 1 MiB per session",
		},
		{
			What: "while the database refuses writes, runtime output is held; writing requests wait, then get 503 " +
				"with `Retry-After`; health is `degraded` with `store`: " +
				"[operations](operations.md#when-the-database-refuses)",
			Reason: "the original lost the output",
		},
		{
			What: "damaged data is not shown: `event_damaged`, entries of type `damaged`, requests that can only " +
				"be declined, `store.state: damaged`: [reliability](reliability.md#sqlites-database)",
			Reason: "the original showed it",
		},
		{
			What: "a worker's session is replaced after 200 turns: " +
				"[extensions](extensions.md)",
			Reason: "in the original it grew forever",
		},
		{
			What: "`runtime` of a new session selects what drives it (400, 503), and filters lists; " +
				"`HARNESS_RUNTIMES`, `HARNESS_DEFAULT_RUNTIME`: [operations](operations.md#several-runtimes)",
			Reason: "the original had codex only",
			Routes: []string{"GET /api/sessions", "POST /api/sessions"},
		},
		{
			What:   "frames of other runtimes have `runtime`, their signals also as `source`: [stream](stream.md)",
			Reason: "codex's frames are unchanged",
		},
		{
			What: "`?runtime=` selects in models, capabilities and health; routes about codex are 501 " +
				"`not_supported` for others; `/api/runtimes` lists all: [API](api.md)",
			Reason: "the original had codex only",
			Routes: []string{"GET /api/models", "GET /api/capabilities", "GET /api/health"},
		},
		{
			What: "429 `limit_reached` with `Retry-After` at 4,096 queued messages per runtime or 256 per session; " +
				"turns can be limited: [limits](limits.md#runtimes)",
			Reason: "the original queued without bound",
			Routes: []string{"POST /api/sessions", "POST /api/sessions/{sessionId}/messages"},
		},
		{
			What: "a turn cut off before any tool ran is `retryableTurnId`; `POST " +
				"/api/sessions/{id}/turns/{turnId}/retry` resends it: [API](api.md)",
			Reason: "nothing is retried unasked",
		},
		{
			What: "`/rpc` and `/ws` speak JSON-RPC 2.0: [JSON-RPC](json-rpc.md); a disabled runtime is 409 " +
				"`runtime_disabled`",
			Reason: "the original's routes are unchanged",
			Routes: []string{"POST /api/sessions", "POST /api/sessions/{sessionId}/messages"},
		},
		{
			What: "a request's summary is cut at 64 KiB and says so; `details` has all. An MCP form above 1 MiB is " +
				"refused; longer `availableDecisions` are only in `details`",
			Reason: "every list and event repeats the summary",
			Routes: []string{"GET /api/sessions/{sessionId}/approvals", "GET /api/sessions/{sessionId}/tool-input",
				"GET /api/sessions/{sessionId}/tool-calls"},
		},
		{
			What: "`implicitSources` of a new session limits what its agent reads itself (400 " +
				"`unsupported_control` if impossible); `GET /api/sessions/{id}/sources` lists the files: " +
				"[API](api.md)",
			Reason: "the default is codex's behavior",
			Routes: []string{"POST /api/sessions"},
		},
		{
			What:   "`nonInteractive` of a new session: all approvals and questions are declined at once",
			Reason: "unattended turns must end",
			Routes: []string{"POST /api/sessions"},
		},
		{
			What: "`nativeTools: off` of a new session removes the agent's own tools, else 400 " +
				"`unsupported_control`: [API](api.md)",
			Reason: "tools under a policy need no bypass",
			Routes: []string{"POST /api/sessions"},
		},
		{
			What: "`updatedInput` of an approval's decision replaces the tool's input; 400 where the runtime " +
				"cannot: [claude](runtimes/claude.md)",
			Reason: "approve with a correction",
			Routes: []string{"POST /api/approvals/{approvalId}/decision"},
		},
		{
			What:   "a POST with an `Idempotency-Key` acts once and is answered the same for 24 h: [API](api.md)",
			Reason: "without the header nothing changes",
			Routes: []string{"POST /api/sessions", "POST /api/sessions/{sessionId}/messages",
				"POST /api/approvals/{approvalId}/decision", "POST /api/orchestrator/jobs/{jobId}/cancel"},
		},
		{
			What: "with `AGENT_EXTENSION_RBAC_MODE=jwt` a signed token works on every route, with its role: " +
				"[security](security.md#signed-tokens-jwt)",
			Reason: "the two extension routes answer as the original's",
			Routes: []string{"GET /api/sessions", "GET /api/stream"},
		},
		{
			What: "tokens limited to projects, and `projectId` of a new session: " +
				"[security](security.md#limited-to-projects)",
			Reason: "without such tokens nothing changes",
			Routes: []string{"POST /api/sessions", "GET /api/sessions", "GET /api/stream"},
		},
		{
			What: "a missing folder is 422 `folder_missing` for a new session, an unusable one 400 `invalid_cwd`; 409 " +
				"`workspace_missing` for message, resume, fork, steer, compact and review",
			Reason: "codex silently worked elsewhere",
			Routes: []string{"POST /api/sessions", "POST /api/sessions/{sessionId}/messages",
				"POST /api/sessions/{sessionId}/resume", "POST /api/sessions/{sessionId}/fork"},
		},
		{
			What:   "an unknown session is 404 at once while a runtime is down, with `details.notAsked`",
			Reason: "the original waited for its runtime",
			Routes: []string{"GET /api/sessions/{sessionId}"},
		},
		{
			What: "background work is `activity.background` and frame `session_background_updated`; it can be " +
				"ended singly; `background-terminals/clean` works for every runtime; a stop ends it unless " +
				"`keepBackground`: [API](api.md)",
			Reason: "it was invisible and could start a turn after a stop",
			Routes: []string{"POST /api/sessions/{sessionId}/interrupt", "POST /api/sessions/{sessionId}/background-terminals/clean"},
		},
		{
			What: "names of JavaScript object members (`__proto__`, `constructor`, ...) are unknown project ids " +
				"(404) and ordinary settings keys",
			Reason: "a rename of one changed every object of the original's process. `__proto__` in a body is still " +
				"refused",
			Routes: []string{"POST /api/projects/{projectId}/rename", "DELETE /api/projects/{projectId}",
				"POST /api/projects/{projectId}/chats/move-all", "POST /api/projects/{projectId}/chats/delete-all",
				"POST /api/sessions/{sessionId}/project", "GET /api/sessions/{sessionId}/settings",
				"POST /api/sessions/{sessionId}/settings", "DELETE /api/sessions/{sessionId}/settings/{key}"},
		},
		{
			What: "with `danger-full-access`, `sessionControls.effective.networkAccess` is `enabled`; with " +
				"`runtime`, `networkAccess` defaults to `enabled` and `restricted` is 400 `unsupported_control`",
			Reason: "nothing restricted it in the original",
			Routes: []string{"POST /api/sessions", "POST /api/sessions/{sessionId}/session-controls"},
		},
		{
			What: "`interrupt` answers once the turn ended, within 12 s; input received but not started is " +
				"canceled; the next message is its own turn",
			Reason: "the original lost such a message",
			Routes: []string{"POST /api/sessions/{sessionId}/interrupt", "POST /api/sessions/{sessionId}/messages"},
		},
		{
			What:   "`archive` ends the session's turn and background work",
			Reason: "the original left them running",
			Routes: []string{"POST /api/sessions/{sessionId}/archive"},
		},
	}
}
