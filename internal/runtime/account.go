package runtime

import "context"

// AuthState reports whether a runtime would find credentials.
type AuthState string

// The states of a runtime's credentials. AuthFound does not mean that they are valid: the first turn shows that.
const (
	AuthFound   AuthState = "found"
	AuthMissing AuthState = "missing"
	AuthUnknown AuthState = "unknown"
)

// Kinds of credentials, as in AuthStatus.Credentials.
const (
	CredentialAPIKey = "apiKey" // a key in the environment or in the configuration
	CredentialLogin  = "login"  // a stored login
	CredentialCloud  = "cloud"  // the credentials of the cloud that hosts the models (environment.Provider)
)

// AuthStatus describes a runtime's credentials. It never names a secret, an account or a path.
type AuthStatus struct {
	State AuthState `json:"state"`
	// Credentials are the kinds of credentials the adapter found.
	Credentials []string `json:"credentials"`
	// Remedy explains how to log in, with a command to copy; "" when nothing is missing.
	Remedy string `json:"remedy,omitempty"`
}

// Model is a model a runtime offers.
type Model struct {
	// ID is a value for StartThread.Model and StartTurn.Model.
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	// Default marks the model a turn uses if it names none. At most one model has it.
	Default bool `json:"default"`
	// Efforts are the values of StartTurn.Effort for this model, DefaultEffort the default one. Empty if there is no
	// choice.
	Efforts       []string `json:"efforts"`
	DefaultEffort string   `json:"defaultEffort,omitempty"`
	// Images reports whether the model accepts images.
	Images bool `json:"images"`
}

// Installer is an adapter that knows how to install its agent.
type Installer interface {
	// Install explains how to install it.
	Install() Install
}

// Install describes how to install an agent.
type Install struct {
	// Tested are the versions the adapter was tested with, oldest first. From is the oldest supported one.
	Tested []string `json:"tested"`
	From   string   `json:"from,omitempty"`
	// Command installs the agent. Setting is the name of the setting with its path, Page its web site. Each is ""
	// when unknown.
	Command string `json:"command,omitempty"`
	Setting string `json:"setting,omitempty"`
	Page    string `json:"page,omitempty"`
}

// Authenticator is a runtime that supports a login without a local screen.
type Authenticator interface {
	// Login starts a login. The user continues at Login.URL. The runtime detects the end itself, unless the login
	// expects a code.
	Login(ctx context.Context) (Login, error)
}

// LoginFinisher is an Authenticator with logins that end with a code from the user (Login.ExpectsCode).
type LoginFinisher interface {
	// FinishLogin completes a login. It returns ErrInvalidParams for a malformed code and ErrInvalidState without
	// such a login. If the runtime rejects the code, the error has its message.
	FinishLogin(ctx context.Context, id, code string) error
}

// KeyTaker is a runtime that accepts the key of a model provider while it runs (OpKey).
type KeyTaker interface {
	// TakeKey sets the key for all later turns. It returns ErrInvalidParams for an unknown provider and
	// ErrInvalidState while the key cannot change.
	TakeKey(ctx context.Context, key ProviderKey) (TakenKey, error)
}

// ProviderKey is a secret and its provider; "" is the runtime's default or configured provider.
type ProviderKey struct{ Provider, Key string }

// TakenKey is the result of storing a key.
type TakenKey struct {
	// Provider is the provider of the key, "" for a runtime with a single one.
	Provider string
	// Stored reports whether the agent wrote the key to its home. Otherwise the key is in memory only, and every new
	// server process needs it again.
	Stored bool
}

// Login is a login in progress.
type Login struct {
	// ID identifies the login to the runtime. URL is the page to open, Code the code to enter there, "" for none.
	ID   string `json:"id,omitempty"`
	URL  string `json:"url"`
	Code string `json:"code,omitempty"`
	// ExpectsCode reports whether the page ends with a code for LoginFinisher.
	ExpectsCode bool `json:"expectsCode,omitempty"`
}
