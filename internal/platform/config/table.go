package config

import "slices"

// Variables returns the table of every setting, in the order of the documentation. Variables without the prefix
// HARNESS_ have codex-manager's names, defaults and allowed values (an existing .env works unchanged); the exceptions
// are PORT 0, DATABASE_URL and minimal lengths of secrets.
func Variables() []Variable {
	var all []Variable
	for _, group := range [][]Variable{
		serverVariables(), rpcVariables(), taskVariables(), limitVariables(), logVariables(), traceVariables(),
		storeVariables(), retentionVariables(), runtimeVariables(), sessionVariables(), toolVariables(),
		notifyVariables(), s3Variables(), queueVariables(), agentVariables(), extensionVariables(),
	} {
		all = append(all, group...)
	}
	return all
}

func serverVariables() []Variable {
	return grouped("Server", []Variable{
		{Name: "HOST", Default: "127.0.0.1", Allowed: "an IP address or a host name, without port", check: isHost,
			Doc:   "Address to listen on. Anything but loopback needs HARNESS_AUTH_TOKEN.",
			field: func(c *Config) any { return &c.Host }},
		{Name: "PORT", Default: "3001", Max: 65535,
			Doc:   "TCP port to listen on; 0 lets the system choose a free one.",
			field: func(c *Config) any { return &c.Port }},
		{Name: "HARNESS_AUTH_TOKEN", Secret: true, Min: 24,
			Allowed: "at least 24 printable ASCII characters without spaces (openssl rand -hex 24 makes one)",
			check:   isToken, Doc: "Bearer token that every request must carry but GET /api/health, /api/ready, /readyz and /healthz. " +
				"Unset: the server listens on loopback only, and asks local programs for the owner's token where they are not trusted.",
			field: func(c *Config) any { return &c.AuthToken }},
		{Name: "HARNESS_TRUST_LOCAL", Default: "false",
			Doc: "Let every local program in as an administrator without a token, even if agents can connect to the " +
				"server.",
			field: func(c *Config) any { return &c.TrustLocal }},
		{Name: "HARNESS_INSECURE_NO_AUTH", Default: "false",
			Doc:   "Allow listening off loopback without a token, for a container behind a proxy that authenticates.",
			field: func(c *Config) any { return &c.InsecureNoAuth }},
		{Name: "HARNESS_OIDC_FILE", path: true, check: notEmpty, Allowed: "a file (JSON)",
			Doc: "OpenID Connect providers for people's sign-in and for workloads, as a JSON list: " +
				"[security.md](security.md#login-with-oidc).",
			field: func(c *Config) any { return &c.OIDCFile }},
		{Name: "HARNESS_ALLOWED_ORIGINS", emptySet: true, check: isOrigin,
			Allowed: "a comma-separated list of origins such as https://app.example.com:8443 (no path, no *)",
			Doc: "Browser origins besides our own that may read answers, open the stream and change state. codex-manager's web UI needs " +
				"its own here: http://127.0.0.1:5173,http://localhost:5173. Where no token is needed, pages of a listed origin may do everything.",
			field: func(c *Config) any { return &c.AllowedOrigins }},
		{Name: "HARNESS_ALLOWED_HOSTS", Allowed: "a comma-separated list of host names or host:port (no scheme, no *)",
			check: isHostPort,
			Doc:   "Host headers besides loopback and HOST that are answered, e.g. the public name behind a proxy. Probes are answered on any.",
			field: func(c *Config) any { return &c.AllowedHosts }},
		{Name: "HARNESS_TRUSTED_PROXIES", Allowed: "a comma-separated list of IP addresses or networks such as 10.0.0.0/8",
			check: isNetwork,
			Doc: "Proxies in front that may say in X-Forwarded-Proto or Forwarded (RFC 7239) that the browser talks TLS to them, so that " +
				"pages served here may write. Of several values the first one counts.",
			field: func(c *Config) any { return &c.TrustedProxies }},
		{Name: "HARNESS_CONSOLE", Default: "true",
			Doc:   "Serve the web console to browsers; false leaves the API alone.",
			field: func(c *Config) any { return &c.Console }},
		{Name: "HARNESS_DOORS", Default: DoorAppServer + "," + DoorACP + "," + DoorAGUI + "," + DoorMCP,
			Allowed: "app-server, acp, ag-ui and mcp, separated by a comma, or none",
			check: func(s string) bool {
				return slices.Contains([]string{DoorAppServer, DoorACP, DoorAGUI, DoorMCP, doorsNone}, s)
			},
			Doc: "Protocols of front ends that are served besides the API: app-server for codex's TUI (`codex --remote`), acp for " +
				"clients of the Agent Client Protocol (`/acp`), ag-ui for web UIs (`/agui`), mcp for control over MCP " +
				"(`/mcp/control`), see [front-ends.md](front-ends.md).",
			field: func(c *Config) any { return &c.Doors }},
		{Name: "HARNESS_CONTROL_AGENTS", Default: "off", Enum: []string{"off", "read", "write"},
			Doc: "What an agent may do at `/mcp/control`, an MCP server that it then has, for its session and those it starts: nothing, " +
				"read, or also start and write to sessions. It never decides a request.",
			field: func(c *Config) any { return &c.ControlAgents }},
	})
}

func logVariables() []Variable {
	return grouped("Logging", []Variable{
		{Name: "LOG_LEVEL", Default: "info", Enum: []string{"fatal", "error", "warn", "info", "debug", "trace", "silent"},
			Doc:   "Least severe level that is logged.",
			field: func(c *Config) any { return &c.LogLevel }},
		{Name: "HARNESS_LOG_FORMAT", Default: "auto", Enum: []string{"json", "console", "auto"},
			Doc:   "Form of a log line; auto is console on a terminal and json elsewhere.",
			field: func(c *Config) any { return &c.LogFormat }},
	})
}

func storeVariables() []Variable {
	return grouped("Storage", []Variable{
		{Name: "DATA_DIR", Default: ".data", path: true, check: notEmpty, Allowed: "a folder",
			Doc:   "Folder of the SQLite database and of everything else kept on disk.",
			field: func(c *Config) any { return &c.DataDir }},
		{Name: "DATABASE_URL", Allowed: "postgres://user:password@host:port/name", check: isPostgresURL, show: redactURL,
			Doc:   "Postgres to use in place of SQLite.",
			field: func(c *Config) any { return &c.DatabaseURL }},
		{Name: "HARNESS_ADOPT_NODES", Allowed: "a comma-separated list of node ids (a server's is in its DATA_DIR/node-id)",
			check: notEmpty, Doc: "Dead nodes whose sessions this server takes over at its start. Unset it afterwards.",
			field: func(c *Config) any { return &c.AdoptNodes }},
		{Name: "HARNESS_ROLES", Default: "api,runner", Allowed: "api, runner, or both with a comma",
			check: func(s string) bool { return s == RoleAPI || s == RoleRunner },
			Doc: "What this server does: api serves clients, runner runs agents and owns their sessions. A single role " +
				"needs DATABASE_URL, HARNESS_NODE_ADDRESS and a server with the other role.",
			field: func(c *Config) any { return &c.Roles }},
		{Name: "HARNESS_NODE_GRACE_MS", Default: "60000", Min: 1,
			Doc: "Of several servers on one Postgres: how long after the end of this one's lease (8 s) the others wait before they " +
				"end the turns, requests and jobs it ran.",
			field: func(c *Config) any { return &c.NodeGrace }},
		{Name: "HARNESS_NODE_ADDRESS", Allowed: "host:port", check: isNodeAddress,
			Doc: "Of several servers on one Postgres: where this one takes requests for its sessions from the others (HTTP/2, mutual " +
				"TLS 1.3), the host as they find it. With it, what another node's agents must do may be asked of this one, too.",
			field: func(c *Config) any { return &c.Node.Address }},
		{Name: "HARNESS_NODE_TLS_DIR", path: true, check: notEmpty, Allowed: "a folder with tls.crt, tls.key and ca.crt (PEM)",
			Doc: "Certificate that this node shows other nodes, its key (ECDSA P-256 or P-384, Ed25519, or RSA), and the certificates " +
				"that must have signed that of every node; all nodes need it then. Without it the node makes a certificate at each start, " +
				"and the others know it by the database.",
			field: func(c *Config) any { return &c.Node.TLSDir }},
		{Name: "HARNESS_WORKSPACES", Default: "pinned", Enum: []string{"pinned", WorkspacesShared, WorkspacesGit},
			Doc: "Of several servers on one Postgres: whether idle sessions of a node that died go on at others. shared: their folders " +
				"are the same ones at the same paths; the node marks them (.harness-workspace). git: their folders are pushed to " +
				"HARNESS_WORKSPACE_REMOTE after each turn and made at the other node. What agents remember is kept in the database.",
			field: func(c *Config) any { return &c.Workspaces }},
		{Name: "HARNESS_WORKSPACE_REMOTE", Secret: true, Allowed: "an absolute path, user@host:path or a URL without a password", check: isRemote,
			Doc: "Of HARNESS_WORKSPACES=git: the git repository that folders of sessions are pushed to, below refs/harness/, and nothing " +
				"else is. The server's user must be able to push there without being asked.",
			field: func(c *Config) any { return &c.WorkspaceRemote }},
		{Name: "HARNESS_CHECKPOINTS", Default: "on", Enum: []string{"on", "off"},
			Doc: "Whether the folder of a session is read before and after each turn, so that its changes can be shown. The states are " +
				"kept in DATA_DIR/shadows (up to 1 GiB at a time, never below 1 GiB of free disk). Needs git.",
			field: func(c *Config) any { return &c.Checkpoints }},
		{Name: "HARNESS_SQLITE_SYNCHRONOUS", Default: "FULL", Enum: []string{"FULL", "NORMAL"},
			Doc:   "SQLite durability: FULL survives power loss, NORMAL only the death of the process.",
			field: func(c *Config) any { return &c.SQLiteSynchronous }},
		{Name: "HARNESS_ARCHIVE", Allowed: "s3 (HARNESS_S3_URL says where), or an absolute path of a folder", check: isArchive,
			Doc: "Where events of the journal are archived before they are pruned, as compressed JSON lines. Unset: no " +
				"archive.",
			field: func(c *Config) any { return &c.Archive }},
	})
}

func sessionVariables() []Variable {
	return grouped("Session defaults", append(sessionDefaults(), runtimeLevelVariables()...))
}

func sessionDefaults() []Variable {
	return []Variable{
		{Name: "DEFAULT_APPROVAL_POLICY", Default: "untrusted",
			Enum: approvalPolicies(), Doc: "Approval policy of a new session.",
			field: func(c *Config) any { return &c.Defaults.ApprovalPolicy }},
		{Name: "DEFAULT_SANDBOX_MODE", Default: "read-only",
			Enum: sandboxModes(), Doc: "File-system sandbox of a new session.",
			field: func(c *Config) any { return &c.Defaults.SandboxMode }},
		{Name: "DEFAULT_NETWORK_ACCESS", Default: "restricted", Enum: []string{"restricted", "enabled"},
			Doc:   "Network access of a new session.",
			field: func(c *Config) any { return &c.Defaults.NetworkAccess }},
		{Name: "SESSION_DEFAULTS_LOCKED", Default: "false",
			Doc:   "Refuse changes of the defaults over the API (423).",
			field: func(c *Config) any { return &c.Defaults.Locked }},
	}
}

// grouped sets the heading of every variable in one group.
func grouped(name string, vars []Variable) []Variable {
	for i := range vars {
		vars[i].Group = name
	}
	return vars
}
