package contract

// Beyond lists the deliberate differences no recording shows: no recorded request or frame comes near them, so the
// replay cannot see them. Each has a test of its own where it is built. Topic, Exchange and Place are empty.
func Beyond() []Row {
	return []Row{
		{
			What:   "a body whose objects and arrays are nested deeper than 100 levels is 400, as one that is no JSON",
			Reason: "codex-manager set no bound; it would be stored and sent on inside of other documents, and codex reads 128 levels",
		},
		{
			What:   "slow, silent and flooding peers, and more connections than there should be, are bounded: [limits.md](limits.md)",
			Reason: "the original let one peer take the server's memory from all others",
		},
		{
			What: "tools of MCP servers and permissions of the agent are approvals, an MCP server's own questions tool " +
				"input, with its form as questions",
			Reason: "the original refused them at once: a tool not marked read-only failed and nobody was asked. " +
				"A script that answers approvals is now asked about these, too",
			Routes: []string{"GET /api/sessions/{sessionId}/approvals", "GET /api/sessions/{sessionId}/tool-input",
				"POST /api/approvals/{approvalId}/decision", "POST /api/tool-input/{requestId}/decision"},
		},
		{
			What: "a decision takes a reason (message), an approval one of the offered decisions (choice); a reply the " +
				"runtime would not take is 400",
			Reason: "the original stored the decision and sent what the runtime then dropped",
			Routes: []string{"POST /api/approvals/{approvalId}/decision", "POST /api/tool-input/{requestId}/decision"},
		},
		{
			What: "pages of other origins may write, follow the stream and read answers (CORS) only as `HARNESS_ALLOWED_ORIGINS` names " +
				"them; the web UI's dev server needs it: `HARNESS_ALLOWED_ORIGINS=http://127.0.0.1:5173,http://localhost:5173`",
			Reason: "the original let any page write and read the stream, and sent no CORS headers; port 5173 is that of any page a dev " +
				"server shows, also one that an agent started",
		},
		{
			What: "`images` of a message reach the model, or the message is 400; the transcript names an image given as " +
				"data by the address of its bytes, where " +
				"the original repeats the data",
			Reason: "the original dropped `images` and answered 202; a transcript is text for people",
			Routes: []string{"POST /api/sessions/{sessionId}/messages"},
		},
		{
			What: "a list of sessions can be narrowed by a text (`q`)", Reason: "the original ignored it and listed everything",
			Routes: []string{"GET /api/sessions"},
		},
		{
			What: "members of a body that carry content (`attachments`, `files`, ...) and members of a query that choose " +
				"what is answered (`search`, " +
				"`sort`, ...) are 400 on routes that do not take them; other unknown members are ignored as before",
			Reason: "the original dropped them and answered as if they had been heeded",
		},
		{
			What:   "answers of 1 KiB and more are compressed for clients that accept gzip",
			Reason: "whoever does not ask gets the same bytes; the original compressed nothing",
		},
		{
			What: "deleting chats is answered within 10 s also when the runtime does not answer; `deletedFileCount` is 0 " +
				"then, and the runtime is told later",
			Reason: "the original waited for two minutes, for each chat of a project",
			Routes: []string{"DELETE /api/sessions/{sessionId}", "POST /api/projects/{projectId}/chats/delete-all"},
		},
		{
			What: "with several servers on one Postgres, what needs the runtime of another node's session is done by that node " +
				"where they have node ports, and else 421 `not_owner` with the owner's id: " +
				"[operations.md](operations.md#several-servers-on-one-postgres)",
			Reason: "the original was one process; the wrong one has no such conversation and would answer what is not true",
		},
		{
			What: "agent.config.json is read when extensions load, not before each job, and two files about one agent " +
				"refuse it; a member said twice is refused; " +
				"`runtime` and a short shape are taken as well",
			Reason: "a worker that can write into its extension's folder must not widen its own rights; docs: [extensions.md](extensions.md)",
		},
		{
			What:   "an agent without a folder runs under the DEFAULT_* settings",
			Reason: "the original failed its jobs; the suggestions built in here need no extension",
		},
		{
			What:   "entries that belong behind one item, as the supervisor's explanation and insight, are read in the order they were written in",
			Reason: "the original showed them so while they came, and the other way round in every later read",
		},
		{
			What: "`suggested-request` answers as soon as the suggestion is stored, and a job that promised one leaves one however it ends; " +
				"a suggestion's model and effort reach the worker",
			Reason: "the original waited for the job and gave the fallback; whoever watched a suggestion whose worker forgot it waited for ever",
		},
		{
			What: "a queued job of a type the server does not have (any more) stays queued, until a server that has it runs " +
				"it or somebody cancels it: " +
				"[operations.md](operations.md)",
			Reason: "the original, which is always alone, ended it as failed at its start; on a shared store it may be another server's",
		},
		{
			What: "an agent cannot connect to this port. Its environment names one of its own (`CODEX_MANAGER_API_BASE`, " +
				"`CODEX_MANAGER_BEARER_TOKEN`), where it is 403 `agent_forbidden`, but for what the job of a queue worker is about " +
				"([security.md](security.md))",
			Reason: "in the original any command of an agent with the network could open a session with more rights",
		},
		{
			What:   "runtimes do not see the data directory and the server's settings, and cannot change extensions",
			Reason: "in the original an agent could read the store and write code that the server runs at its next reload",
		},
		{
			What: "an extension that uses nothing of Node runs inside the server without it, with the web's globals of " +
				"[extensions-hosts.md](extensions-hosts.md#what-the-hosts-have); one that needs Node runs in a Node process of its own",
			Reason: "in the original every extension had all rights of the server's process, and one that looped or ended it took the server along",
		},
		{
			What: "`fetch` of an extension inside the server reaches only the hosts its manifest declares, and never this " +
				"server or link-local addresses",
			Reason: "this server trusts callers on its machine, and cloud metadata services hand out credentials: an " +
				"event's text must not lead there",
		},
		{
			What: "an extension's Node process sees PATH, HOME, LANG, TZ and what `HARNESS_EXTENSION_PASS_ENV` names of the environment, " +
				"and its working directory is its folder",
			Reason: "in the original it saw all secrets of the server's environment",
		},
		{
			What: "reading a session changes nothing and tells nobody anything: no `deprecationNotice` follows it",
			Reason: "the original asked codex for the whole history at every read, and each time codex's advice against " +
				"that was sent to all clients",
			Routes: []string{"GET /api/sessions/{sessionId}"},
		},
		{
			What:   "a turn that ended with its runtime process has an entry of type `turn.error`, too, and it is announced before the turn's end",
			Reason: "the original's turn stayed silent; its message had been accepted",
			Routes: []string{"GET /api/sessions/{sessionId}", "GET /api/stream"},
		},
		{
			What: "a turn whose model does not answer has an entry of type `turn.retrying`, which each attempt of its agent changes in place, and " +
				"`lastError` says the same: [api.md](api.md#what-a-session-is-doing-ours)",
			Reason: "the original passed the agent's words on as notifications, and its sessions said nothing for minutes",
			Routes: []string{"GET /api/sessions/{sessionId}", "GET /api/stream"},
		},
		{
			What: "an entry of the runtime has the times at which it began and ended itself, as live, and keeps the place " +
				"it began in: an answer that " +
				"a message broke off stands before the message",
			Reason: "the original gave every item its turn's times once the turn was stored, and moved what it did not find in codex's history",
		},
		{
			What: "turns that were rolled back leave the transcript; `session_rolled_back` tells followers of the thread which",
			Reason: "the original went on showing them from its own store; who ignores the event sees them go when it reads " +
				"again, as after any rollback",
			Routes: []string{"POST /api/sessions/{sessionId}/rollback", "GET /api/sessions/{sessionId}"},
		},
		{
			What: "the text of an item that still runs is in its entry; one that its turn's interruption, failure or " +
				"process cut short keeps it and is `canceled`",
			Reason: "the original showed such entries empty, and complete once the turn was over",
			Routes: []string{"GET /api/sessions/{sessionId}"},
		},
		{
			What: "a `.env`, and an extension that runs in a process, count only as the operator consented to their content " +
				"(`harness trust`, `--trust`): " +
				"[security.md](security.md#consent)",
			Reason: "the original ran whatever stood in the folder it was started in, an agent's or a stranger's as well",
		},
		{
			What:   "the list of extensions has `untrusted` when some are not run for want of that consent",
			Reason: "the operator must see what is missing, why, and the command",
		},
		{
			What: "in trust mode `enforced`, `enqueueJob` and the getters of session settings reach no further than " +
				"actions: the event's project and session",
			Reason: "what an action may not do, a tool did in its place",
		},
		{
			What: "a job whose server died, or was stopped with `HARNESS_KEEP_RUNTIMES=true`, goes on with the turn it had, " +
				"as the same attempt; its " +
				"instruction is sent again only when no turn of it began, and where that cannot be told the job fails with `outcome unknown`: " +
				"[operations.md](operations.md)",
			Reason: "the original, whose runtime always died with it, sent the instruction again: what it does was done twice",
		},
		{
			What:   "a job's instruction waits for a turn that runs in its worker's session, and is not steered into it",
			Reason: "in the original it ran with the rights of that turn, and ended with it",
		},
		{
			What:   "a read of a conversation from elsewhere whose older turns are not taken in yet says `historyPending`",
			Reason: "the original asked codex at every read; here reads show what is stored, and what is stored is not always all",
			Routes: []string{"GET /api/sessions/{sessionId}"},
		},
		{
			What: "the data directory `.data` of the working directory is used when this user's server made it, or the " +
				"operator consented to it; one " +
				"named with `DATA_DIR` always: [security.md](security.md#consent)",
			Reason: "a folder from a stranger brought its own sessions, jobs and runtimes to take up",
		},
		{
			What: "`messageId`, `turnId` and `requestKey` have at most 512 characters (400 `invalid_request`), on SQLite as " +
				"on Postgres; so have the keys " +
				"of jobs and of what extensions upsert",
			Reason: "what rows are found by has a size in Postgres, and nobody should learn it from a failed transaction",
			Routes: []string{"POST /api/sessions/{sessionId}/transcript/upsert",
				"POST /api/sessions/{sessionId}/suggested-request/upsert"},
		},
		{
			What: "a session, and the defaults of new ones, have at most 256 settings of 128 KiB together; an edit that " +
				"would leave more is 400 and " +
				"changes nothing",
			Reason: "all of them are stored with every edit, and twice in the transcript entry that tells of it: they grew without bound",
			Routes: []string{"POST /api/sessions/{sessionId}/settings", "POST /api/sessions/{sessionId}/session-controls"},
		},
		{
			What: "parts of a request of which only one would count are 400 together: a review's `branch`, `sha`, `title` " +
				"or `instructions` with another " +
				"`targetType`; `answers` with `response` or without accept; `text` with `contentItems`, either with `response`",
			Reason: "the original took one and dropped the other: what was reviewed or answered was not what was asked for",
			Routes: []string{"POST /api/sessions/{sessionId}/review", "POST /api/tool-input/{requestId}/decision",
				"POST /api/tool-calls/{requestId}/response"},
		},
		{
			What: "a runtime that answers nothing for `HARNESS_RUNTIME_HANG_MS` is `unresponsive`, then killed and " +
				"restarted; its turns are interrupted " +
				"and its approvals expire: [operations.md](operations.md#a-runtime-that-hangs)",
			Reason: "in the original its turns ran and its approvals waited for ever",
		},
		{
			What: "sessions that are idle for `HARNESS_RUNTIME_UNLOAD_MS` leave the runtime's memory and come back with " +
				"their next message, and an idle " +
				"runtime above `HARNESS_RUNTIME_RECYCLE_MB` is replaced: [operations.md](operations.md#the-memory-of-the-runtime)",
			Reason: "in the original the runtime kept about 1 MiB for every session for as long as it ran",
		},
		{
			What: "while the database refuses writes, what runtimes say is held and stored later, requests that write wait " +
				"and are 503 with `Retry-After`, " +
				"health is `degraded` and has `store`: [operations.md](operations.md#when-the-database-refuses)",
			Reason: "the original answered 500 and lost what its runtime had said",
		},
		{
			What: "what is damaged in the database is not shown: an event comes as `event_damaged`, a transcript entry has the type `damaged`, " +
				"a request can only be declined, and health has `store.state: damaged`: [reliability.md](reliability.md#sqlites-database)",
			Reason: "the original showed what the file said",
		},
		{
			What: "a worker's session that had `ORCHESTRATOR_AGENT_MAX_SESSION_TURNS` turns is deleted, and the next job gets a new one: " +
				"[extensions.md](extensions.md#workers-agentconfigjson)",
			Reason: "in the original a worker's conversation grew for ever, and with it the time and tokens of each of its jobs",
		},
		{
			What: "`runtime` in the body of a new session chooses what drives it (400 with the known ones, 503 with what to " +
				"do), and in the query of a list " +
				"selects by it; `HARNESS_RUNTIMES`, `HARNESS_DEFAULT_RUNTIME`: [operations.md](operations.md#several-runtimes)",
			Reason: "the original had codex only",
			Routes: []string{"GET /api/sessions", "POST /api/sessions"},
		},
		{
			What: "frames of what a runtime other than codex said have `runtime`, its name, and its signals have it as `source`, too: " +
				"[stream.md](stream.md#which-events-there-are)",
			Reason: "the original had codex only; frames of codex are byte for byte what they were",
		},
		{
			What: "`?runtime=` of models, capabilities and health tells of that runtime; routes about codex are 501 " +
				"`not_supported` for another one, " +
				"and on a server without codex; `/api/runtimes` tells of all: [api.md](api.md#runtimes)",
			Reason: "the original had codex only",
			Routes: []string{"GET /api/models", "GET /api/capabilities", "GET /api/health"},
		},
		{
			What: "a message or a new session is refused with 429 `limit_reached` and `Retry-After` when 4,096 are on their " +
				"way to its runtime, or 256 to its " +
				"session; the turns of a runtime can be bounded, too: [limits.md](limits.md#runtimes)",
			Reason: "in the original they waited without bound, each with its body in memory",
			Routes: []string{"POST /api/sessions", "POST /api/sessions/{sessionId}/messages"},
		},
		{
			What: "a turn that was cut off by the end of its runtime or of the server before any tool ran is offered as " +
				"`retryableTurnId` of its session, and " +
				"`POST /api/sessions/{id}/turns/{turnId}/retry` sends what it was asked once more: [api.md](api.md#what-a-session-is-doing-ours)",
			Reason: "the original left a person to find the message and type it again; nothing is tried again unasked, nor after a tool ran",
		},
		{
			What: "`/rpc` and `/ws` speak JSON-RPC 2.0 with a registry of the runtimes: [json-rpc.md](json-rpc.md); a " +
				"runtime the operator disabled is 409 `runtime_disabled`",
			Reason: "the original had one runtime and no such protocol; its own routes are what they were",
			Routes: []string{"POST /api/sessions", "POST /api/sessions/{sessionId}/messages"},
		},
		{
			What: "the summary of a request ends after 64 KiB, and says so and how long it is; `details` has all of it. A " +
				"form of an MCP server above 1 MiB " +
				"is refused to the server, and a list of `availableDecisions` above 1 MiB is left out beside `details`",
			Reason: "lists and every event about the request repeat the summary; nobody can choose from a megabyte",
			Routes: []string{"GET /api/sessions/{sessionId}/approvals", "GET /api/sessions/{sessionId}/tool-input",
				"GET /api/sessions/{sessionId}/tool-calls"},
		},
		{
			What: "`implicitSources` in the body of a new session says how much its agent may read by itself (settings, " +
				"`AGENTS.md`, MCP servers), 400 " +
				"`unsupported_control` for what its runtime cannot be held to; `GET /api/sessions/{id}/sources` lists the files with hashes: " +
				"[api.md](api.md#what-an-agent-reads-by-itself-ours)",
			Reason: "what an agent is told behind a person's back should be known; who chooses nothing gets what codex did all along",
			Routes: []string{"POST /api/sessions"},
		},
		{
			What: "`nonInteractive` in the body of a new session says that no person is there: what its agent asks is declined at " +
				"once, and its controls say so",
			Reason: "a program that nobody watches needs turns that end; who does not say it is asked as ever",
			Routes: []string{"POST /api/sessions"},
		},
		{
			What: "`nativeTools` in the body of a new session takes the agent's own tools away (`off`), 400 `unsupported_control` for a " +
				"runtime that cannot be told: [api.md](api.md#sessions-without-the-agents-own-tools-ours)",
			Reason: "who gives an agent tools under a policy wants no way around it; who chooses nothing gets what codex did all along",
			Routes: []string{"POST /api/sessions"},
		},
		{
			What: "`updatedInput` in the body of an approval's decision is what the tool is used with in place of what was " +
				"asked, 400 for a runtime that has no place for it: [claude.md](runtimes/claude.md)",
			Reason: "who would approve all but one word can say so; the original's runtime cannot take it",
			Routes: []string{"POST /api/approvals/{approvalId}/decision"},
		},
		{
			What: "an `Idempotency-Key` on a POST that would do a thing twice: it is done once, and answered the same for 24 h: " +
				"[api.md](api.md#sending-a-request-again-ours)",
			Reason: "who did not hear an answer cannot know otherwise whether to ask again; without the header nothing is different",
			Routes: []string{"POST /api/sessions", "POST /api/sessions/{sessionId}/messages",
				"POST /api/approvals/{approvalId}/decision", "POST /api/orchestrator/jobs/{jobId}/cancel"},
		},
		{
			What: "with `AGENT_EXTENSION_RBAC_MODE=jwt` a signed token counts on every route, with its role: " +
				"[security.md](security.md#signed-tokens-jwt)",
			Reason: "one way in for people of an issuer, sockets included; the answers of the two extension routes are the original's",
			Routes: []string{"GET /api/sessions", "GET /api/stream"},
		},
		{
			What: "tokens that are limited to projects, and `projectId` of a new session: " +
				"[security.md](security.md#limited-to-projects)",
			Reason: "several teams use one server; without such tokens nothing is different",
			Routes: []string{"POST /api/sessions", "GET /api/sessions", "GET /api/stream"},
		},
		{
			What: "a folder that no agent can work in is 400 `invalid_cwd` for a new session, and 409 " +
				"`workspace_missing` for a message and for resuming, forking, steering, compacting and reviewing, for every runtime",
			Reason: "codex worked elsewhere without a word",
			Routes: []string{"POST /api/sessions", "POST /api/sessions/{sessionId}/messages",
				"POST /api/sessions/{sessionId}/resume", "POST /api/sessions/{sessionId}/fork"},
		},
		{
			What:   "an unknown session is 404 at once while a runtime is down, with `details.notAsked`",
			Reason: "the original waited for its one runtime",
			Routes: []string{"GET /api/sessions/{sessionId}"},
		},
		{
			What: "work that goes on when its turn is over shows as `activity.background` of its session and as the frame " +
				"`session_background_updated`; it is ended one by one, `background-terminals/clean` works for every runtime, and a " +
				"stop ends what its turn began unless `keepBackground` is sent: [api.md](api.md#background-work-ours)",
			Reason: "nobody saw such work, and its end could begin a turn after a stop",
			Routes: []string{"POST /api/sessions/{sessionId}/interrupt", "POST /api/sessions/{sessionId}/background-terminals/clean"},
		},
		{
			What: "names that every JavaScript object has (`__proto__`, `constructor`, `toString` and the like): as a project's id " +
				"404 as any unknown one; as the key of a setting a key like others, not found until it is stored",
			Reason: "the original took them for projects that are there, and a rename of one changed every object of its process " +
				"(its bug 1). `__proto__` as a member of a body is refused as there",
			Routes: []string{"POST /api/projects/{projectId}/rename", "DELETE /api/projects/{projectId}",
				"POST /api/projects/{projectId}/chats/move-all", "POST /api/projects/{projectId}/chats/delete-all",
				"POST /api/sessions/{sessionId}/project", "GET /api/sessions/{sessionId}/settings",
				"POST /api/sessions/{sessionId}/settings", "DELETE /api/sessions/{sessionId}/settings/{key}"},
		},
		{
			What: "with `danger-full-access` `sessionControls.effective.networkAccess` is `enabled` beside `restricted`; of a request that " +
				"names `runtime`, `networkAccess` is `enabled` when not named, and `restricted` is refused (400 `unsupported_control`)",
			Reason: "the original showed `restricted`, and nothing restricted it",
			Routes: []string{"POST /api/sessions", "POST /api/sessions/{sessionId}/session-controls"},
		},
		{
			What: "`interrupt` answers when the turn has ended, within 12 s, and what the agent had received and not begun is canceled " +
				"with it; a message right after it is a turn of its own",
			Reason: "the original answered before, and such a message was lost with the turn",
			Routes: []string{"POST /api/sessions/{sessionId}/interrupt", "POST /api/sessions/{sessionId}/messages"},
		},
		{
			What:   "`archive` ends the session's turn and what it runs in the background",
			Reason: "the original left them running in a session that is put away",
			Routes: []string{"POST /api/sessions/{sessionId}/archive"},
		},
	}
}
