// Package config owns the settings of one harness process: which variables exist, the sources of a value, and the
// allowed values.
//
// A value comes from the first source that has one: command-line flag, environment, `.env` in the working directory (if
// the operator consented to it), config file, default. One table (see Variables) describes every variable; flags,
// environment lookup, validation, Print and docs/configuration.md are all derived from it.
//
// The package must never know how a value is used: it opens nothing, listens nowhere and imports no other package.
package config

import (
	"slices"
	"time"
)

// Config is the complete, validated configuration. It is a value: packages copy the few fields they need, and it does
// not change after Load. Field comments name the variable; units are in the type.
type Config struct {
	Host           string   // HOST
	Port           int      // PORT; 0 lets the system choose
	AllowedOrigins []string // HARNESS_ALLOWED_ORIGINS
	AllowedHosts   []string // HARNESS_ALLOWED_HOSTS
	TrustedProxies []string // HARNESS_TRUSTED_PROXIES
	AuthToken      string   // HARNESS_AUTH_TOKEN (secret)
	TrustLocal     bool     // HARNESS_TRUST_LOCAL
	InsecureNoAuth bool     // HARNESS_INSECURE_NO_AUTH
	OIDCFile       string   // HARNESS_OIDC_FILE, absolute after Load; "" disables login by OpenID Connect
	Console        bool     // HARNESS_CONSOLE
	Doors          []string // HARNESS_DOORS; see HasDoor
	ControlAgents  string   // HARNESS_CONTROL_AGENTS: off, read or write
	BasePath       string   // path of HARNESS_PUBLIC_URL; "" is the root
	AllowYolo      bool     // HARNESS_ALLOW_YOLO

	Limits Limits

	LogLevel  string // LOG_LEVEL
	LogFormat string // HARNESS_LOG_FORMAT

	Traces Traces

	DataDir           string        // DATA_DIR, absolute after Load
	DatabaseURL       string        // DATABASE_URL (its password is a secret)
	AdoptNodes        []string      // HARNESS_ADOPT_NODES
	Roles             []string      // HARNESS_ROLES; see Serves and Runs
	NodeGrace         time.Duration // HARNESS_NODE_GRACE_MS
	Node              Node          // address and certificates for other nodes
	Workspaces        string        // HARNESS_WORKSPACES: pinned, WorkspacesShared or WorkspacesGit
	WorkspaceRemote   string        // HARNESS_WORKSPACE_REMOTE
	Checkpoints       string        // HARNESS_CHECKPOINTS: on or off
	SQLiteSynchronous string        // HARNESS_SQLITE_SYNCHRONOUS: FULL or NORMAL
	Archive           string        // HARNESS_ARCHIVE: ArchiveS3, or a folder; "" archives nothing
	Retention         Retention

	RPC                             RPC           // the JSON-RPC API
	RuntimeStatus                   []string      // HARNESS_RUNTIME_STATUS: RUNTIME=STATUS; see RuntimeStatuses
	Runtimes                        []string      // HARNESS_RUNTIMES; nil is codex and the other runtimes that are found
	DefaultRuntime                  string        // HARNESS_DEFAULT_RUNTIME; "" is the first of Runtimes
	CodexBin                        string        // CODEX_BIN
	ClaudeBin                       string        // CLAUDE_BIN
	OpenCodeBin                     string        // OPENCODE_BIN
	RuntimeSandbox, RuntimeApproval []string      // HARNESS_RUNTIME_SANDBOX, HARNESS_RUNTIME_APPROVAL: RUNTIME=LEVEL; see LevelsOf
	CodexHome                       string        // CODEX_HOME, absolute after Load; "" means codex's own default
	OpenAIAPIKey                    string        // OPENAI_API_KEY (secret)
	RuntimeHang                     time.Duration // HARNESS_RUNTIME_HANG_MS; 0 waits forever
	DetachGrace                     time.Duration // HARNESS_DETACH_GRACE_MS; 0 runs runtimes as children
	KeepNative                      string        // HARNESS_KEEP_NATIVE: ring, all or off
	RuntimeConfine                  string        // HARNESS_RUNTIME_CONFINE: auto, required or off
	RuntimeUser                     string        // HARNESS_RUNTIME_USER; "" is the server's own
	Workspace                       string        // HARNESS_WORKSPACE, absolute after Load; "" is the working directory
	KeepRuntimes                    bool          // HARNESS_KEEP_RUNTIMES
	TurnIdle                        time.Duration // HARNESS_TURN_IDLE_TIMEOUT_MS, for all runtimes except codex; 0 waits forever
	RuntimeLimits                   []string      // HARNESS_RUNTIME_LIMITS: NAME=N or RUNTIME.NAME=N; see LimitsOf
	GeminiBin                       string        // GEMINI_BIN
	ACPAgents                       string        // HARNESS_ACP_AGENTS (secret: it may hold keys), JSON; see acp.Configured
	RuntimeEnv                      string        // HARNESS_RUNTIME_ENV: inherit or closed
	RuntimeEnvAllow                 []string      // HARNESS_RUNTIME_ENV_ALLOW: NAME, NAME* or RUNTIME:NAME
	RuntimeCredentials              []string      // HARNESS_RUNTIME_CREDENTIALS: LEVEL or RUNTIME=LEVEL; see CredentialLevel
	CredentialNamespace             string        // HARNESS_CREDENTIAL_NAMESPACE
	CredentialDir                   string        // HARNESS_CREDENTIAL_DIR, absolute after Load; "" is a folder of DataDir

	Tools      Tools
	Tasks      Tasks
	Notify     Notify
	S3         S3
	Defaults   SessionDefaults
	Queue      Queue
	Agent      Agent
	Extensions Extensions

	// Trust consents, for this run, to the present .env and extensions that are processes (HARNESS_TRUST, --trust).
	Trust bool

	limits, retention []string // unparsed
	tools, toolRules  []string // HARNESS_TOOLS, HARNESS_TOOLS_RULES
	s3URL, s3Key      string   // HARNESS_S3_URL, HARNESS_S3_KEY (secret)

	sources map[string]Source
	files   []string
	unknown []string
	notes   []string
}

// Serves reports whether this server answers clients.
func (c *Config) Serves() bool { return slices.Contains(c.Roles, RoleAPI) }

// Runs reports whether this server runs agents and owns their sessions.
func (c *Config) Runs() bool { return slices.Contains(c.Roles, RoleRunner) }

// HasDoor reports whether a protocol for front ends is served.
func (c *Config) HasDoor(name string) bool { return slices.Contains(c.Doors, name) }

// DoorAppServer is the protocol of codex's front ends, as in HARNESS_DOORS, DoorACP the Agent Client Protocol, DoorAGUI
// that of web UIs, DoorMCP control over MCP. doorsNone serves none.
const (
	DoorAppServer = "app-server"
	DoorACP       = "acp"
	DoorAGUI      = "ag-ui"
	DoorMCP       = "mcp"
	doorsNone     = "none"
)

// The roles of HARNESS_ROLES.
const (
	RoleAPI    = "api"
	RoleRunner = "runner"
)

// Node is the port for other servers on the same Postgres, and the certificate presented there.
type Node struct {
	Address string // HARNESS_NODE_ADDRESS; "" means no port
	TLSDir  string // HARNESS_NODE_TLS_DIR, absolute after Load
}

// Limits are the bounds set by HARNESS_LIMITS; 0 is no bound.
type Limits struct {
	HTTPConnections   int
	Streams           int
	StreamsPerAddress int
	RPCRate           int // messages per minute
	Tasks             int
	TasksPerSession   int
	StoreWait         time.Duration
}

// Traces configures whether and where spans are exported; the texts have the formats of OpenTelemetry. They are checked
// only if the export is on: these variables are commonly set for other programs.
type Traces struct {
	On                       bool   // HARNESS_OTEL
	GenAI                    string // HARNESS_TRACES_GENAI
	Endpoint, TracesEndpoint string // OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT (secret)
	Headers                  string // OTEL_EXPORTER_OTLP_HEADERS (secret)
	Protocol                 string // OTEL_EXPORTER_OTLP_PROTOCOL
	ServiceName, Resource    string // OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES
	Sampler, SamplerArg      string // OTEL_TRACES_SAMPLER, OTEL_TRACES_SAMPLER_ARG
}

// RPC configures the JSON-RPC API.
type RPC struct {
	Strict bool // HARNESS_RPC_STRICT
}

// Retention limits the age in days, and the number, of ended items to keep (HARNESS_RETENTION); 0 keeps all.
type Retention struct {
	JournalDays, JournalEvents int
	RecordDays, Records        int
	ArchivedDays, Archived     int
	TurnDays, Turns            int
}

// Tasks configures how tasks run.
type Tasks struct {
	Mode          string // HARNESS_TASKS_MODE
	RuntimeEvents bool   // HARNESS_TASKS_RUNTIME_EVENTS
}

// Notify configures the events of which a person is notified, and the destinations.
type Notify struct {
	PublicURL                 string   // HARNESS_PUBLIC_URL; "" makes no links
	WebhookURL, WebhookSecret string   // HARNESS_NOTIFY_WEBHOOK_URL, _SECRET (secrets)
	NtfyURL                   string   // HARNESS_NOTIFY_NTFY_URL (secret), with its token
	Kinds                     []string // HARNESS_NOTIFY_KINDS
	PushServices              []string // HARNESS_NOTIFY_PUSH_SERVICES
	DecideLinks               bool     // HARNESS_NOTIFY_DECIDE_LINKS
}

// S3 is the object store for long contents of artifacts (HARNESS_S3_*); an Endpoint of "" means none.
type S3 struct {
	Endpoint, Bucket, Prefix, Region string
	AccessKeyID, SecretAccessKey     string // secrets
}

// Tools are the tools of this server that agents get, and their policy (HARNESS_TOOLS_*).
type Tools struct {
	Native      string   // HARNESS_NATIVE_TOOLS: on or off
	Names       []string // HARNESS_TOOLS, without extensions; empty gives agents none
	Runtimes    []string // HARNESS_TOOLS_RUNTIMES; empty means all
	Mode        string   // HARNESS_TOOLS_MODE: ask, auto or yolo
	Allow, Deny []string // HARNESS_TOOLS_RULES: names of tools and classes
	Programs    []string // HARNESS_TOOLS_PROGRAMS
	Commands    string   // HARNESS_TOOLS_COMMANDS (secret: it may hold keys), JSON; see configured.Tools
	Servers     string   // HARNESS_TOOLS_SERVERS (secret: it may hold keys), JSON; see configured.ServerTools
	Extensions  []string // extension:NAME in HARNESS_TOOLS: names of manifests, or *
	Sandbox     string   // HARNESS_TOOLS_SANDBOX: docker, docker:IMAGE or bubblewrap
	Hosts       []string // HARNESS_TOOLS_HOSTS
}

// SessionDefaults are the controls of a new session.
type SessionDefaults struct {
	ApprovalPolicy string // DEFAULT_APPROVAL_POLICY
	SandboxMode    string // DEFAULT_SANDBOX_MODE
	NetworkAccess  string // DEFAULT_NETWORK_ACCESS
	Locked         bool   // SESSION_DEFAULTS_LOCKED
}

// Queue bounds the job queue (ORCHESTRATOR_QUEUE_*, ORCHESTRATOR_SUGGEST_*).
type Queue struct {
	Enabled               bool
	GlobalConcurrency     int
	MaxPerProject         int
	MaxGlobal             int
	MaxAttempts           int
	DefaultTimeout        time.Duration
	BackgroundAging       time.Duration
	MaxInteractiveBurst   int
	SuggestRequestEnabled bool
	SuggestRequestWait    time.Duration
}

// Agent bounds the turns of agent workers (ORCHESTRATOR_AGENT_*).
type Agent struct {
	TurnTimeout            time.Duration
	PollInterval           time.Duration
	IncludeTurnsGrace      time.Duration
	UntrustedTerminalGrace time.Duration
	EmptyTurnGrace         time.Duration
}

// Extensions governs extension discovery, trust and the two lifecycle routes
// (AGENT_EXTENSION_*).
type Extensions struct {
	RBACMode                string
	AllowInsecureHeaderMode bool
	RBACHeaderSecret        string // secret
	RBACJWTSecret           string // secret
	RBACJWTKeys             string // AGENT_EXTENSION_RBAC_JWT_JWKS: file or URL
	RBACJWTIssuer           string
	RBACJWTAudience         string
	RBACJWTRoleClaim        string
	RoleMap                 []string // HARNESS_ROLE_MAP: NAME=ROLE; see RoleTranslations
	RBACJWTActorClaim       string
	RBACJWTRequireExp       bool
	TrustMode               string
	ConfiguredRoots         []string
	PackageRoots            []string
	ProcessAllowed          []string // HARNESS_EXTENSION_PROCESS_ALLOWED: manifest names
	PassEnv                 []string // HARNESS_EXTENSION_PASS_ENV: names of variables
}

// Source is the source of a value.
type Source string

// The sources of a value, strongest first.
const (
	SourceFlag        Source = "flag"
	SourceEnvironment Source = "environment"
	SourceDotenv      Source = ".env"
	SourceFile        Source = "file"
	SourceDefault     Source = "default"
)

// Source returns the source of the named variable's value; SourceDefault for a Config that was not loaded.
func (c *Config) Source(name string) Source {
	if s, ok := c.sources[name]; ok {
		return s
	}
	return SourceDefault
}

// Files returns the absolute paths from which settings are read: the working directory's .env, whether or not it
// exists, and the config file if one is named. They may contain secrets.
func (c *Config) Files() []string { return c.files }

// Unknown returns, in order, the names in the environment and the .env that have the prefix of this program's settings
// but are not settings. They have no effect.
func (c *Config) Unknown() []string { return c.unknown }

// Notes returns the ignored parts of the .env, one sentence each.
func (c *Config) Notes() []string { return c.notes }
