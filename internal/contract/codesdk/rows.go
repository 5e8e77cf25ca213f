package codesdk

import "regexp"

// Row is a deliberate difference: what is otherwise here, and why it is better.
type Row struct {
	What, Reason string
	// Subject and Place are patterns of the differences it stands for.
	Subject, Place string
	// Unmet says that a run may not show it.
	Unmet bool
}

// Rows are all deliberate differences.
func Rows() []Row {
	return []Row{
		{
			What:    "answers and events have further members",
			Reason:  "what is told beside the recorded is ignored by who does not know it",
			Subject: ".*", Place: `(?:body|event|ready)\..*\+\w+|(?:body|event|ready)\.\+\w+`,
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
		},
		{
			What:    "what no route matches is 404 with a JSON body, and so is GET /metrics, which is outside of /v1",
			Reason:  "the recorded daemon answered with nothing, and had metrics only when it was linked into a program",
			Subject: "(?:GET|DELETE) /(?:nope|runtime-env|metrics|sessions)", Place: `body|body\.error|status`,
		},
		{
			What:    "capabilities and health tell what the runtime can and how it does, and a probe that fails does not end the server",
			Reason:  "recorded are constants that nothing enforces, and probes of runtimes that are not there",
			Subject: "GET /(?:health|capabilities)",
			Place: `body\.ok|body\.-error|body\.(?:capabilities\.)?(?:authModel|maxOutstandingToolCalls|` +
				`mcpSupport|mcpTransports|permissionModel|recommendedIsolationMode|` +
				`resumeModel|stateModel|supportedIsolationModes(?:\[\])?|supportsSessionResume|toolExecutionModel|toolReplaySafety)`,
		},
		{
			What:    "where credentials are found is told by kind, not by folder",
			Reason:  "paths of the server are nobody's business, and a key in the environment is in no folder",
			Subject: "GET /(?:auth/status|health)",
			Place:   `body\.(?:auth\.)?(?:authModel|details\.-(?:configDir|hasApiKey|hasOauth|hasCredentials))`,
		},
		{
			What:    "sessions are listed newest first, and one has its runtime's id as soon as it is opened",
			Reason:  "the latest is what is looked for, and the list may be long",
			Subject: "GET /sessions", Place: `body\.sessions\[\]\.(?:session_id|runtime_session_id)`,
		},
		{
			What:    "credential_namespace, isolation_level and env beyond their defaults are 400",
			Reason:  "runtimes share the server's user and credentials: that is said rather than ignored",
			Subject: "POST /sessions", Place: "status",
		},
		{
			What:    "there are no limits of requests by the minute",
			Reason:  "connections, streams, bodies and tasks are bounded instead",
			Subject: `GET /sessions/\{session\}`, Place: "status",
		},
		{
			What:    "a cursor that is no number is 400",
			Reason:  "the recorded daemon began again at the first event",
			Subject: `GET /sessions/\{session\}/events`, Place: "status",
		},
		{
			What:    "an unknown task is 404",
			Reason:  "unknown is no status, and a typing mistake looks like a task",
			Subject: `GET /sessions/\{session\}/tasks/\{task\}`, Place: "status",
		},
		{
			What:    "a task that waits is queued, one that was stopped stays stopped, and one of a session whose earlier tasks ended is run",
			Reason:  "the recorded daemon said unknown of it, completed after stopped, and failed it over numbers it had given twice",
			Subject: `GET /sessions/\{session\}/tasks/\{task\}|POST /sessions/\{session\}/tasks`,
			Place:   `body\.(?:status|last_seq)`,
		},
		{
			What:    "a task_id is taken once: 409; a body is read before limits are looked at: 400",
			Reason:  "two tasks of an id cannot be told apart",
			Subject: `POST /sessions/\{session\}/tasks`, Place: "status",
		},
		{
			What:    "to stop a task that is over is 200 with already",
			Reason:  "who stops need not know whether it is over",
			Subject: `POST /sessions/\{session\}/tasks/\{task\}/stop`, Place: "status",
		},
		{
			What:    "ids are percent-decoded",
			Reason:  "clients encode what they put into a path",
			Subject: `POST /sessions/\{session\}/tool-calls/\{call\}/(?:approve|deny)`, Place: "status",
		},
		{
			What:    "Last-Event-ID is heeded",
			Reason:  "browsers send it when they come back; the recorded daemon began at the first event and was cut off after 42",
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
			What:    "a failure has code, message, retryable, runtime and recovery",
			Reason:  "error and reason told one text twice",
			Subject: "task.failed", Place: `event\.payload\.-(?:error|reason)`,
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
			What:    "model.input refers to what the runtime is given; of a turn that was begun elsewhere it has the hash only",
			Reason:  "what an agent makes of it for its model is its own",
			Subject: "model.input", Place: `event\.payload\.[-+]?(?:input_ref|implicit_sources_ref).*`,
			Unmet: true,
		},
		{
			What:    "decisions of the server are of the source harness, what it runs is executed_by harness and in_process",
			Reason:  "the names say who; codesdk is another program",
			Subject: `tool\.call\..*`,
			Place:   `event\.payload\.(?:source|executed_by|execution_env|policy_snapshot\.sources\[\]\.source)`,
		},
		{
			What:    "a denial says who denied",
			Reason:  "the reason alone does not",
			Subject: "tool.call.denied", Place: `event\.payload\.reason`,
		},
		{
			What:    "a call that waits when its task is stopped is denied as cancelled, or because the task was stopped",
			Reason:  "the recorded daemon said that the user had denied it",
			Subject: "tool.call.denied", Place: `event\.payload\.policy_snapshot\.(?:sources\[\]\.rule|permission_mode)`,
		},
		{
			What:    "a call with input that its schema refuses is denied before anybody is asked",
			Reason:  "the recorded daemon had it approved and started, and then refused it",
			Subject: `tool\.call\.(?:approved|started|completed|denied)`, Place: "[-+]event",
		},
		{
			What:    "agents do not call tools that they were not told of, and may ask for their second call when the first is answered",
			Reason:  "recorded is a script that calls what it likes; the input it was given differs with it",
			Subject: `tool\.call\.(?:requested|policy_evaluated)`,
			Place:   `[-+]event|event\.payload\.(?:input_hash|result|input\.-nope)`,
		},
		{
			What:    "errors of tools are in other words, and a long result is kept as it is",
			Reason:  "recorded is pretty-printed JSON, with another hash",
			Subject: "tool.call.completed",
			Place:   `event\.payload\.(?:result_preview|result_preview\.error|result_ref\.content_hash)`,
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
				regexp.MustCompile("^(?:"+row.Place+")$").MatchString(d.Place) {
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
