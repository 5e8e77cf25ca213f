package acp

import (
	"cmp"
	"encoding/json"
	"regexp"
	"strings"

	"harness/internal/runtime"
)

// Profile is what to know about an agent beyond its own description. It is data: every peculiarity of an agent is a
// member here.
type Profile struct {
	// Name is the runtime's name, Title its name for people.
	Name, Title string
	// Command is the program, found on the PATH, with its arguments. {tools} stands for the name of the server's tools,
	// or an unguessable text without them.
	Command []string
	// Env are variables of its processes as NAME=value. {settings} stands for the file with Settings. {trust} is true
	// when it gets the server's tools, because it must trust the workspace then.
	Env []string
	// Settings is a JSON file that is written before each start.
	Settings string
	// Families are the runtimes whose provider variables it inherits (environment.Policy.Inherits), none for its own.
	Families []string
	// CloudAuth is the value of {auth} in Settings for each cloud provider (environment.Provider). Otherwise a key
	// selects KeyMethod.
	CloudAuth map[string]string
	// Keys are its variables with credentials.
	Keys []string
	// Logins are the files of a login, with variables of its processes.
	Logins []string
	// Tested is the tested version, Install and Login are the commands for both. Setting names the setting with the path
	// of its program.
	Tested, Install, Login, Setting string
	// KeyMethod is the method of authenticate for a key, "" for none. KeyMember is the key's member there, "" where the
	// value is the key itself. StoresKey says that the agent stores the key in its home.
	KeyMethod, KeyMember string
	StoresKey            bool
	// KeyVariable is the variable with the key of a new process, for an agent that accepts none while it runs; "" for
	// none. KeyByProvider says that its value is an object of keys by provider, as in the files of Logins. Model ids
	// then begin with the provider and a slash.
	KeyVariable   string
	KeyByProvider bool
	// Modes are the agent's modes by approval policy. A policy without one is not offered. Without modes the agent asks
	// when it decides to, which is on-request, in its mode "default" if it has one.
	Modes map[string]string
	// AutoApproves says that this server approves each request under the approval policy never: the agent's mode for
	// that would trust the workspace's own settings.
	AutoApproves bool
	// Clear is the message that clears the agent's conversation, "" for none. The agent does not report the result.
	Clear string
	// Forms says that it asks people questions.
	Forms bool
	// SharesServers says that an MCP server of one conversation serves all in the same folder. Such an agent gets none,
	// because a call's conversation would be unknown.
	SharesServers bool
	// TrustsFor is the folder of a workspace with settings that count once the agent trusts it, which MCP servers
	// require. Such a workspace is refused then. "" for an agent that accepts servers anywhere.
	TrustsFor string
	// SessionMeta is the JSON object for _meta when a conversation is opened or loaded, "" for none.
	SessionMeta string
	// NoPlan says that it does not report its plan.
	NoPlan bool
	// QuestionTools are tools that show as their question.
	QuestionTools []string
	// SessionOptions are the ids of approval options that hold exactly for the session. An agent's "always" may hold for
	// all sessions of its process, or be stored for good.
	SessionOptions []string
	// FirstTitle is the title of new conversations, "" for none. Without one, its model would name them, in a
	// conversation with other levels.
	FirstTitle string
	// RejectEndsTurn says that a declined request ends the turn, which may look as if the agent had finished.
	RejectEndsTurn bool
	// ErrorsAsText says that a failed turn ends like a successful one, with the error as text without a message.
	ErrorsAsText bool
	// PolicySays is a regular expression for the output of a call that the agent's own policy refused, "" if
	// undetectable.
	PolicySays string
	// RefusedAs is the tool that the agent runs instead of a refused call, "" for none: its input has the model's tool
	// and an error.
	RefusedAs string
	// ToolNameInID says that a tool's name is the beginning of its call's id, up to "__".
	ToolNameInID bool
	// History is the agent's file of a conversation, below the home and a folder (*) per working directory. {minute}
	// stands for its start, {id} for the first 8 characters of the agent's id. Such a file is emptied when it is loaded
	// in that minute, and can move to another machine. "" for an agent with another storage.
	History string
	// Implicit is how much the agent reads on its own (runtime.ImplicitAll, ...), "" if unknown. Reads are the known
	// files that it reads, with variables of its processes ($NAME, ${NAME:-OTHERWISE}), {settings}, and the folder of
	// the conversation: {cwd}, with its parents {above}, up to the project's root {project}.
	Implicit string
	Reads    []string
	// Preview says that this server was not tested with this agent.
	Preview bool
}

// Gemini is Gemini CLI. It treats the workspace as untrusted, so that no settings there can run programs or hooks. Where
// the server's tools require trust, the workspace must have no settings. Its own settings are system settings, which
// override the user's if root owns the file.
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

// ClaudeBridge is Claude Code behind the bridge of the protocol's makers. Runtime claude reports more of the same agent.
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
		// Messages of calls that were refused before they ran, without "Cancelled" and "Sibling", which may have begun.
		PolicySays:  `^<tool_use_error>([^CS]|C[^a]|S[^i])`,
		SessionMeta: `{"claudeCode":{"emitRawSDKMessages":[{"type":"system","subtype":"api_retry"}]}}`,
		// The bridge applies the settings of the user, the project and the folder.
		Implicit: runtime.ImplicitAll, Reads: []string{"/etc/claude-code/managed-settings.json",
			"/etc/claude-code/managed-mcp.json", "/etc/claude-code/CLAUDE.md", "$HOME/.claude/settings.json",
			"$HOME/.claude.json", "$HOME/.claude/CLAUDE.md", "{cwd}/.claude/settings.json", "{cwd}/.claude/settings.local.json",
			"{above}/.mcp.json", "{above}/CLAUDE.md", "{above}/.claude/CLAUDE.md", "{above}/CLAUDE.local.md"},
	}
}

// CodexBridge is codex behind the bridge of the protocol's makers. Runtime codex reports more of the same agent.
func CodexBridge() Profile {
	return Profile{
		Name: "codex-acp", Title: "codex (ACP bridge)", Command: []string{"codex-acp"}, Families: []string{"codex"},
		Env:  []string{"NO_BROWSER=1"},
		Keys: []string{"OPENAI_API_KEY", "CODEX_API_KEY"}, Logins: []string{"$HOME/.codex/auth.json"},
		Tested: "2.6.0", Install: "npm install -g @agentclientprotocol/codex-acp@2.6.0",
		Login: "set OPENAI_API_KEY, or log in with: codex login", KeyMethod: "api-key", KeyMember: "apiKey", StoresKey: true,
		// Its modes are also sandboxes: with these, a person approves anything beyond them.
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

// OpenCode is OpenCode's own ACP server. Runtime opencode reports more of the same agent.
func OpenCode() Profile {
	return Profile{
		Name: "opencode-acp", Title: "OpenCode (ACP)", Command: []string{"opencode", "acp"}, Families: []string{"opencode"},
		SharesServers: true,
		Env: []string{
			// A sub-agent's request reaches no client of this protocol, so its turn would wait forever: sub-agents are
			// disabled.
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

// Shipped are the profiles of this package, in display order.
func Shipped() []Profile { return []Profile{Gemini(), ClaudeBridge(), CodexBridge(), OpenCode()} }

// nameIn is the tool's name at the beginning of a call's id, "" without one.
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

// replaces is the model's tool when an agent has run RefusedAs instead, "" for any other call.
func (p *Profile) replaces(of *tool) string {
	var call struct{ Tool, Error string }
	if p.RefusedAs == "" || of.Kind != "other" || of.Ran != p.RefusedAs || json.Unmarshal(of.Input, &call) != nil || call.Error == "" {
		return ""
	}
	return call.Tool
}

// policies are the supported approval policies.
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

// modeFor is the agent's mode for an approval policy, "" to leave the current one. An agent with unknown modes may begin
// without approvals, as the Claude bridge does, so it is switched to the mode with approvals.
func (p *Profile) modeFor(policy string, now settings) string {
	if len(p.Modes) == 0 && policy != "" {
		return now.asks
	}
	return p.Modes[policy]
}

// title is its name for people.
func (p *Profile) title() string { return cmp.Or(p.Title, p.Name) }

// facts are those of the agent, from the profile and its own description; loads says that it loads earlier
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

// implicit are the levels that limit what the agent reads on its own.
func (p *Profile) implicit() []string {
	if p.Implicit == "" {
		return nil
	}
	return []string{p.Implicit}
}
