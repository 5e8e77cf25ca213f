package acp

import (
	"cmp"
	"encoding/json"
	"regexp"
	"strings"

	"harness/internal/runtime"
)

// Profile is what is to be known of an agent beyond what it says of itself. It is data: whatever an agent does
// differently is a member here.
type Profile struct {
	// Name is the runtime's name, Title what it is called for people.
	Name, Title string
	// Command is the program and its arguments; the program is looked up on the PATH. {tools} stands for the
	// name of the server's tools, or an unguessable text where there are none.
	Command []string
	// Env is what its processes are given, as NAME=value; {settings} stands for the file with Settings, {trust} for whether
	// it is to trust the workspace: true where it is given the tools of the server.
	Env []string
	// Settings is a JSON file that is written before each start.
	Settings string
	// Families are the runtimes whose provider's variables of the server's environment it gets
	// (environment.Policy.Inherits), none for its own.
	Families []string
	// CloudAuth is what {auth} of Settings selects for a provider in a cloud (environment.Provider), by its name; else it
	// selects KeyMethod where there is a key.
	CloudAuth map[string]string
	// Keys are variables of those that are credentials.
	Keys []string
	// Logins are the files of a login, by variables of its processes.
	Logins []string
	// Tested is the version all this was seen with, Install and Login are what to type to have it.
	// Setting names the setting that says where its program is.
	Tested, Install, Login, Setting string
	// KeyMethod is the method of authenticate that takes a key, "" for none, and KeyMember the member the key is in there,
	// "" where the value is the key itself. StoresKey says that the agent stores it in its home.
	KeyMethod, KeyMember string
	StoresKey            bool
	// KeyVariable is a variable in which a new process takes a key, of an agent that takes none while it runs; "" for none.
	// KeyByProvider says that it holds an object of keys by provider, as the files of Logins do, and that a model's id
	// begins with its provider's and a slash.
	KeyVariable   string
	KeyByProvider bool
	// Modes are the agent's modes by the approval policy they come to. A policy without one is not offered; no modes at
	// all leave the agent to ask when it sees fit, which is on-request: in the mode "default" where it offers one.
	Modes map[string]string
	// AutoApproves: under the approval policy never what it asks is allowed by this server, call by call, as its mode for
	// that would trust the workspace's own settings.
	AutoApproves bool
	// Clear is the message by which the agent forgets the conversation, "" for none. It says nothing when it has.
	Clear string
	// Forms says that it asks persons questions.
	Forms bool
	// SharesServers says that an MCP server given to one conversation serves all in the same folder. Such an
	// agent gets none, since a call's conversation would be unknown.
	SharesServers bool
	// TrustsFor is the folder of a workspace whose settings count once the agent trusts it, which it has to for taking MCP
	// servers: such a workspace is not opened then. "" for an agent that takes servers anywhere.
	TrustsFor string
	// SessionMeta is a JSON object given as _meta when a conversation is opened or loaded, "" for none.
	SessionMeta string
	// NoPlan says that it does not report its plan.
	NoPlan bool
	// QuestionTools are tools that show as the question they ask.
	QuestionTools []string
	// SessionOptions are the ids of the options of an approval that hold for the session and no longer. What an agent
	// calls "always" may hold for all sessions of its process, or be written down for good.
	SessionOptions []string
	// FirstTitle is the title its conversations are given when they are opened, "" for none. One without would be named by
	// its model, in a conversation of its own that has other levels than the session's.
	FirstTitle string
	// RejectEndsTurn: when a request is declined, the turn ends, which may look as if the agent had finished.
	RejectEndsTurn bool
	// ErrorsAsText: a turn that failed ends as a good one does, with the error as a text of no message.
	ErrorsAsText bool
	// PolicySays is a regular expression for the output of a failed call that the agent's own policy refused,
	// "" where that cannot be detected.
	PolicySays string
	// RefusedAs is the tool that the agent runs, and completes, in the place of a call that it refuses, "" for none: its
	// input has the tool that the model called, and an error.
	RefusedAs string
	// ToolNameInID: a tool's name is the beginning of its call's id, up to "__".
	ToolNameInID bool
	// History is where the agent keeps a conversation, in a file below the home and a folder (*) for each one it works in:
	// {minute} stands for when it was begun, {id} for the first 8 characters of the agent's id. Such a file is emptied when
	// it is loaded in that minute, and can be taken to another machine. "" for an agent that keeps them in another way.
	History string
	// Implicit is how much the agent reads by itself (runtime.ImplicitAll, ...), "" where that is unknown.
	// Reads are the files it reads, as far as they are known, by variables of its processes ($NAME,
	// ${NAME:-OTHERWISE}), {settings}, and the folder of the conversation: {cwd}, with those above it {above},
	// up to the project's root {project}.
	Implicit string
	Reads    []string
	// Preview says that this agent was not tested with this server.
	Preview bool
}

// Gemini is Gemini CLI. It takes the workspace for one that is not trusted, so that no settings there can run programs
// or turn on hooks (and, where it has to trust it for the tools of the server, one without settings); its own settings
// are those of the system, which it puts above the user's where root owns the file.
func Gemini() Profile {
	return Profile{
		Name: "gemini", Title: "Gemini CLI", Command: []string{"gemini", "--acp", "--allowed-mcp-server-names",
			"{tools}"},
		Env: []string{"GEMINI_CLI_SYSTEM_SETTINGS_PATH={settings}", "GEMINI_CLI_TRUST_WORKSPACE={trust}",
			"GEMINI_CLI_NO_RELAUNCH=true", "GEMINI_TELEMETRY_ENABLED=false", "GEMINI_FORCE_FILE_STORAGE=true", "NO_COLOR=1"},
		Settings: `{
  "general": {"enableAutoUpdate": false, "enableAutoUpdateNotification": false, "retryFetchErrors": false, "topicUpdateNarration": false},
  "privacy": {"usageStatisticsEnabled": false},
  "telemetry": {"enabled": false},
  "model": {"name": "gemini-2.5-pro", "skipNextSpeakerCheck": true, "disableLoopDetection": true},
  "context": {"fileName": "HARNESS_NONE.md", "includeDirectoryTree": false},
  "tools": {"useRipgrep": false, "discoveryCommand": "", "callCommand": ""},
  "mcp": {"serverCommand": ""},
  "hooksConfig": {"enabled": false},
  "advanced": {"ignoreLocalEnv": true},
  "skills": {"enabled": false},
  "experimental": {"autoMemory": false, "enableAgents": false}{auth}
}
`,
		Keys: []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"}, Logins: []string{"$HOME/.gemini/oauth_creds.json"},
		Tested: "0.61.0", Install: "npm install -g @google/gemini-cli@0.61.0",
		Login: "set GEMINI_API_KEY, or log in as the server's user with: gemini", Setting: "GEMINI_BIN",
		KeyMethod: "gemini-api-key", CloudAuth: map[string]string{"vertex": "vertex-ai"},
		PolicySays:     `^Tool execution (for .* )?denied by policy`,
		Modes:          map[string]string{"untrusted": "default", "on-request": "default", "never": "default"},
		AutoApproves:   true,
		SessionOptions: []string{"proceed_always", "proceed_always_tool", "proceed_always_server"},
		Implicit:       runtime.ImplicitHome, Reads: []string{"{settings}", "$HOME/.gemini/settings.json"},
		NoPlan: true, ToolNameInID: true, TrustsFor: ".gemini", History: ".gemini/tmp/*/chats/session-{minute}-{id}.jsonl",
	}
}

// ClaudeBridge is Claude Code behind the bridge of the protocol's makers. Runtime claude says more of the same agent.
func ClaudeBridge() Profile {
	return Profile{
		Name: "claude-acp", Title: "Claude Code (ACP bridge)", Command: []string{"claude-agent-acp"},
		Families: []string{"claude"}, Env: []string{"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_TELEMETRY=1",
			"DISABLE_ERROR_REPORTING=1", "DISABLE_AUTOUPDATER=1", "CLAUDE_CODE_DISABLE_TERMINAL_TITLE=1",
			"CLAUDE_CODE_ATTRIBUTION_HEADER=0", "CLAUDE_CODE_MAX_RETRIES=2", "CLAUDE_CODE_ENABLE_TODO_TOOLS=1"},
		Keys: []string{"ANTHROPIC_API_KEY"}, Logins: []string{"$HOME/.claude/.credentials.json"},
		Tested: "0.101.0", Install: "npm install -g @agentclientprotocol/claude-agent-acp@0.101.0",
		Login: "set ANTHROPIC_API_KEY, or log in with: claude /login", KeyVariable: "ANTHROPIC_API_KEY",
		Modes: map[string]string{"untrusted": "default", "on-request": "default"}, Forms: true,
		QuestionTools: []string{"AskUserQuestion"}, Clear: "/clear",
		// What it says of a call that was refused before it ran, but for "Cancelled" and "Sibling": that one may have begun.
		PolicySays:  `^<tool_use_error>([^CS]|C[^a]|S[^i])`,
		SessionMeta: `{"claudeCode":{"emitRawSDKMessages":[{"type":"system","subtype":"api_retry"}]}}`,
		// The bridge has the settings of the user, the project and the folder count.
		Implicit: runtime.ImplicitAll, Reads: []string{"/etc/claude-code/managed-settings.json",
			"/etc/claude-code/managed-mcp.json", "/etc/claude-code/CLAUDE.md", "$HOME/.claude/settings.json",
			"$HOME/.claude.json", "$HOME/.claude/CLAUDE.md", "{cwd}/.claude/settings.json", "{cwd}/.claude/settings.local.json",
			"{above}/.mcp.json", "{above}/CLAUDE.md", "{above}/.claude/CLAUDE.md", "{above}/CLAUDE.local.md"},
	}
}

// CodexBridge is codex behind the bridge of the protocol's makers. Runtime codex says more of the same agent.
func CodexBridge() Profile {
	return Profile{
		Name: "codex-acp", Title: "codex (ACP bridge)", Command: []string{"codex-acp"}, Families: []string{"codex"},
		Env:  []string{"NO_BROWSER=1"},
		Keys: []string{"OPENAI_API_KEY", "CODEX_API_KEY"}, Logins: []string{"$HOME/.codex/auth.json"},
		Tested: "2.6.0", Install: "npm install -g @agentclientprotocol/codex-acp@2.6.0",
		Login: "set OPENAI_API_KEY, or log in with: codex login", KeyMethod: "api-key", KeyMember: "apiKey", StoresKey: true,
		// Its modes are sandboxes, too: with these, a person is asked before anything leaves them.
		Modes: map[string]string{"untrusted": "read-only", "on-request": "workspace-write",
			"never": "agent-full-access"},
		SessionOptions: []string{"allow_session"}, RejectEndsTurn: true, ErrorsAsText: true, FirstTitle: "New chat",
		Implicit: runtime.ImplicitAll, Reads: []string{"/etc/codex/config.toml", "/etc/codex/managed_config.toml",
			"/etc/codex/requirements.toml", "${CODEX_HOME:-$HOME/.codex}/config.toml",
			"${CODEX_HOME:-$HOME/.codex}/managed_config.toml", "${CODEX_HOME:-$HOME/.codex}/AGENTS.override.md",
			"${CODEX_HOME:-$HOME/.codex}/AGENTS.md", "{project}/.codex/config.toml", "{project}/AGENTS.override.md",
			"{project}/AGENTS.md"},
	}
}

// OpenCode is OpenCode's own ACP server. Runtime opencode says more of the same agent.
func OpenCode() Profile {
	return Profile{
		Name: "opencode-acp", Title: "OpenCode (ACP)", Command: []string{"opencode", "acp"}, Families: []string{"opencode"},
		SharesServers: true,
		Env: []string{
			// What a sub-agent asks reaches no client of this protocol, so its turn would wait forever: none is offered.
			`OPENCODE_PERMISSION={"bash":"ask","edit":"ask","webfetch":"ask","external_directory":"ask","task":"deny"}`,
			"OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_LSP_DOWNLOAD=1", "OPENCODE_DISABLE_DEFAULT_PLUGINS=1",
			"OPENCODE_DISABLE_CLAUDE_CODE=1", "OPENCODE_DISABLE_PROJECT_CONFIG=1", "OPENCODE_DISABLE_EXTERNAL_SKILLS=1",
			"OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_PURE=1"},
		Logins: []string{"$XDG_DATA_HOME/opencode/auth.json", "$HOME/.local/share/opencode/auth.json"},
		Tested: "1.18.33", Install: "npm install -g opencode-ai@1.18.33", Login: "log in with: opencode auth login",
		Setting: "OPENCODE_BIN", Modes: map[string]string{"untrusted": "build", "on-request": "build"}, NoPlan: true,
		RejectEndsTurn: true, RefusedAs: "invalid", KeyVariable: "OPENCODE_AUTH_CONTENT", KeyByProvider: true,
		Implicit: runtime.ImplicitHome, Reads: []string{"${XDG_CONFIG_HOME:-$HOME/.config}/opencode/config.json",
			"${XDG_CONFIG_HOME:-$HOME/.config}/opencode/opencode.json",
			"${XDG_CONFIG_HOME:-$HOME/.config}/opencode/opencode.jsonc", "${XDG_CONFIG_HOME:-$HOME/.config}/opencode/AGENTS.md"},
	}
}

// Shipped are the profiles of this package, in the order they are offered.
func Shipped() []Profile { return []Profile{Gemini(), ClaudeBridge(), CodexBridge(), OpenCode()} }

// nameIn is the name of the tool a call's id begins with, "" where it does not.
func (p *Profile) nameIn(callID string) string {
	name, _, found := strings.Cut(callID, "__")
	if !p.ToolNameInID || !found {
		return ""
	}
	if rest, mcp := strings.CutPrefix(callID, "mcp__"); mcp {
		name = "mcp__" + rest
	}
	return name
}

// refused reports whether a failed call was refused by the agent's policy.
func (p *Profile) refused(output string) bool {
	return p.PolicySays != "" && regexp.MustCompile(p.PolicySays).MatchString(output)
}

// replaces is the tool that the model called when an agent has run RefusedAs instead, "" for any other call.
func (p *Profile) replaces(of *tool) string {
	var call struct{ Tool, Error string }
	if p.RefusedAs == "" || of.Kind != "other" || of.Ran != p.RefusedAs || json.Unmarshal(of.Input, &call) != nil || call.Error == "" {
		return ""
	}
	return call.Tool
}

// policies are the approval policies it is offered with.
func (p *Profile) policies() (policies []string) {
	if len(p.Modes) == 0 {
		return []string{"on-request"}
	}
	for _, policy := range []string{"untrusted", "on-failure", "on-request", "never"} {
		if _, has := p.Modes[policy]; has {
			policies = append(policies, policy)
		}
	}
	return policies
}

// modeFor is the agent's mode for an approval policy, "" to leave the current one. An agent with unknown modes
// may begin in one without approvals, as the Claude bridge does, so it is switched to the one with approvals.
func (p *Profile) modeFor(policy string, now settings) string {
	if len(p.Modes) == 0 && policy != "" {
		return now.asks
	}
	return p.Modes[policy]
}

// title is what it is called for people.
func (p *Profile) title() string { return cmp.Or(p.Title, p.Name) }

// facts are those of the agent, from the profile and from the agent itself; loads says that it opens earlier
// conversations.
func (p *Profile) facts(loads bool) runtime.Facts {
	f := runtime.Facts{State: runtime.StateMemory, Resume: runtime.ResumeReconstruct, Cancellation: runtime.CancelBestEffort,
		Isolation: []string{runtime.IsolationProcess}}
	if loads {
		f.State, f.Resume = runtime.StateDisk, runtime.ResumeNative
	}
	if !p.Preview { // such an agent was seen to ask again
		f.Replay = runtime.ReplayAsks
	}
	key := len(p.Keys) > 0 || p.KeyMethod != "" || p.KeyVariable != ""
	switch {
	case key && len(p.Logins) > 0:
		f.Auth = runtime.AuthBoth
	case key:
		f.Auth = runtime.AuthKey
	case len(p.Logins) > 0:
		f.Auth = runtime.AuthLocal
	}
	return f
}

// implicit is how much of what the agent reads by itself it can be held to.
func (p *Profile) implicit() []string {
	if p.Implicit == "" {
		return nil
	}
	return []string{p.Implicit}
}
