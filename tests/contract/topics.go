package contract

// Topic is one recording and the state that it requires. The recorder created some sessions without recording that.
type Topic struct {
	Name string
	// Env has variables of the server in addition to the recorded ones.
	Env []string
	// Sessions are sessions to prepare, by recorded id.
	Sessions map[string]Preparation
	// MoreSessions is how many additional sessions the server has, like the recorded one.
	MoreSessions int
	// Incomparable exchanges are not replayed or not compared, each with the reason.
	Incomparable map[string]string
	// Raced exchanges depended on timing that a replay cannot reproduce. The replay does not send them, but waits for
	// their results.
	Raced map[string]string
	// Files are files to write below the workspace ({{ROOT}}) before the server starts.
	Files map[string]string
	// Steps are files that the recorder wrote before an exchange, by the exchange's name. "" removes a file.
	Steps map[string]map[string]string
	// Moments are single values of an exchange (its name, and the place in its response) that depended on timing that a
	// replay cannot reproduce.
	Moments map[Moment]string
}

// Moment is a value in the response of an exchange.
type Moment struct{ Exchange, Place string }

// Preparation is how the recorder created a session.
type Preparation struct {
	// Body is the body of the request that creates it; "" is an empty object.
	Body string
	// Message is the first message. Wait waits for its response.
	Message string
	Wait    bool
	// ProjectID is the recorded id of the session's project, which gets the name ProjectName.
	ProjectID, ProjectName string
	// Deleted, System and Early sessions are prepared before the first record. The message of an early session is sent
	// on the session's first use.
	Deleted, System, Early bool
	// Refused sessions have a recorded turn whose message this server refuses, so its frames do not arrive.
	Refused bool
}

// unknownSession is the recorder's id of a session that does not exist. It stays unchanged.
const unknownSession = "01a00000-0000-7000-8000-000000000000"

const lookupTool = `{"cwd":"{{WORK}}","dynamicTools":[{"name":"lookup_ticket","description":"Look up",` +
	`"inputSchema":{"type":"object","properties":{"id":{"type":"string"}}}}]}`

// Topics returns all recordings, the most common client operations first.
func Topics() []Topic {
	tool := Preparation{Body: lookupTool}
	shared := map[string]Preparation{
		"01a1fbb7-da59-71f1-8746-2ce1c0248883": {Deleted: true},
		"01a1fbb8-73df-7802-9ecf-8614096a794a": {Deleted: true},
		"01a1fbb7-d9dc-75e3-85ba-92f703a91e87": {System: true},
		"01a1fbb8-7322-77e1-814d-8441b5b05822": {System: true},
	}
	with := func(more map[string]Preparation) map[string]Preparation {
		all := map[string]Preparation{}
		for _, part := range []map[string]Preparation{shared, more} {
			for id, preparation := range part {
				all[id] = preparation
			}
		}
		return all
	}
	afterCrash := map[string]string{}
	for _, name := range []string{"create", "message", "fork", "steer", "suggest", "delete session"} {
		afterCrash[name] = "works here, as codex is back, and would do what the recording could not"
	}
	atOnce := map[string]string{}
	for _, name := range []string{"concurrent 1", "concurrent 2", "concurrent 3", "concurrent 4", "concurrent 5"} {
		atOnce[name] = "refused because another reload ran at the same moment"
	}
	patching := Preparation{Body: `{"cwd":"{{WORK}}","filesystemSandbox":"workspace-write"}`}
	return []Topic{
		{Name: "http-basics"},
		{Name: "projects", Sessions: with(map[string]Preparation{
			"01a1fbb7-df11-78d0-8924-4b8ac9bca10b": {Message: "materialize", Wait: true},
		})},
		{Name: "sessions", MoreSessions: 3, Incomparable: map[string]string{
			"get system":          "the recorded worker's history",
			"rollback":            "works here, and would take back what the rest of the recording is about",
			"rollback 1":          "as above",
			"rollback string num": "as above",
		}, Sessions: with(map[string]Preparation{
			"01a1fbb7-ea6e-7cd3-ac76-1fbdbaf304fd": {Message: "materialize me", Wait: true},
			"01a1fbb7-fb5c-7231-b8ed-1e04e62c54d7": {Message: "materialize me", Wait: true},
		})},
		{Name: "messages", Raced: map[string]string{"steer": "it came while the turn ended",
			"interrupt": "it came while the compaction ended"}, Incomparable: map[string]string{
			"rollback during turn": "works here, and would take back what the rest of the recording is about",
			"send on-failure":      "works here, and would start a turn the rest of the recording does not have",
		}, Sessions: with(map[string]Preparation{
			"01a1fbb8-61a3-7a61-852a-e26d734ce866": {Message: "MOCK_SLOW[60]"},
		})},
		{Name: "approvals", Incomparable: map[string]string{
			"escalated": "the scripted model here has another script language",
		}, Sessions: map[string]Preparation{
			"01a1fbb8-e09b-7b31-a9b2-b73867c7e2b5": patching,
			"01a1fbb8-ea22-7440-8e8b-f76087b528d9": patching,
			"01a1fbb8-ee7c-7aa1-93a7-81ec43183050": patching,
			"01a1fbb8-f8a4-7921-bf22-5288ee3a9dc6": {Message: "MOCK_CMD[touch {{LAB}}/home/w/del.txt]"},
		}},
		{Name: "tool-input"},
		{Name: "tool-calls", Sessions: map[string]Preparation{
			"01a1fbb9-2017-7b93-8b8b-5dee7cf31acf": tool, "01a1fbb9-2396-74c0-9fb8-4b121b440c67": tool,
			"01a1fbb9-268f-7b03-aeb7-09fffc792725": tool, "01a1fbb9-297c-7161-8d70-65445ca76e50": tool,
			"01a1fbb9-2c55-7033-a204-e4d91975f9fa": tool, "01a1fbb9-2f19-7403-b13c-908bd867b69a": tool,
			"01a1fbb9-31ca-7cb0-84d8-d6918035bc19": tool, "01a1fbb9-36b5-7d20-abf7-c15752553d74": {Refused: true},
		}},
		{Name: "transcript-upsert", Sessions: with(nil)},
		{Name: "stream", Sessions: with(nil)},
		{Name: "persistence-restart", Files: recordedSupervisor("jobs"), Sessions: map[string]Preparation{
			"01a1fbbe-d8ec-73b2-b65c-dd34951b33b2": {Message: "Reply with exactly PERSIST", Wait: true},
		}},
		{Name: "codex-crash", Sessions: map[string]Preparation{
			"01a1fbbe-d8ec-73b2-b65c-dd34951b33b2": {
				Early: true, Message: "MOCK_CMD[touch {{LAB}}/home/w/crash.txt]", ProjectID: "e34b66de-d6ed-4191-9f8f-a97126cce856",
				ProjectName: "Persist",
			},
		}, Incomparable: afterCrash},
		{Name: "controls-settings", Sessions: with(nil)},
		{Name: "integrations", Sessions: map[string]Preparation{"01a1fbb8-72c9-71e3-a762-c24901b9f7d2": {Early: true}}},
		{Name: "suggested-request", Sessions: with(map[string]Preparation{
			"01a1fbb9-588d-7ad0-88aa-2ca88b9f4ceb": {Message: "context message", Wait: true},
		})},
		{Name: "jobs", Sessions: map[string]Preparation{
			"01a1fbb9-6ced-7581-908d-ab5655138047": {Message: "hello jobs", Wait: true},
		}, Files: recordedSupervisor("jobs"), Moments: map[Moment]string{
			{"worker session detail",
				"body.thread.turns[3].status"}: "the recorded worker stored its suggestion while its turn ran, which was interrupted then",
		}},
		{Name: "queue-disabled-defaults-locked"},
		{Name: "rbac-disabled", Files: supervisor(), Raced: map[string]string{"concurrent 2": atOnce["concurrent 2"],
			"concurrent 3": atOnce["concurrent 3"]}},
		{Name: "rbac-header", Files: supervisor()},
		{Name: "rbac-jwt", Files: supervisor()},
		{Name: "extensions-disabled", Files: supervisor(), Steps: extensionSteps("{{LAB}}/ext/disabled/roots"),
			Raced: atOnce},
		{Name: "extensions-warn", Files: supervisor(), Steps: extensionSteps("{{LAB}}/ext/warn/roots"), Raced: atOnce},
	}
}
