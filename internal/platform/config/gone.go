package config

import (
	"errors"
	"strings"

	"github.com/spf13/pflag"
)

// gone is a name that was a setting in the previous version, with its replacement.
type gone struct{ name, instead string }

// goneVariables are refused for one version: silently ignoring a value would change what a server does.
func goneVariables() []gone {
	all := []gone{
		{"HARNESS_ACP_MCP", "unset it: MCP servers of a client are never given to an agent, and the session says so"},
		{"HARNESS_SHUTDOWN_TIMEOUT_MS", "unset it: it is always 10 s"},
		{"HARNESS_RPC_PATHS", "unset it: JSON-RPC is always served on /rpc and /ws"},
		{"HARNESS_RUNTIME_CALL_TIMEOUT_MS", "unset it: it is always 2 minutes"},
		{"HARNESS_RUNTIME_IDLE_MS", "unset it: it is always 10 minutes"},
		{"HARNESS_RUNTIME_UNLOAD_MS", "unset it: it is always 30 minutes"},
		{"HARNESS_SPOOL_BYTES", "unset it: it is always 1 GiB"},
		{"ORCHESTRATOR_AGENT_MAX_SESSION_TURNS", "unset it: it is always 200"},
		{"HARNESS_NOTIFY_AFTER_MS", "unset it: requests are notified at once"},
		{"HARNESS_NOTIFY_PUSH_CONTACT", "set HARNESS_PUBLIC_URL to an https URL"},
		{"HARNESS_S3_FROM_BYTES", "unset it: it is always 1 MiB"},
		{"HARNESS_S3_ENDPOINT", "set HARNESS_S3_URL=ENDPOINT/BUCKET/PREFIX"},
		{"HARNESS_S3_BUCKET", "set HARNESS_S3_URL=ENDPOINT/BUCKET/PREFIX"},
		{"HARNESS_S3_PREFIX", "set HARNESS_S3_URL=ENDPOINT/BUCKET/PREFIX"},
		{"HARNESS_S3_REGION", "set HARNESS_S3_URL=ENDPOINT/BUCKET/PREFIX?region=REGION"},
		{"HARNESS_S3_ACCESS_KEY_ID", "set HARNESS_S3_KEY=ID:SECRET"},
		{"HARNESS_S3_SECRET_ACCESS_KEY", "set HARNESS_S3_KEY=ID:SECRET"},
		{"HARNESS_NOTIFY_NTFY_TOKEN", "set HARNESS_NOTIFY_NTFY_URL=https://:TOKEN@HOST/TOPIC"},
		{"HARNESS_TOOLS_IMAGE", "set HARNESS_TOOLS_SANDBOX=docker:IMAGE"},
		{"HARNESS_TOOLS_EXTENSIONS", "set HARNESS_TOOLS=extension:NAME"},
		{"HARNESS_TOOLS_ALLOW", "set HARNESS_TOOLS_RULES=NAME=allow"},
		{"HARNESS_TOOLS_DENY", "set HARNESS_TOOLS_RULES=NAME=deny"},
		{"HARNESS_RUNTIME_DETACH", "set HARNESS_DETACH_GRACE_MS=0 in place of false, and unset it else"},
		{"HARNESS_RUNTIME_RECYCLE_MB", "set HARNESS_RUNTIME_LIMITS=memory-mb=N"},
		{"HARNESS_RUNTIME_START_TIMEOUT_MS", "set HARNESS_RUNTIME_LIMITS=start-ms=N"},
		{"HARNESS_BASE_PATH", "set HARNESS_PUBLIC_URL with this path"},
		{"HARNESS_NODE_CERT_FILE", "set HARNESS_NODE_TLS_DIR to a folder with tls.crt, tls.key and ca.crt"},
		{"HARNESS_NODE_KEY_FILE", "set HARNESS_NODE_TLS_DIR to a folder with tls.crt, tls.key and ca.crt"},
		{"HARNESS_NODE_CA_FILE", "set HARNESS_NODE_TLS_DIR to a folder with tls.crt, tls.key and ca.crt"},
		{"HARNESS_RUNTIME_MAX_TURNS", "set HARNESS_RUNTIME_LIMITS=turns=N, or RUNTIME.turns=N for one runtime"},
		{"HARNESS_RUNTIME_MAX_MESSAGES", "set HARNESS_RUNTIME_LIMITS=messages=N, or RUNTIME.messages=N for one runtime"},
		{"HARNESS_SESSION_MAX_MESSAGES", "set HARNESS_RUNTIME_LIMITS=session-messages=N"},
		{"HARNESS_RUNTIME_MAX_PROCESSES", "set HARNESS_RUNTIME_LIMITS=processes=N"},
		{"HARNESS_HTTP_MAX_CONNECTIONS", "set HARNESS_LIMITS=connections=N"},
		{"HARNESS_WS_MAX_CONNECTIONS", "set HARNESS_LIMITS=streams=N"},
		{"HARNESS_WS_MAX_PER_ADDRESS", "set HARNESS_LIMITS=streams-per-address=N"},
		{"HARNESS_RPC_RATE", "set HARNESS_LIMITS=rpc-rate=N"},
		{"HARNESS_TASKS_MAX", "set HARNESS_LIMITS=tasks=N"},
		{"HARNESS_TASKS_MAX_PER_SESSION", "set HARNESS_LIMITS=tasks-per-session=N"},
		{"HARNESS_STORE_WAIT_MS", "set HARNESS_LIMITS=store-wait-ms=N"},
		{"HARNESS_JOURNAL_KEEP_DAYS", "set HARNESS_RETENTION=journal-days=N"},
		{"HARNESS_JOURNAL_KEEP_EVENTS", "set HARNESS_RETENTION=journal-events=N"},
		{"HARNESS_RECORDS_KEEP_DAYS", "set HARNESS_RETENTION=records-days=N"},
		{"HARNESS_RECORDS_KEEP", "set HARNESS_RETENTION=records=N"},
		{"HARNESS_ARCHIVED_KEEP_DAYS", "set HARNESS_RETENTION=archived-days=N"},
		{"HARNESS_ARCHIVED_KEEP", "set HARNESS_RETENTION=archived=N"},
		{"HARNESS_TURNS_KEEP_DAYS", "set HARNESS_RETENTION=turns-days=N"},
		{"HARNESS_TURNS_KEEP", "set HARNESS_RETENTION=turns=N"},
	}
	for _, runtime := range leveledRuntimes() {
		id := strings.ToUpper(strings.ReplaceAll(runtime, "-", "_"))
		all = append(all, gone{"HARNESS_RUNTIME_" + id + "_SANDBOX", "set HARNESS_RUNTIME_SANDBOX=" + runtime + "=LEVEL"},
			gone{"HARNESS_RUNTIME_" + id + "_APPROVAL", "set HARNESS_RUNTIME_APPROVAL=" + runtime + "=LEVEL"})
	}
	return all
}

func findGone(key string) (gone, bool) {
	for _, one := range goneVariables() {
		if one.name == strings.ToUpper(key) {
			return one, true
		}
	}
	return gone{}, false
}

// says returns the refusal without the name.
func (g gone) says() string { return "this setting was removed; " + g.instead }

// refuseGone refuses an environment that sets a former setting. An empty value counts as unset.
func refuseGone(environ []string) error {
	for _, one := range goneVariables() {
		if value, _ := lookup(environ, one.name); value != "" {
			return Usagef("%s (from %s): %s", one.name, SourceEnvironment, one.says())
		}
	}
	return nil
}

// addGoneFlags defines hidden flags for former settings, so that the refusal can name their replacements.
func addGoneFlags(fs *pflag.FlagSet) {
	for _, one := range goneVariables() {
		f := fs.VarPF(goneFlag(one), Variable{Name: one.name}.Flag(), "", one.says())
		f.Hidden, f.NoOptDefVal = true, "true"
	}
}

// goneFlag refuses every value when the command line is parsed.
type goneFlag gone

func (goneFlag) String() string { return "" }

func (f goneFlag) Set(string) error { return errors.New(gone(f).says()) }

func (goneFlag) Type() string { return "string" }
