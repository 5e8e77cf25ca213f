package acp

import (
	"cmp"
	"encoding/json"
	"regexp"
	"strings"

	"harness/internal/runtime"
)

// Profile has the facts about an agent beyond its own description. It is data: every peculiarity of an agent is a
// member here.
type Profile struct {
	// Name is the runtime's name, Title its display name.
	Name, Title string
	// Command is the program, searched on the PATH, with its arguments. {tools} is replaced by the names of
	// this server's MCP servers, separated by commas, or by an unguessable text without any.
	Command []string
	// Env are variables of its processes as NAME=value. {settings} is replaced by the file with Settings. {trust} is
	// true when the agent gets this server's MCP servers, because it must trust the workspace then.
	Env []string
	// Settings is a JSON file to write before each start.
	Settings string
	// Families are the runtimes with provider variables that it inherits (environment.Policy.Inherits), none for its
	// own.
	Families []string
	// CloudAuth is the value of {auth} in Settings for each cloud provider (environment.Provider). Otherwise a key
	// selects KeyMethod.
	CloudAuth map[string]string
	// Keys are its variables with credentials.
	Keys []string
	// Logins are the files of a login, with variables of its processes.
	Logins []string
	// Tested is the tested version. Install and Login are the commands to install and to log in. Setting names the
	// setting with the path of its program.
	Tested, Install, Login, Setting string
	// KeyMethod is the method of authenticate for a key, "" for none. KeyMember is the key's member there, "" if the
	// value is the key itself. StoresKey means that the agent stores the key in its home.
	KeyMethod, KeyMember string
	StoresKey            bool
	// KeyVariable is the variable with the key of a new process, for an agent that accepts no key while it runs; ""
	// for none. KeyByProvider means that its value is an object of keys by provider, as in the files of Logins. Model
	// ids then start with the provider and a slash.
	KeyVariable   string
	KeyByProvider bool
	// Modes are the agent's modes by approval policy. The runtime does not offer a policy without a mode. Without
	// modes the agent decides when to request approval (on-request), in its mode "default" if it has one.
	Modes map[string]string
	// AutoApproves means that this server approves each request under the approval policy never: the agent's mode for
	// that would trust the workspace's own settings.
	AutoApproves bool
	// Clear is the message that clears the agent's conversation, "" for none. The agent does not report the result.
	Clear string
	// Forms means that it asks users questions.
	Forms bool
	// SharesServers means that an MCP server of one conversation serves all in the same folder. Such an agent gets
	// none, because the server could not find the conversation of a call.
	SharesServers bool
	// TrustsFor is the folder of a workspace with settings that apply once the agent trusts it. MCP servers require
	// that trust, so the adapter refuses such a workspace then. "" for an agent that accepts servers in any
	// workspace.
	TrustsFor string
	// SessionMeta is the JSON object for _meta when a conversation opens or loads, "" for none.
	SessionMeta string
	// NoPlan means that it does not report its plan.
	NoPlan bool
	// QuestionTools are tools that clients see as their question.
	QuestionTools []string
	// SessionOptions are the ids of approval options that last exactly for the session. An agent's "always" may last
	// for all sessions of its process, or be stored permanently.
	SessionOptions []string
	// FirstTitle is the title of new conversations, "" for none. Without one, the agent's model would name them, in a
	// conversation with other levels.
	FirstTitle string
	// RejectEndsTurn means that a declined request ends the turn. That may look like a normal end.
	RejectEndsTurn bool
	// ErrorsAsText means that a failed turn ends like a successful one, with the error as text without a message.
	ErrorsAsText bool
	// PolicySays is a regular expression for the output of a call that the agent's own policy refused, "" if
	// undetectable.
	PolicySays string
	// RefusedAs is the tool that the agent runs instead of a refused call, "" for none. Its input has the model's
	// tool and an error.
	RefusedAs string
	// ToolNameInID means that a call's id starts with the tool's name, up to "__".
	ToolNameInID bool
	// History is the agent's file of a conversation, below the home and a folder (*) per working directory. {minute}
	// is its start, {id} the first 8 characters of the agent's id. The agent empties such a file if it loads it in
	// that minute. The file can move to another machine. "" for an agent with other storage.
	History string
	// Implicit is the level of files the agent reads without a request (runtime.ImplicitAll, ...), "" if unknown.
	// Reads are the known ones, with variables of its processes ($NAME, ${NAME:-OTHERWISE}), {settings}, and the
	// folder of the conversation: {cwd}, with its parents {above}, up to the project's root {project}.
	Implicit string
	Reads    []string
	// Preview means that this server was not tested with this agent.
	Preview bool
}

// Gemini returns the profile of Gemini CLI. It treats the workspace as untrusted, so that no settings there can run
// programs or hooks. If the server's tools require trust, the workspace must have no settings. Its own settings are
// system settings, which override the user's if root owns the file.
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
		Login: "set GEMINI_API_KEY, or sign in as the server's user with: gemini", Setting: "GEMINI_BIN",
		KeyMethod: "gemini-api-key", CloudAuth: map[string]string{"vertex": "vertex-ai"},
		PolicySays:     `^Tool execution (for .* )?denied by policy`,
		Modes:          map[string]string{"untrusted": "default", "on-request": "default", "never": "default"},
		AutoApproves:   true,
		SessionOptions: []string{"proceed_always", "proceed_always_tool", "proceed_always_server"},
		Implicit:       runtime.ImplicitHome, Reads: []string{"{settings}", "$HOME/.gemini/settings.json"},
		NoPlan: true, ToolNameInID: true, TrustsFor: ".gemini", History: ".gemini/tmp/*/chats/session-{minute}-{id}.jsonl",
	}
}

// ClaudeBridge returns the profile of Claude Code behind the bridge of the protocol's authors. Runtime claude reports
// more of the same agent.
func ClaudeBridge() Profile {
	return Profile{
		Name: "claude-acp", Title: "Claude Code (ACP bridge)", Command: []string{"claude-agent-acp"},
		Families: []string{"claude"}, Env: []string{"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_TELEMETRY=1",
			"DISABLE_ERROR_REPORTING=1", "DISABLE_AUTOUPDATER=1", "CLAUDE_CODE_DISABLE_TERMINAL_TITLE=1",
			"CLAUDE_CODE_ATTRIBUTION_HEADER=0", "CLAUDE_CODE_MAX_RETRIES=2", "CLAUDE_CODE_ENABLE_TODO_TOOLS=1"},
		Keys: []string{"ANTHROPIC_API_KEY"}, Logins: []string{"$HOME/.claude/.credentials.json"},
		Tested: "0.101.0", Install: "npm install -g @agentclientprotocol/claude-agent-acp@0.101.0",
		Login: "set ANTHROPIC_API_KEY, or sign in with: claude /login", KeyVariable: "ANTHROPIC_API_KEY",
		Modes: map[string]string{"untrusted": "default", "on-request": "default"}, Forms: true,
		QuestionTools: []string{"AskUserQuestion"}, Clear: "/clear",
		// Messages of calls that the policy refused before they ran, without "Cancelled" and "Sibling", which may
		// have started.
		PolicySays:  `^<tool_use_error>([^CS]|C[^a]|S[^i])`,
		SessionMeta: `{"claudeCode":{"emitRawSDKMessages":[{"type":"system","subtype":"api_retry"}]}}`,
		// The bridge applies the settings of the user, the project and the folder.
		Implicit: runtime.ImplicitAll, Reads: []string{"/etc/claude-code/managed-settings.json",
			"/etc/claude-code/managed-mcp.json", "/etc/claude-code/CLAUDE.md", "$HOME/.claude/settings.json",
			"$HOME/.claude.json", "$HOME/.claude/CLAUDE.md", "{cwd}/.claude/settings.json", "{cwd}/.claude/settings.local.json",
			"{above}/.mcp.json", "{above}/CLAUDE.md", "{above}/.claude/CLAUDE.md", "{above}/CLAUDE.local.md"},
	}
}

// CodexBridge returns the profile of codex behind the bridge of the protocol's authors. Runtime codex reports more of
// the same agent.
func CodexBridge() Profile {
	return Profile{
		Name: "codex-acp", Title: "codex (ACP bridge)", Command: []string{"codex-acp"}, Families: []string{"codex"},
		Env:  []string{"NO_BROWSER=1"},
		Keys: []string{"OPENAI_API_KEY", "CODEX_API_KEY"}, Logins: []string{"$HOME/.codex/auth.json"},
		Tested: "2.6.0", Install: "npm install -g @agentclientprotocol/codex-acp@2.6.0",
		Login: "set OPENAI_API_KEY, or sign in with: codex login", KeyMethod: "api-key", KeyMember: "apiKey", StoresKey: true,
		// Its modes are also sandboxes: with these, a user approves anything beyond them.
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

// OpenCode returns the profile of OpenCode's own ACP server. Runtime opencode reports more of the same agent.
func OpenCode() Profile {
	return Profile{
		Name: "opencode-acp", Title: "OpenCode (ACP)", Command: []string{"opencode", "acp"}, Families: []string{"opencode"},
		SharesServers: true,
		Env: []string{
			// A sub-agent's request reaches no client of this protocol, so its turn would wait forever. This disables
			// sub-agents.
			`OPENCODE_PERMISSION={"bash":"ask","edit":"ask","webfetch":"ask","external_directory":"ask","task":"deny"}`,
			"OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_LSP_DOWNLOAD=1", "OPENCODE_DISABLE_DEFAULT_PLUGINS=1",
			"OPENCODE_DISABLE_CLAUDE_CODE=1", "OPENCODE_DISABLE_PROJECT_CONFIG=1", "OPENCODE_DISABLE_EXTERNAL_SKILLS=1",
			"OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_PURE=1"},
		Logins: []string{"$XDG_DATA_HOME/opencode/auth.json", "$HOME/.local/share/opencode/auth.json"},
		Tested: "1.18.33", Install: "npm install -g opencode-ai@1.18.33", Login: "sign in with: opencode auth login",
		Setting: "OPENCODE_BIN", Modes: map[string]string{"untrusted": "build", "on-request": "build"}, NoPlan: true,
		RejectEndsTurn: true, RefusedAs: "invalid", KeyVariable: "OPENCODE_AUTH_CONTENT", KeyByProvider: true,
		Implicit: runtime.ImplicitHome, Reads: []string{"${XDG_CONFIG_HOME:-$HOME/.config}/opencode/config.json",
			"${XDG_CONFIG_HOME:-$HOME/.config}/opencode/opencode.json",
			"${XDG_CONFIG_HOME:-$HOME/.config}/opencode/opencode.jsonc", "${XDG_CONFIG_HOME:-$HOME/.config}/opencode/AGENTS.md"},
	}
}

// Shipped returns the profiles of this package, in display order.
func Shipped() []Profile { return []Profile{Gemini(), ClaudeBridge(), CodexBridge(), OpenCode()} }

// nameIn returns the tool's name at the beginning of a call's id, "" without one.
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

// refused reports whether the agent's policy refused a failed call.
func (p *Profile) refused(output string) bool {
	return p.PolicySays != "" && regexp.MustCompile(p.PolicySays).MatchString(output)
}

// replaces returns the model's tool when an agent has run RefusedAs instead, "" for any other call.
func (p *Profile) replaces(of *tool) string {
	var call struct{ Tool, Error string }
	if p.RefusedAs == "" || of.Kind != "other" || of.Ran != p.RefusedAs || json.Unmarshal(of.Input, &call) != nil || call.Error == "" {
		return ""
	}
	return call.Tool
}

// policies returns the supported approval policies.
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

// modeFor returns the agent's mode for an approval policy, "" to keep the current one. An agent with unknown modes
// may start without approvals, as the Claude bridge does, so the adapter selects the mode with approvals.
func (p *Profile) modeFor(policy string, now settings) string {
	if len(p.Modes) == 0 && policy != "" {
		return now.asks
	}
	return p.Modes[policy]
}

// title returns its display name.
func (p *Profile) title() string { return cmp.Or(p.Title, p.Name) }

// facts returns the facts of the agent, from the profile and its own description. loads means that it can load
// earlier conversations.
func (p *Profile) facts(loads bool) runtime.Facts {
	f := runtime.Facts{State: runtime.StateMemory, Resume: runtime.ResumeReconstruct, Cancellation: runtime.CancelBestEffort,
		Isolation: []string{runtime.IsolationProcess}}
	if loads {
		f.State, f.Resume = runtime.StateDisk, runtime.ResumeNative
	}
	if !p.Preview { // tests saw such an agent ask again
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

// implicit returns the levels that limit the files the agent reads without a request.
func (p *Profile) implicit() []string {
	if p.Implicit == "" {
		return nil
	}
	return []string{p.Implicit}
}
