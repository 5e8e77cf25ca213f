package codesdk

import "regexp"

// Row is a deliberate difference with its reason.
type Row struct {
	What, Reason string
	// Subject and Place are patterns of the differences that the row covers.
	Subject, Place string
	// From is a pattern of the recorded value, Into of this server's value, both as JSON. "" matches anything.
	From, Into string
	// Unmet allows a run without this difference.
	Unmet bool
}

// Rows are all deliberate differences.
func Rows() []Row {
	return []Row{
		{
			What:    "errors have `message`; 404 of an unknown route also has `statusCode`",
			Reason:  "an additional member that says cause and remedy",
			Subject: ".*",
			Place:   `body\.\+(?:message|statusCode)`,
		},
		{
			What:    "`GET /` has `version` and `contract_version`",
			Reason:  "a client can see which server it uses",
			Subject: "GET /",
			Place:   `body\.\+(?:version|contract_version)`,
		},
		{
			What: "health and capabilities have `auth`, `state`, `runtimes`, `mcpTransports`, `unaskedTools` " +
				"and `reconstructsLostSessions`",
			Reason:  "there are several runtimes, each with its own state",
			Subject: "GET /(?:health|capabilities|auth/status)",
			Place:   `body\.(?:capabilities\.)?\+(?:auth|state|runtimes|mcpTransports|reconstructsLostSessions|unaskedTools)`,
		},
		{
			What: "a session has `activity`, `cwd`, `isolation_mode`, `isolation_level`, " +
				"`credential_namespace`, `model`, `native_tools`, `permission_mode`, `title` and " +
				"`runtime_session_id`",
			Reason:  "a client can see how it was opened",
			Subject: `(?:GET|POST) /sessions(?:/\{session\})?`,
			Place: `body\.(?:sessions\[\]\.)?\+(?:activity|cwd|isolation_mode|isolation_level|credential_namespace|model|native_tools|` +
				`permission_mode|title|runtime_session_id)`,
		},
		{
			What:    "a task has `created_at`, `started_at`, `ended_at`, `turn_id`, `reason` and `failure`",
			Reason:  "no need to derive its state from events",
			Subject: `GET /sessions/\{session\}/tasks/\{task\}`,
			Place:   `body\.\+(?:created_at|started_at|ended_at|turn_id|reason|failure)`,
		},
		{
			What:    "an accepted task says how many are `ahead`; a refused one names the `limit` and `of`",
			Reason:  "tasks wait in a bounded queue",
			Subject: `POST /sessions/\{session\}/tasks`,
			Place:   `body\.\+(?:ahead|limit|of)`,
		},
		{
			What:    "stopping a task answers its `status`",
			Reason:  "the task may have ended",
			Subject: `POST /sessions/\{session\}/tasks/\{task\}/stop`,
			Place:   `body\.\+status`,
		},
		{
			What: "a late decision is answered with `decided_by` and `status`; a decision about another call " +
				"with `attempt` and `input_hash`",
			Reason:  "the client learns what was decided",
			Subject: `POST /sessions/\{session\}/tool-calls/\{call\}/(?:approve|deny)`,
			Place:   `body\.\+(?:attempt|decided_by|input_hash|status)`,
		},
		{
			What:    "a stream's `ready` has `after_seq`",
			Reason:  "a resuming reader sees where it starts",
			Subject: "stream",
			Place:   `ready\.\+after_seq`,
		},
		{
			What:    "`trace` of an event has `turn_id`, `request_id`, `client_id` and `user_id`",
			Reason:  "an event names the turn and the request that caused it",
			Subject: ".*",
			Place:   `event\.trace\.\+(?:turn_id|request_id|client_id|user_id)`,
		},
		{
			What: "call events have `name`, `runtime_tool_call_id`, `actor`, `cancelled`, `rule`, `permission`, " +
				"`policy_snapshot`, `sandbox`, `duration_ms`, `exit_code` and `is_error`",
			Reason:  "an event can be understood alone",
			Subject: `tool\.call\..*`,
			Place: `event\.payload\.(?:\+(?:name|runtime_tool_call_id|actor|cancelled|rule|permission|` +
				`policy_snapshot|sandbox|duration_ms|exit_code|is_error)|sandbox\.\+(?:kind|timeout_ms))`,
		},
		{
			What: "`model.input` has `input_visibility`; `usage.reported` has `reasoning_tokens`, `timings` and " +
				"`raw`; `model.output.completed` has `block_id`",
			Reason:  "more is known about the model",
			Subject: `model\.input|usage\.reported|model\.output\.completed`,
			Place:   `event\.payload\.(?:\+(?:input_visibility|reasoning_tokens|timings|raw)|content\[\]\.\+block_id)`,
		},
		{
			What:    "runtimes are named codex, claude, gemini and opencode; only those of this server are listed",
			Reason:  "one name in every API; requests may use the old names",
			Subject: ".*", Place: `(?:body|event)(?:\.sessions\[\])?\.(?:runtime|runtimes|runtime\.name)`,
		},
		{
			What:    "the server's name is harness",
			Reason:  "it is not codesdkd",
			Subject: "GET /", Place: `body\.name`,
			From: `"codesdkd"`,
			Into: `"harness"`,
		},
		{
			What:    "an unknown route is 404 with a JSON body",
			Reason:  "codesdkd's body was empty",
			Subject: "(?:GET|DELETE) /(?:nope|runtime-env|sessions)",
			Place:   "body",
			From:    `""`,
			Into:    `.*Not Found.*404.*`,
		},
		{
			What:    "`GET /metrics` is outside `/v1`: 404",
			Reason:  "codesdkd had metrics only as a library",
			Subject: "GET /metrics",
			Place:   `body\.error|status`,
			From:    `200|"metrics_unavailable"`,
			Into:    `"404 .*|"Not Found"`,
		},
		{
			What: "capabilities describe the real runtime: `permissionModel`, `toolExecutionModel`, " +
				"`toolReplaySafety`, `mcpSupport`, `mcpTransports`, `maxOutstandingToolCalls`",
			Reason:  "codesdkd returned constants that nothing enforced",
			Subject: "GET /(?:health|capabilities)",
			Place: `body\.(?:capabilities\.)?(?:permissionModel|toolExecutionModel|toolReplaySafety|mcpSupport|` +
				`mcpTransports|maxOutstandingToolCalls)`,
		},
		{
			What: "a runtime is its own process, stores its state on disk and resumes its sessions (isolation " +
				"modes, `stateModel`, `resumeModel`, `supportsSessionResume`)",
			Reason:  "codesdkd ran runtimes in the daemon or elsewhere",
			Subject: "GET /(?:health|capabilities)",
			Place: `body\.(?:capabilities\.)?(?:recommendedIsolationMode|supportedIsolationModes(?:\[\])?|` +
				`stateModel|resumeModel|supportsSessionResume)`,
		},
		{
			What:    "health describes the runtime of this server, without a probe's error",
			Reason:  "codesdkd's probes failed on absent runtimes",
			Subject: "GET /health",
			Place:   `body\.(?:ok|-error)`,
		},
		{
			What:    "credentials are described by kind (`credentials`, `state`, `remedy`), not by folder",
			Reason:  "server paths are private, and a key may be in the environment",
			Subject: "GET /(?:auth/status|health)",
			Place: `body\.(?:auth\.)?details\.(?:-(?:configDir|hasApiKey|hasOauth|hasCredentials)|` +
				`\+(?:credentials|state|remedy))`,
		},
		{
			What:    "`authModel` is `both`",
			Reason:  "logins and keys both work",
			Subject: "GET /(?:auth/status|health|capabilities)",
			Place:   `body\.(?:auth\.|capabilities\.)?authModel`,
			From:    `.*`,
			Into:    `"both"`,
		},
		{
			What:    "sessions are listed newest first",
			Reason:  "the latest are the most wanted, and the list may be long",
			Subject: "GET /sessions",
			Place:   `body\.sessions\[\]\.session_id`,
		},
		{
			What:    "a session has its runtime's id when it is opened",
			Reason:  "the runtime assigns it then",
			Subject: "GET /sessions",
			Place:   `body\.sessions\[\]\.runtime_session_id`,
		},
		{
			What: "an `isolation_level` that the runtime does not have here, and `env`, are 400; another " +
				"`credential_namespace` is 503",
			Reason:  "a server has one namespace; the answer names the remedy",
			Subject: "POST /sessions", Place: "status",
			From: `201`,
			Into: `"(?:400 .*not_supported|503 .*namespace_unavailable).*`,
		},
		{
			What:    "there is no request rate limit",
			Reason:  "connections, streams, bodies and tasks are limited instead",
			Subject: `GET /sessions/\{session\}`, Place: "status",
			From: `429`,
			Into: `"200 .*`,
		},
		{
			What:    "a cursor that is not a number is 400",
			Reason:  "codesdkd started again at the first event",
			Subject: `GET /sessions/\{session\}/events`, Place: "status",
			From: `200`,
			Into: `"400 .*after_seq.*`,
		},
		{
			What:    "an unknown task is 404",
			Reason:  "`unknown` is no status and hides typing mistakes",
			Subject: `GET /sessions/\{session\}/tasks/\{task\}`, Place: "status",
			From: `200`,
			Into: `"404 .*task_not_found.*`,
		},
		{
			What:    "a waiting task is `queued`, and runs later",
			Reason:  "codesdkd answered `started`, and `unknown` later",
			Subject: `(?:GET|POST) /sessions/\{session\}/tasks(?:/\{task\})?`,
			Place:   `body\.status`,
			From:    `"(?:started|unknown)"`,
			Into:    `"(?:queued|running|completed)"`,
		},
		{
			What:    "a stopped task stays stopped",
			Reason:  "codesdkd reported `completed` later",
			Subject: `GET /sessions/\{session\}/tasks/\{task\}`,
			Place:   `body\.status`,
			From:    `"completed"`,
			Into:    `"stopped"`,
		},
		{
			What:    "a session's second task runs, with its own status and terminal event",
			Reason:  "codesdkd failed it because it reused event numbers",
			Subject: `GET /sessions/\{session\}/tasks/\{task\}`,
			Place:   `body\.(?:status|last_seq)`,
			From:    `"failed"|null`,
			Into:    `"(?:queued|running|completed)"|\d+`,
		},
		{
			What:    "a repeated `task_id` is 409",
			Reason:  "two tasks with one id cannot be distinguished",
			Subject: `POST /sessions/\{session\}/tasks`,
			Place:   "status",
			From:    `202`,
			Into:    `"409 .*task_exists.*`,
		},
		{
			What:    "a body that is not an object is 400, even at a limit",
			Reason:  "the answer does not depend on other work",
			Subject: `POST /sessions/\{session\}/tasks`,
			Place:   "status",
			From:    `429`,
			Into:    `"400 .*`,
		},
		{
			What:    "stopping an ended task is 200 with `already`",
			Reason:  "a client need not check first",
			Subject: `POST /sessions/\{session\}/tasks/\{task\}/stop`, Place: "status",
			From: `404`,
			Into: `"200 .*already.*`,
		},
		{
			What:    "ids are percent-decoded",
			Reason:  "clients encode path segments",
			Subject: `POST /sessions/\{session\}/tool-calls/\{call\}/(?:approve|deny)`, Place: "status",
		},
		{
			What:    "`Last-Event-ID` resumes a stream",
			Reason:  "browsers send it; codesdkd started at the first event and stopped after 42",
			Subject: "stream", Place: "last_event_id",
		},
		{
			What:    "`task.started` is sent, with the messages",
			Reason:  "codesdkd documented it and never sent it",
			Subject: "task.started", Place: `\+event`,
		},
		{
			What:    "a stopped task has one terminal event, the last",
			Reason:  "codesdkd sent outputs, usage and another end after it",
			Subject: "model.output.completed|usage.reported|task.completed|task.stopped", Place: "[-+]event",
		},
		{
			What:    "reasons of a task's end have this server's wording",
			Reason:  "codesdkd's wording described its stream",
			Subject: "task.(?:completed|stopped)", Place: `event\.payload\.reason`,
		},
		{
			What: "a failure has `code`, `message`, `retryable`, `runtime`, `recovery` and `raw`, but not " +
				"`error` and `reason`",
			Reason:  "those two repeated one text",
			Subject: "task.failed",
			Place:   `event\.payload\.(?:-(?:error|reason)|\+(?:code|message|retryable|runtime|recovery|raw))`,
		},
		{
			What:    "a session's second task and first tool call do not fail",
			Reason:  "codesdkd's adapters reused event numbers; missing codex credentials are a failed turn",
			Subject: "task.failed|model.input", Place: "-event",
		},
		{
			What:    "usage is reported per model request",
			Reason:  "a task may need several",
			Subject: "usage.reported", Place: `\+event`,
		},
		{
			What:    "model output appears when the model produces it",
			Reason:  "codesdkd's recorded runtimes are scripts with a fixed order",
			Subject: "model.output.(?:delta|completed)", Place: "[-+]event",
			Unmet: true,
		},
		{
			What:    "block ids are the model's",
			Reason:  "they belong to one task only",
			Subject: "model.output.delta", Place: `event\.payload\.block_id`,
			Unmet: true,
		},
		{
			What: "artifacts of `model.input` are `model-input.json` and `implicit-sources.json`, about what " +
				"the runtime is given",
			Reason:  "the agent's own additions are not visible",
			Subject: "model.input",
			Place: `event\.payload\.(?:input_ref|implicit_sources_ref)\.(?:name|artifact_id)|` +
				`event\.payload\.\+implicit_sources_ref`,
		},
		{
			What:    "`model.input` of a turn started elsewhere has only the hash",
			Reason:  "its input is not known",
			Subject: "model.input",
			Place:   `event\.payload\.-(?:input_ref|implicit_sources_ref)`,
			Unmet:   true,
		},
		{
			What:    "decisions of the server have source `harness`; of a call the agent abandoned, `runtime`",
			Reason:  "the name says who decided",
			Subject: `tool\.call\..*`,
			Place:   `event\.payload\.(?:source|policy_snapshot\.sources\[\]\.source)`,
			From:    `"(?:codesdk|user)"`,
			Into:    `"(?:harness|runtime)"`,
		},
		{
			What:    "server tools have `executed_by` `harness` and `execution_env` `in_process`",
			Reason:  "codesdkd named itself",
			Subject: `tool\.call\.completed`,
			Place:   `event\.payload\.(?:executed_by|execution_env)`,
			From:    `"codesdk(?:_host)?"`,
			Into:    `"(?:harness|in_process)"`,
		},
		{
			What:    "a denial says who denied",
			Reason:  "the reason alone does not",
			Subject: "tool.call.denied", Place: `event\.payload\.reason`,
		},
		{
			What: "a call that waits when its task stops is denied as `cancelled`, or because the task was " +
				"stopped",
			Reason:  "codesdkd reported a denial by the user",
			Subject: "tool.call.denied", Place: `event\.payload\.policy_snapshot\.(?:sources\[\]\.rule|permission_mode)`,
		},
		{
			What:    "a call whose input violates its schema is denied before anyone is asked",
			Reason:  "codesdkd had it approved and started, then refused it",
			Subject: `tool\.call\.(?:approved|started|completed|denied)`, Place: "[-+]event",
		},
		{
			What:    "agents call only tools they were offered",
			Reason:  "the recorded script calls any tool; its call and policy results differ",
			Subject: `tool\.call\.(?:requested|policy_evaluated)`,
			Place:   `event\.payload\.(?:input_hash|result|input\.(?:-nope|\+path))`,
		},
		{
			What:    "agents may make their second call after the first is answered",
			Reason:  "the recorded script makes both at once",
			Subject: `tool\.call\.(?:requested|policy_evaluated)`,
			Place:   "[-+]event",
		},
		{
			What:    "tool errors have different wording",
			Reason:  "they include the remedy",
			Subject: "tool.call.completed",
			Place:   `event\.payload\.result_preview\.error`,
		},
		{
			What:    "a long result is stored unchanged, with its hash",
			Reason:  "codesdkd stored pretty-printed JSON",
			Subject: "tool.call.completed",
			Place:   `event\.payload\.(?:result_preview|result_ref\.content_hash)`,
		},
		{
			What:    "`runtime` of an event has `model` and `runtime_session_id`",
			Reason:  "codesdkd documented them and never sent them",
			Subject: ".*",
			Place:   `event\.runtime\.\+(?:model|runtime_session_id)`,
		},
	}
}

// Unlisted returns the differences without a row, and the rows without a difference.
func Unlisted(found []Difference) (open []Difference, idle []Row) {
	rows := Rows()
	used := make([]bool, len(rows))
	for _, d := range found {
		listed := false
		for i, row := range rows {
			if regexp.MustCompile("^(?:"+row.Subject+")$").MatchString(d.Subject) &&
				regexp.MustCompile("^(?:"+row.Place+")$").MatchString(d.Place) &&
				(row.From == "" || regexp.MustCompile("^(?:"+row.From+")$").MatchString(d.Want)) &&
				(row.Into == "" || regexp.MustCompile("^(?:"+row.Into+")$").MatchString(d.Got)) {
				listed, used[i] = true, true
			}
		}
		if !listed {
			open = append(open, d)
		}
	}
	for i, row := range rows {
		if !used[i] && !row.Unmet {
			idle = append(idle, row)
		}
	}
	return open, idle
}
