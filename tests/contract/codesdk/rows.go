package codesdk

import "regexp"

// Row is a deliberate difference: what is otherwise here, and why it is better.
type Row struct {
	What, Reason string
	// Subject and Place are patterns of the differences it stands for.
	Subject, Place string
	// From is a pattern of what is recorded, Into of what is here, both as JSON; "" is anything.
	From, Into string
	// Unmet says that a run may not show it.
	Unmet bool
}

// Rows are all deliberate differences.
func Rows() []Row {
	return []Row{
		{
			What:    "an answer with an error has message, and on 404 of a route statusCode",
			Reason:  "who does not know a member ignores it; it says the cause and the remedy",
			Subject: ".*",
			Place:   `body\.\+(?:message|statusCode)`,
		},
		{
			What:    "GET / has version and contract_version",
			Reason:  "who does not know a member ignores it; a client can tell which server it speaks to",
			Subject: "GET /",
			Place:   `body\.\+(?:version|contract_version)`,
		},
		{
			What: "health and capabilities have auth, state, runtimes, mcpTransports, unaskedTools and " +
				"reconstructsLostSessions",
			Reason: "who does not know a member ignores it; there are several runtimes, and each has a state of " +
				"its own",
			Subject: "GET /(?:health|capabilities|auth/status)",
			Place:   `body\.(?:capabilities\.)?\+(?:auth|state|runtimes|mcpTransports|reconstructsLostSessions|unaskedTools)`,
		},
		{
			What: "a session has activity, cwd, isolation_mode, isolation_level, credential_namespace, model, native_tools, " +
				"permission_mode, title and runtime_session_id",
			Reason:  "who does not know a member ignores it; it is what it was opened with",
			Subject: `(?:GET|POST) /sessions(?:/\{session\})?`,
			Place: `body\.(?:sessions\[\]\.)?\+(?:activity|cwd|isolation_mode|isolation_level|credential_namespace|model|native_tools|` +
				`permission_mode|title|runtime_session_id)`,
		},
		{
			What:    "a task has created_at, started_at, ended_at, turn_id, reason and failure",
			Reason:  "who does not know a member ignores it; how it stands need not be put together from events",
			Subject: `GET /sessions/\{session\}/tasks/\{task\}`,
			Place:   `body\.\+(?:created_at|started_at|ended_at|turn_id|reason|failure)`,
		},
		{
			What: "a task that is taken says how many are ahead, and one that is refused which limit it met " +
				"(limit, of)",
			Reason:  "who does not know a member ignores it; tasks wait in a queue with bounds",
			Subject: `POST /sessions/\{session\}/tasks`,
			Place:   `body\.\+(?:ahead|limit|of)`,
		},
		{
			What:    "to stop a task is answered with its status",
			Reason:  "who does not know a member ignores it; it may be over",
			Subject: `POST /sessions/\{session\}/tasks/\{task\}/stop`,
			Place:   `body\.\+status`,
		},
		{
			What: "a decision that comes too late is answered with decided_by and status, one of another call " +
				"with its attempt and input_hash",
			Reason:  "who does not know a member ignores it; who decides sees what was decided",
			Subject: `POST /sessions/\{session\}/tool-calls/\{call\}/(?:approve|deny)`,
			Place:   `body\.\+(?:attempt|decided_by|input_hash|status)`,
		},
		{
			What:    "a stream begins with the number it begins after",
			Reason:  "a reader that comes back sees from where it is told",
			Subject: "stream",
			Place:   `ready\.\+after_seq`,
		},
		{
			What:    "the trace of an event has turn_id, and request_id, client_id and user_id",
			Reason:  "the turn is known elsewhere by it; an event names who asked for it",
			Subject: ".*",
			Place:   `event\.trace\.\+(?:turn_id|request_id|client_id|user_id)`,
		},
		{
			What: "events of calls have name, runtime_tool_call_id, actor, cancelled, rule, permission, " +
				"policy_snapshot, sandbox, duration_ms, exit_code and is_error",
			Reason:  "who does not know a member ignores it; an event is understood without those before it",
			Subject: `tool\.call\..*`,
			Place: `event\.payload\.(?:\+(?:name|runtime_tool_call_id|actor|cancelled|rule|permission|` +
				`policy_snapshot|sandbox|duration_ms|exit_code|is_error)|sandbox\.\+(?:kind|timeout_ms))`,
		},
		{
			What: "model.input has input_visibility; usage.reported reasoning_tokens, timings and raw; " +
				"model.output.completed block_id",
			Reason:  "who does not know a member ignores it; what is known of the model's side is told",
			Subject: `model\.input|usage\.reported|model\.output\.completed`,
			Place:   `event\.payload\.(?:\+(?:input_visibility|reasoning_tokens|timings|raw)|content\[\]\.\+block_id)`,
		},
		{
			What:    "runtimes are called codex, claude, gemini and opencode, and those are listed that run here",
			Reason:  "one name everywhere in this server; the recorded names are understood in requests",
			Subject: ".*", Place: `(?:body|event)(?:\.sessions\[\])?\.(?:runtime|runtimes|runtime\.name)`,
		},
		{
			What:    "the server names itself harness",
			Reason:  "it is not codesdkd, and programs that look may tell",
			Subject: "GET /", Place: `body\.name`,
			From: `"codesdkd"`,
			Into: `"harness"`,
		},
		{
			What:    "what no route matches is 404 with a JSON body",
			Reason:  "the recorded daemon answered with nothing",
			Subject: "(?:GET|DELETE) /(?:nope|runtime-env|sessions)",
			Place:   "body",
			From:    `""`,
			Into:    `.*Not Found.*404.*`,
		},
		{
			What:    "GET /metrics is outside of /v1: 404",
			Reason:  "the recorded daemon had metrics only when it was linked into a program",
			Subject: "GET /metrics",
			Place:   `body\.error|status`,
			From:    `200|"metrics_unavailable"`,
			Into:    `"404 .*|"Not Found"`,
		},
		{
			What: "capabilities are what the runtime can here: who asks (permissionModel), who runs tools and " +
				"how they are reached (toolExecutionModel, toolReplaySafety, mcpSupport, mcpTransports), how " +
				"many at once (maxOutstandingToolCalls)",
			Reason:  "recorded are constants that nothing enforces",
			Subject: "GET /(?:health|capabilities)",
			Place: `body\.(?:capabilities\.)?(?:permissionModel|toolExecutionModel|toolReplaySafety|mcpSupport|` +
				`mcpTransports|maxOutstandingToolCalls)`,
		},
		{
			What: "a runtime is a process of its own that keeps its state on disk and resumes its own sessions " +
				"(isolation modes, stateModel, resumeModel, supportsSessionResume)",
			Reason:  "recorded runtimes ran in the daemon or elsewhere",
			Subject: "GET /(?:health|capabilities)",
			Place: `body\.(?:capabilities\.)?(?:recommendedIsolationMode|supportedIsolationModes(?:\[\])?|` +
				`stateModel|resumeModel|supportsSessionResume)`,
		},
		{
			What:    "health is of the runtime that runs here: ok, and without the error of a probe",
			Reason:  "the recorded probes failed on runtimes that were not there",
			Subject: "GET /health",
			Place:   `body\.(?:ok|-error)`,
		},
		{
			What:    "where credentials are found is told by kind (credentials, state, remedy), not by folder",
			Reason:  "paths of the server are nobody's business, and a key in the environment is in no folder",
			Subject: "GET /(?:auth/status|health)",
			Place: `body\.(?:auth\.)?details\.(?:-(?:configDir|hasApiKey|hasOauth|hasCredentials)|` +
				`\+(?:credentials|state|remedy))`,
		},
		{
			What:    "authModel is both: a login and a key are taken",
			Reason:  "recorded is unknown, or one of them",
			Subject: "GET /(?:auth/status|health|capabilities)",
			Place:   `body\.(?:auth\.|capabilities\.)?authModel`,
			From:    `.*`,
			Into:    `"both"`,
		},
		{
			What:    "sessions are listed newest first",
			Reason:  "the latest is what is looked for, and the list may be long",
			Subject: "GET /sessions",
			Place:   `body\.sessions\[\]\.session_id`,
		},
		{
			What:    "a session has its runtime's id as soon as it is opened",
			Reason:  "the runtime has one then",
			Subject: "GET /sessions",
			Place:   `body\.sessions\[\]\.runtime_session_id`,
		},
		{
			What:    "an isolation_level that the runtime does not have here, and env, are 400; another credential_namespace is 503",
			Reason:  "a server keeps one namespace, and the files of another one could not be hidden from its agents: the answer names the remedy",
			Subject: "POST /sessions", Place: "status",
			From: `201`,
			Into: `"(?:400 .*not_supported|503 .*namespace_unavailable).*`,
		},
		{
			What:    "there are no limits of requests by the minute",
			Reason:  "connections, streams, bodies and tasks are bounded instead",
			Subject: `GET /sessions/\{session\}`, Place: "status",
			From: `429`,
			Into: `"200 .*`,
		},
		{
			What:    "a cursor that is no number is 400",
			Reason:  "the recorded daemon began again at the first event",
			Subject: `GET /sessions/\{session\}/events`, Place: "status",
			From: `200`,
			Into: `"400 .*after_seq.*`,
		},
		{
			What:    "an unknown task is 404",
			Reason:  "unknown is no status, and a typing mistake looks like a task",
			Subject: `GET /sessions/\{session\}/tasks/\{task\}`, Place: "status",
			From: `200`,
			Into: `"404 .*task_not_found.*`,
		},
		{
			What:    "a task that waits is queued, and is run then",
			Reason:  "the recorded daemon said started when it took it, and unknown later",
			Subject: `(?:GET|POST) /sessions/\{session\}/tasks(?:/\{task\})?`,
			Place:   `body\.status`,
			From:    `"(?:started|unknown)"`,
			Into:    `"(?:queued|running|completed)"`,
		},
		{
			What:    "a task that was stopped stays stopped",
			Reason:  "the recorded daemon said completed later",
			Subject: `GET /sessions/\{session\}/tasks/\{task\}`,
			Place:   `body\.status`,
			From:    `"completed"`,
			Into:    `"stopped"`,
		},
		{
			What:    "a session's second task is run: it has a status and a last event of its own",
			Reason:  "the recorded daemon failed it over numbers of events it had given twice",
			Subject: `GET /sessions/\{session\}/tasks/\{task\}`,
			Place:   `body\.(?:status|last_seq)`,
			From:    `"failed"|null`,
			Into:    `"(?:queued|running|completed)"|\d+`,
		},
		{
			What:    "a task_id is taken once: 409",
			Reason:  "two tasks of an id cannot be told apart",
			Subject: `POST /sessions/\{session\}/tasks`,
			Place:   "status",
			From:    `202`,
			Into:    `"409 .*task_exists.*`,
		},
		{
			What:    "a body that is no object is 400, also where a limit is met",
			Reason:  "what is wrong with it does not depend on what else runs",
			Subject: `POST /sessions/\{session\}/tasks`,
			Place:   "status",
			From:    `429`,
			Into:    `"400 .*`,
		},
		{
			What:    "to stop a task that is over is 200 with already",
			Reason:  "who stops need not know whether it is over",
			Subject: `POST /sessions/\{session\}/tasks/\{task\}/stop`, Place: "status",
			From: `404`,
			Into: `"200 .*already.*`,
		},
		{
			What:    "ids are percent-decoded",
			Reason:  "clients encode what they put into a path",
			Subject: `POST /sessions/\{session\}/tool-calls/\{call\}/(?:approve|deny)`, Place: "status",
		},
		{
			What: "Last-Event-ID is heeded",
			Reason: "browsers send it when they come back; the recorded daemon began at the first event and was " +
				"cut off after 42",
			Subject: "stream", Place: "last_event_id",
		},
		{
			What:    "task.started is told, with the messages",
			Reason:  "it was promised, and never sent",
			Subject: "task.started", Place: `\+event`,
		},
		{
			What:    "a stopped task has one end, and it is the last",
			Reason:  "the recorded daemon told of outputs, of usage and of another end after it",
			Subject: "model.output.completed|usage.reported|task.completed|task.stopped", Place: "[-+]event",
		},
		{
			What:    "why a task ended is said in this server's words",
			Reason:  "the recorded words are those of its stream",
			Subject: "task.(?:completed|stopped)", Place: `event\.payload\.reason`,
		},
		{
			What: "a failure has code, message, retryable, runtime, recovery and raw, and neither error nor " +
				"reason",
			Reason:  "error and reason told one text twice",
			Subject: "task.failed",
			Place:   `event\.payload\.(?:-(?:error|reason)|\+(?:code|message|retryable|runtime|recovery|raw))`,
		},
		{
			What: "a session's second task, and its first tool call, do not fail",
			Reason: "the recorded adapters numbered events themselves, and the store refused the second number one; where " +
				"codex lacks credentials it is a turn that fails",
			Subject: "task.failed|model.input", Place: "-event",
		},
		{
			What:    "usage is told of each request to the model",
			Reason:  "a task may need several",
			Subject: "usage.reported", Place: `\+event`,
		},
		{
			What:    "what the model says comes when it says it",
			Reason:  "the recorded runtimes are scripts that speak first and call tools then",
			Subject: "model.output.(?:delta|completed)", Place: "[-+]event",
			Unmet: true,
		},
		{
			What:    "block ids are the model's",
			Reason:  "they are of one task only",
			Subject: "model.output.delta", Place: `event\.payload\.block_id`,
			Unmet: true,
		},
		{
			What: "the artifacts of model.input are called model-input.json and implicit-sources.json, and " +
				"refer to what the runtime is given",
			Reason:  "what an agent makes of it for its model is its own",
			Subject: "model.input",
			Place: `event\.payload\.(?:input_ref|implicit_sources_ref)\.(?:name|artifact_id)|` +
				`event\.payload\.\+implicit_sources_ref`,
		},
		{
			What:    "of a turn that was begun elsewhere model.input has the hash only",
			Reason:  "what it was given is not known",
			Subject: "model.input",
			Place:   `event\.payload\.-(?:input_ref|implicit_sources_ref)`,
			Unmet:   true,
		},
		{
			What:    "decisions of the server are of the source harness, and one of a call the agent gave up of runtime",
			Reason:  "the names say who; codesdk is another program",
			Subject: `tool\.call\..*`,
			Place:   `event\.payload\.(?:source|policy_snapshot\.sources\[\]\.source)`,
			From:    `"(?:codesdk|user)"`,
			Into:    `"(?:harness|runtime)"`,
		},
		{
			What:    "what the server runs is executed_by harness, in its process (execution_env in_process)",
			Reason:  "recorded are codesdk and codesdk_host",
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
			What: "a call that waits when its task is stopped is denied as cancelled, or because the task was " +
				"stopped",
			Reason:  "the recorded daemon said that the user had denied it",
			Subject: "tool.call.denied", Place: `event\.payload\.policy_snapshot\.(?:sources\[\]\.rule|permission_mode)`,
		},
		{
			What:    "a call with input that its schema refuses is denied before anybody is asked",
			Reason:  "the recorded daemon had it approved and started, and then refused it",
			Subject: `tool\.call\.(?:approved|started|completed|denied)`, Place: "[-+]event",
		},
		{
			What:    "agents do not call tools that they were not told of",
			Reason:  "recorded is a script that calls what it likes: its call differs, and what is thought of it",
			Subject: `tool\.call\.(?:requested|policy_evaluated)`,
			Place:   `event\.payload\.(?:input_hash|result|input\.(?:-nope|\+path))`,
		},
		{
			What:    "agents may ask for their second call when the first is answered",
			Reason:  "recorded is a script that asks for both at once",
			Subject: `tool\.call\.(?:requested|policy_evaluated)`,
			Place:   "[-+]event",
		},
		{
			What:    "errors of tools are in other words",
			Reason:  "they say the remedy, too",
			Subject: "tool.call.completed",
			Place:   `event\.payload\.result_preview\.error`,
		},
		{
			What:    "a long result is kept as it is, with the hash of that",
			Reason:  "recorded is pretty-printed JSON",
			Subject: "tool.call.completed",
			Place:   `event\.payload\.(?:result_preview|result_ref\.content_hash)`,
		},
		{
			What:    "the runtime of an event has model and runtime_session_id",
			Reason:  "they were promised, and never sent",
			Subject: ".*",
			Place:   `event\.runtime\.\+(?:model|runtime_session_id)`,
		},
	}
}

// Unlisted are the differences that no row stands for, and the rows that stand for none.
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
