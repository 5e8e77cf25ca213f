package extensions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
)

// Host loads extensions of one kind: embedded (extensions/js), process (extensions/process) or native (Go modules
// compiled in).
//
// Every host keeps this contract:
//   - Load starts one extension and returns its subscriptions; it ends when ctx ends (the registry sets a deadline).
//     When Load fails, it stops everything it started. Load never touches another extension and may run concurrently
//     with other Loads.
//   - Errors of Load are *LoadError with one of the codes below and the extension's own message where it threw
//     ("boom", not "Error: boom at events.js:3"), as codex-manager's clients expect. Other errors become
//     import_failed.
//   - Many goroutines use a Module at once; it queues calls that it cannot run concurrently.
type Host interface {
	// Kind is the host's name in the listing and in a manifest's runtime.host: "embedded", "process" or "native".
	Kind() string
	// Load starts one extension.
	Load(ctx context.Context, source Source) (Module, error)
}

// Module is one loaded extension, wherever it runs.
type Module interface {
	// Subscriptions are the handlers in registration order; the position in the slice is the number Handle takes. They
	// never change.
	Subscriptions() []Subscription
	// Handle runs one handler and returns its result as JSON (nil for undefined). An error is the one that the handler
	// threw: its text becomes handler_error.error unchanged.
	//
	// It MUST return ctx's error at most 50 ms after ctx ends, whatever the extension does (endless loop, native loop,
	// a child that hangs). It abandons work that it cannot stop and cleans it up in the background, and the next Handle
	// must work. After Handle returned, no call of this invocation may reach tools: the extension rejects late calls
	// with the text LateCall, and tools refuses them, too.
	Handle(ctx context.Context, subscription int, event *Event, tools Tools) (json.RawMessage, error)
	// Health returns the state of the module, without blocking.
	Health() Health
	// Close stops the extension and frees its resources. No Handle runs during Close or later. The registry calls it
	// once.
	Close(ctx context.Context) error
}

// Missing is a name that an extension's code uses and its host lacks.
type Missing struct {
	// Name is a global, a member of one, or a module; Position is file:line:column below the folder of allowed imports.
	Name, Position string
	// Guarded is true if the code first checks whether the name exists, so nothing breaks.
	Guarded bool
	// Remedy describes the problem with Name and how to fix it.
	Remedy string
}

// String returns "position: name remedy".
func (m Missing) String() string { return fmt.Sprintf("%s: %s %s", m.Position, m.Name, m.Remedy) }

// Inspected is a Module whose host analyzed its code.
type Inspected interface {
	// Missing returns the names that the code uses and the host lacks.
	Missing() []Missing
}

// NeedsNodeError is the Reason of a LoadError of the embedded host: the extension names no host and uses names that
// only Node has. The registry then runs it in Node, if the operator allows that.
type NeedsNodeError struct{ Missing []Missing }

// Error implements error.
func (e *NeedsNodeError) Error() string {
	texts := make([]string, len(e.Missing))
	for i, one := range e.Missing {
		texts[i] = one.Name + " (" + one.Position + ")"
	}
	return "it uses " + strings.Join(texts, ", ") + ", which only Node has"
}

// ErrNoNode is the Reason of a LoadError of the process host: this server has no Node.
var ErrNoNode = errors.New("node is not installed on this server")

// ErrNoConsent is the Reason of a LoadError: the extension runs in a process, and the operator did not consent to it.
var ErrNoConsent = errors.New("the operator did not consent to it")

// Subscription is one registration: on(eventType, handler, {priority, timeoutMs}). A host passes on the JavaScript
// values (missing or invalid: zero value and HasPriority false); the registry applies the defaults (priority 100,
// timeout 30 s).
type Subscription struct {
	EventType   string
	Priority    int
	HasPriority bool
	TimeoutMs   int // <= 0: default
}

// Source describes an extension for the host that loads it. Paths are absolute with symbolic links resolved.
type Source struct {
	// ModuleName is the folder's name: the ordering key and the identity in results. Name and Version are the manifest's.
	ModuleName, Name, Version, AgentID string
	// Root is the extension's folder. SourceRoot is the discovery root under which it was found (the same when a root
	// is itself an extension). Entrypoint is the file that exports registerAgentEvents. Imports are confined to Root,
	// or to SourceRoot when Trust is not enforced.
	Root, SourceRoot, Entrypoint string
	Origin                       Origin
	Trust                        TrustMode
	// Runtime is the manifest's choice of a host; zero without a manifest.
	Runtime RuntimeChoice
	// HostCapabilities is capabilities.host: the machine access that a process requests ("fs.read:.",
	// "net:api.example.com", "exec").
	HostCapabilities []string
	// Consent checks that the operator consented to the current content of the extension's folder and of further files.
	// A host that runs a process calls it after it read the code and before each start, and starts nothing if it
	// returns an error. nil: no check is needed.
	Consent func(further []string) error
}

// RuntimeChoice is the host part of a manifest's runtime object; codex-manager ignores these keys, so a manifest
// stays compatible.
type RuntimeChoice struct {
	// Host is "" (embedded, or Node if the code needs it), "embedded", "node" or "process".
	Host string `json:"host,omitempty"`
	// Command is the program and arguments of a process extension, relative to Root; empty with host "node" means the
	// built-in script.
	Command []string `json:"command,omitempty"`
}

// LateCall is the error for a handler that calls a tool after its invocation ended.
const LateCall = "agent handler invocation is no longer active"

// Tools are the calls that a running handler may make. All arguments and results are the extension's JSON. The
// extension's promise is rejected with the error's text. ctx is the invocation's.
//
// In JavaScript: tools.enqueueJob(input) -> Promise<{status,job}>, tools.getSessionSettings(id) -> Promise<object>,
// tools.getSessionSetting(id, key) -> Promise<any> (undefined when there is none),
// tools.logger.{debug,info,warn,error}(fields, message).
type Tools interface {
	// EnqueueJob queues a job: input is {type, projectId, sourceSessionId?, payload}, the result {status,
	// job{id,type,projectId,state}}.
	EnqueueJob(ctx context.Context, input json.RawMessage) (json.RawMessage, error)
	// HasSettings reports whether the two getters exist.
	HasSettings() bool
	// GetSessionSettings returns all settings of a session as one object.
	GetSessionSettings(ctx context.Context, sessionID string) (json.RawMessage, error)
	// GetSessionSetting returns one top-level value, nil if it is not set.
	GetSessionSetting(ctx context.Context, sessionID, key string) (json.RawMessage, error)
	// Log writes one line of the extension's log. level is debug, info, warn or error; fields is any JSON or nil. It never
	// blocks.
	Log(level string, fields json.RawMessage, message string)
}

// Event is the input of handlers: type, payload and, if set, emittedAt and correlationId. It is encoded at most once,
// and only if there is a handler.
type Event struct {
	Type          string
	EmittedAt     string // ISO 8601, "" if not set
	CorrelationID string
	// Payload is one JSON object.
	Payload json.RawMessage

	encodeOnce sync.Once
	encoded    []byte
}

// JSON returns the whole event object for handlers; the slice is shared and must not be changed.
func (e *Event) JSON() []byte {
	e.encodeOnce.Do(func() { e.encoded = encodeEvent(e) })
	return e.encoded
}

// HealthState is the state of a module.
type HealthState string

// The states of a module.
const (
	HealthOK          HealthState = "ok"
	HealthRestarting  HealthState = "restarting"  // its VM or child is being restarted
	HealthQuarantined HealthState = "quarantined" // a VM is stuck in a native loop and was abandoned; a new one serves
	HealthFailed      HealthState = "failed"      // stopped permanently; only a reload restarts it
)

// Health describes the current state of a module.
type Health struct {
	State     HealthState `json:"state"`
	Restarts  int         `json:"restarts"`
	LastError string      `json:"lastError,omitempty"`
}

// LoadCode says why an extension could not be loaded; the codes are codex-manager's.
type LoadCode string

// The codes of a LoadError. A host uses ImportFailed, MissingRegister, RegistrationFailed and, for capabilities.host,
// InvalidManifest; the registry uses the others.
const (
	MissingEntrypoint   LoadCode = "missing_entrypoint"
	InvalidManifest     LoadCode = "invalid_manifest"
	IncompatibleRuntime LoadCode = "incompatible_runtime"
	ImportFailed        LoadCode = "import_failed"
	MissingRegister     LoadCode = "missing_register"
	RegistrationFailed  LoadCode = "registration_failed"
	TrustDenied         LoadCode = "trust_denied"
	AgentIDConflict     LoadCode = "agent_id_conflict"
)

// MissingRegisterText is the message of MissingRegister.
const MissingRegisterText = "module does not export registerAgentEvents"

// LoadError says why one extension could not be loaded.
type LoadError struct {
	// Extension is the manifest's name, or the folder's name without a readable manifest. A host may leave it empty.
	Extension string   `json:"extension"`
	Code      LoadCode `json:"code"`
	Message   string   `json:"message"`
	// Reason lets the registry react: *NeedsNodeError, ErrNoNode or ErrNoConsent, usually nil.
	Reason error `json:"-"`
}

// Unwrap returns Reason.
func (e *LoadError) Unwrap() error { return e.Reason }

// Error implements error.
func (e *LoadError) Error() string {
	return fmt.Sprintf("extension %s: %s: %s", e.Extension, e.Code, e.Message)
}
