package runtime

import "context"

// AuthState reports whether a runtime would find credentials.
type AuthState string

// The states of a runtime's credentials. Found ones were not tried: whether its model provider takes them shows in the
// first turn.
const (
	AuthFound   AuthState = "found"
	AuthMissing AuthState = "missing"
	AuthUnknown AuthState = "unknown"
)

// Kinds of credentials, as in AuthStatus.Credentials.
const (
	CredentialAPIKey = "apiKey" // a key in the environment or in the configuration
	CredentialLogin  = "login"  // what a login has left
	CredentialCloud  = "cloud"  // what a cloud needs in which the models are (environment.Provider)
)

// AuthStatus is what is known of a runtime's credentials. It never names a secret, an account or a path.
type AuthStatus struct {
	State AuthState `json:"state"`
	// Credentials are the kinds that were found.
	Credentials []string `json:"credentials"`
	// Remedy says how to log in, with a command to copy; "" when nothing is missing.
	Remedy string `json:"remedy,omitempty"`
}

// Model is a model a runtime offers.
type Model struct {
	// ID is what StartThread.Model and StartTurn.Model take.
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	// Default says that it is taken when none is named; at most one is.
	Default bool `json:"default"`
	// Efforts are what StartTurn.Effort takes with it, DefaultEffort the one taken when none is named; empty when there is
	// no choice.
	Efforts       []string `json:"efforts"`
	DefaultEffort string   `json:"defaultEffort,omitempty"`
	// Images says that it takes images.
	Images bool `json:"images"`
}

// Installer is an adapter that knows which agent it drives and how to get it.
type Installer interface {
	// Install says how to install it.
	Install() Install
}

// Install is how an agent gets onto a machine.
type Install struct {
	// Tested are the versions the adapter was tested with, oldest first, From the oldest it speaks with.
	Tested []string `json:"tested"`
	From   string   `json:"from,omitempty"`
	// Command installs it, Setting names the setting that says where it is, and Page is its own site; "" when unknown.
	Command string `json:"command,omitempty"`
	Setting string `json:"setting,omitempty"`
	Page    string `json:"page,omitempty"`
}

// Authenticator is a runtime with a login that works without a screen of its own.
type Authenticator interface {
	// Login begins one. The person goes on at Login.URL. The runtime notices the end by itself, unless the login expects a
	// code.
	Login(ctx context.Context) (Login, error)
}

// LoginFinisher is an Authenticator whose logins end with a code that the person brings back (Login.ExpectsCode).
type LoginFinisher interface {
	// FinishLogin ends the login of the id. ErrInvalidParams for what is no code, ErrInvalidState when no such login waits
	// for one (any more), and with the runtime's own words when the code was not taken.
	FinishLogin(ctx context.Context, id, code string) error
}

// KeyTaker is a runtime that is given the key of a model provider while it runs (OpKey).
type KeyTaker interface {
	// TakeKey gives it one, for the turns that begin from then on. ErrInvalidParams for a provider it does not know,
	// ErrInvalidState while it cannot change keys.
	TakeKey(ctx context.Context, key ProviderKey) (TakenKey, error)
}

// ProviderKey is a secret, and the provider it is for: "" for the one that the runtime has or is configured with.
type ProviderKey struct{ Provider, Key string }

// TakenKey is the result of storing a key.
type TakenKey struct {
	// Provider is the one it was taken for, "" of a runtime that has one only.
	Provider string
	// Stored says that the agent has written it into its home. Otherwise it is in memory only, and to be given again to
	// another server.
	Stored bool
}

// Login is a login that was begun.
type Login struct {
	// ID names it to the runtime; URL is where the person goes, Code what is to be typed in there, "" for none.
	ID   string `json:"id,omitempty"`
	URL  string `json:"url"`
	Code string `json:"code,omitempty"`
	// ExpectsCode says that the page shows a code in the end, which LoginFinisher takes.
	ExpectsCode bool `json:"expectsCode,omitempty"`
}
