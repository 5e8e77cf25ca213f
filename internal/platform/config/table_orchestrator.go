package config

func queueVariables() []Variable {
	return grouped("Job queue", []Variable{
		{Name: "ORCHESTRATOR_QUEUE_ENABLED", Default: "true",
			Doc:   "Run the job queue; job routes answer 503 when it is off.",
			field: func(c *Config) any { return &c.Queue.Enabled }},
		{Name: "ORCHESTRATOR_QUEUE_GLOBAL_CONCURRENCY", Default: "2", Min: 1,
			Doc:   "Jobs running at once over all projects.",
			field: func(c *Config) any { return &c.Queue.GlobalConcurrency }},
		{Name: "ORCHESTRATOR_QUEUE_MAX_PER_PROJECT", Default: "100", Min: 1,
			Doc:   "Queued and running jobs of one project.",
			field: func(c *Config) any { return &c.Queue.MaxPerProject }},
		{Name: "ORCHESTRATOR_QUEUE_MAX_GLOBAL", Default: "500", Min: 1,
			Doc:   "Queued and running jobs in total.",
			field: func(c *Config) any { return &c.Queue.MaxGlobal }},
		{Name: "ORCHESTRATOR_QUEUE_MAX_ATTEMPTS", Default: "2", Min: 1,
			Doc:   "Attempts at one job before it fails for good.",
			field: func(c *Config) any { return &c.Queue.MaxAttempts }},
		{Name: "ORCHESTRATOR_QUEUE_DEFAULT_TIMEOUT_MS", Default: "60000", Min: 1,
			Doc:   "Timeout of one attempt if its job type has none.",
			field: func(c *Config) any { return &c.Queue.DefaultTimeout }},
		{Name: "ORCHESTRATOR_QUEUE_BACKGROUND_AGING_MS", Default: "15000",
			Doc:   "Age at which a background job may pass interactive ones.",
			field: func(c *Config) any { return &c.Queue.BackgroundAging }},
		{Name: "ORCHESTRATOR_QUEUE_MAX_INTERACTIVE_BURST", Default: "3", Min: 1,
			Doc:   "Interactive jobs in a row before an aged background job gets its turn.",
			field: func(c *Config) any { return &c.Queue.MaxInteractiveBurst }},
		{Name: "ORCHESTRATOR_SUGGEST_REQUEST_ENABLED", Default: "true",
			Doc:   "Offer the suggest_request job type.",
			field: func(c *Config) any { return &c.Queue.SuggestRequestEnabled }},
		{Name: "ORCHESTRATOR_SUGGEST_REQUEST_WAIT_MS", Default: "12000", Min: 1,
			Doc:   "How long a synchronous suggestion waits before it answers 202.",
			field: func(c *Config) any { return &c.Queue.SuggestRequestWait }},
	})
}

func agentVariables() []Variable {
	return grouped("Agent workers", []Variable{
		{Name: "ORCHESTRATOR_AGENT_TURN_TIMEOUT_MS", Default: "180000", Min: 1,
			Doc:   "Time one worker turn may take.",
			field: func(c *Config) any { return &c.Agent.TurnTimeout }},
		{Name: "ORCHESTRATOR_AGENT_POLL_INTERVAL_MS", Default: "350", Min: 1,
			Doc:   "Interval of the fallback poll for a turn's end.",
			field: func(c *Config) any { return &c.Agent.PollInterval }},
		{Name: "ORCHESTRATOR_AGENT_INCLUDE_TURNS_GRACE_MS", Default: "3000", Min: 1,
			Doc:   "Patience while a fresh thread cannot list its turns.",
			field: func(c *Config) any { return &c.Agent.IncludeTurnsGrace }},
		{Name: "ORCHESTRATOR_AGENT_UNTRUSTED_TERMINAL_GRACE_MS", Default: "3000", Min: 1,
			Doc:   "Patience with a terminal state that no notification confirmed.",
			field: func(c *Config) any { return &c.Agent.UntrustedTerminalGrace }},
		{Name: "ORCHESTRATOR_AGENT_EMPTY_TURN_GRACE_MS", Default: "8000", Min: 1,
			Doc:   "Time a running turn may stay without any item.",
			field: func(c *Config) any { return &c.Agent.EmptyTurnGrace }},
	})
}

func extensionVariables() []Variable {
	return grouped("Extensions", []Variable{
		{Name: "AGENT_EXTENSION_RBAC_MODE", Default: "disabled", Enum: []string{"disabled", "header", "jwt"},
			Doc: "Who may list and reload extensions: loopback only, a trusted header, or a verified token (JWT). With " +
				"jwt, such a token is accepted on every other route, too.",
			field: func(c *Config) any { return &c.Extensions.RBACMode }},
		{Name: "AGENT_EXTENSION_ALLOW_INSECURE_HEADER_MODE", Default: "false",
			Doc:   "Allow header mode off loopback or without a shared secret.",
			field: func(c *Config) any { return &c.Extensions.AllowInsecureHeaderMode }},
		{Name: "AGENT_EXTENSION_RBAC_HEADER_SECRET", Secret: true, Min: 8,
			Doc:   "Shared secret that x-codex-rbac-token must carry in header mode.",
			field: func(c *Config) any { return &c.Extensions.RBACHeaderSecret }},
		{Name: "AGENT_EXTENSION_RBAC_JWT_SECRET", Secret: true, Min: 8,
			Doc:   "HMAC key of the tokens in jwt mode.",
			field: func(c *Config) any { return &c.Extensions.RBACJWTSecret }},
		{Name: "AGENT_EXTENSION_RBAC_JWT_JWKS", Allowed: "a file, or an https URL (http on loopback)",
			Doc: "Public keys (JWKS) of tokens signed with RS256 or ES256 in jwt mode. They are read again every 10 minutes and when a " +
				"token names an unknown one; an hour without them, its tokens are refused with 503.",
			field: func(c *Config) any { return &c.Extensions.RBACJWTKeys }},
		{Name: "AGENT_EXTENSION_RBAC_JWT_ISSUER",
			Doc:   "Required iss claim, when set.",
			field: func(c *Config) any { return &c.Extensions.RBACJWTIssuer }},
		{Name: "AGENT_EXTENSION_RBAC_JWT_AUDIENCE",
			Doc:   "Required aud claim, when set.",
			field: func(c *Config) any { return &c.Extensions.RBACJWTAudience }},
		{Name: "AGENT_EXTENSION_RBAC_JWT_ROLE_CLAIM", Default: "role", check: isClaimPath,
			Allowed: "the name of a claim (role, https://example.com/roles) or a path of names with dots (realm_access.roles)",
			Doc: "Claim that holds the role: a text or a list, of which the highest known role counts. A path leads into nested claims; the " +
				"whole is tried as a name first.",
			field: func(c *Config) any { return &c.Extensions.RBACJWTRoleClaim }},
		{Name: roleMap, check: isRoleTranslation,
			Allowed: "a comma-separated list of NAME=ROLE such as engineers=operator, with the roles " + roleWords,
			Doc: "Maps names in the role claim to roles; a mapped name has only its mapped role. Needs " +
				"AGENT_EXTENSION_RBAC_MODE=jwt or HARNESS_OIDC_FILE.",
			field: func(c *Config) any { return &c.Extensions.RoleMap }},
		{Name: "AGENT_EXTENSION_RBAC_JWT_ACTOR_CLAIM", Default: "sub",
			Doc:   "Claim that holds the actor.",
			field: func(c *Config) any { return &c.Extensions.RBACJWTActorClaim }},
		{Name: "AGENT_EXTENSION_RBAC_JWT_REQUIRE_EXP", Default: "false",
			Doc:   "Refuse tokens that never expire (no exp claim): 401 missing_exp_claim.",
			field: func(c *Config) any { return &c.Extensions.RBACJWTRequireExp }},
		{Name: "AGENT_EXTENSION_TRUST_MODE", Default: "warn", Enum: []string{"disabled", "warn", "enforced"},
			Doc:   "What happens when an extension uses something it did not declare.",
			field: func(c *Config) any { return &c.Extensions.TrustMode }},
		{Name: "AGENT_EXTENSION_CONFIGURED_ROOTS", separator: listSeparator, path: true, Allowed: rootsAllowed,
			Doc:   "Folders searched for extensions by configuration.",
			field: func(c *Config) any { return &c.Extensions.ConfiguredRoots }},
		{Name: "AGENT_EXTENSION_PACKAGE_ROOTS", separator: listSeparator, path: true, Allowed: rootsAllowed,
			Doc:   "Folders searched for installed extension packages.",
			field: func(c *Config) any { return &c.Extensions.PackageRoots }},
		{Name: "HARNESS_EXTENSION_PROCESS_ALLOWED",
			Doc:   "Names (as in the manifest) of extensions that may run in their own process in trust mode enforced.",
			field: func(c *Config) any { return &c.Extensions.ProcessAllowed }},
		{Name: "HARNESS_EXTENSION_PASS_ENV",
			Doc:   "Environment variables of the server that process extensions see, besides PATH, HOME, LANG and TZ.",
			field: func(c *Config) any { return &c.Extensions.PassEnv }},
	})
}

// Roots are separated like PATH on Unix; this program does not run on Windows, whose ";" codex-manager also accepts.
const (
	listSeparator = ":"
	rootsAllowed  = `a list of folders separated by ":"`
)
