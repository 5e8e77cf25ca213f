package operations

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"harness/internal/runtime"
	"harness/internal/runtime/environment"
	"harness/internal/services/session"
)

// Runtimes has the methods of runtimes that the operations need. *session.Service implements it.
type Runtimes interface {
	// Runtimes returns the names of all runtimes, the default first.
	Runtimes() []string
	// Chosen returns a runtime by name, the default for "". *session.UnknownRuntimeError.
	Chosen(name string) (runtime.Adapter, error)
	// Load returns the current load of a runtime.
	Load(name string) session.Load
}

// RuntimeAdmin lists the runtimes and logs them in.
type RuntimeAdmin struct {
	access    *Access
	runtimes  Runtimes
	statuses  map[string]RuntimeStatus
	providers func(name string) []environment.ProviderStatus
	absent    func() []AbsentAgent
}

// Runtime describes one of the server's runtimes.
type Runtime struct {
	Name    string
	Default bool
	// Offered is as in RuntimeState.
	Offered      RuntimeStatus
	Status       runtime.Status
	Capabilities runtime.Capabilities
	Auth         runtime.AuthStatus
	// Install is nil if the adapter cannot describe its installation. Logins are the ways to log in through this
	// server.
	Install *runtime.Install
	Logins  []string
	Load    session.Load
	// Providers are the clouds that can serve its models.
	Providers []environment.ProviderStatus
}

// Ways to log in, as in Runtime.Logins: on a provider's page (Login), and with a key (TakeKey).
const (
	LoginPage = "page"
	LoginKey  = "key"
)

// Runtimes returns this server's runtimes, the default first.
func (s *RuntimeAdmin) Runtimes(ctx context.Context) ([]Runtime, error) {
	all := []Runtime{}
	for _, name := range s.runtimeNames() {
		one, err := s.Runtime(ctx, name)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

// Runtime returns one of them, the default for "". *session.UnknownRuntimeError.
func (s *RuntimeAdmin) Runtime(ctx context.Context, name string) (Runtime, error) {
	adapter, err := s.chosen(name)
	if err != nil {
		return Runtime{}, err
	}
	auth, err := adapter.Auth(ctx)
	if err != nil {
		return Runtime{}, err
	}
	one := Runtime{Name: adapter.Name(), Default: adapter.Name() == s.DefaultRuntime(), Status: adapter.Status(),
		Capabilities: runtime.CapabilitiesOf(adapter), Auth: auth, Load: s.runtimes.Load(adapter.Name())}
	if s.providers != nil {
		one.Providers = s.providers(one.Name)
	}
	one.Offered, _ = s.offered(one.Name, one.Status)
	if installer, ok := adapter.(runtime.Installer); ok {
		install := installer.Install()
		one.Install = &install
	}
	if _, can := runtime.Has[runtime.Authenticator](adapter, runtime.OpLogin); can {
		one.Logins = append(one.Logins, LoginPage)
	}
	if _, can := runtime.Has[runtime.KeyTaker](adapter, runtime.OpKey); can {
		one.Logins = append(one.Logins, LoginKey)
	}
	return one, nil
}

// DefaultRuntime returns the name of the runtime of new sessions, "" on a server without any.
func (s *RuntimeAdmin) DefaultRuntime() string {
	if names := s.runtimeNames(); len(names) > 0 {
		return names[0]
	}
	return ""
}

// Models returns the models of a runtime, the default for "". *session.UnknownRuntimeError, *DisabledRuntimeError.
func (s *RuntimeAdmin) Models(ctx context.Context, name string) ([]runtime.Model, error) {
	adapter, err := s.usable(name)
	if err != nil {
		return nil, err
	}
	return adapter.Models(ctx)
}

// Login starts a login of a runtime. *session.UnknownRuntimeError, *runtime.UnsupportedError.
func (s *RuntimeAdmin) Login(ctx context.Context, name string) (runtime.Login, error) {
	adapter, err := s.usable(name)
	if err != nil {
		return runtime.Login{}, err
	}
	authenticator, can := runtime.Has[runtime.Authenticator](adapter, runtime.OpLogin)
	if !can {
		if _, takes := runtime.Has[runtime.KeyTaker](adapter, runtime.OpKey); takes {
			return runtime.Login{}, &runtime.UnsupportedError{Runtime: adapter.Name(), Operation: runtime.OpLogin,
				Remedy: `it has no page for that; send the key of its model provider as {"apiKey": "..."}`}
		}
		return runtime.Login{}, s.cannotLogIn(ctx, adapter, runtime.OpLogin)
	}
	return authenticator.Login(ctx)
}

// FinishLogin completes a login of a runtime with the code from its page. *session.UnknownRuntimeError,
// *runtime.UnsupportedError, and errors of runtime.LoginFinisher.
func (s *RuntimeAdmin) FinishLogin(ctx context.Context, name, id, code string) error {
	adapter, err := s.usable(name)
	if err != nil {
		return err
	}
	finisher, can := runtime.Has[runtime.LoginFinisher](adapter, runtime.OpLogin)
	if !can {
		return &runtime.UnsupportedError{Runtime: adapter.Name(), Operation: runtime.OpLogin,
			Remedy: "none of its logins expects a code"}
	}
	return finisher.FinishLogin(ctx, id, code)
}

// cannotLogIn refuses an unsupported way to log in, and names the supported one.
func (s *RuntimeAdmin) cannotLogIn(ctx context.Context, adapter runtime.Adapter, operation string) error {
	auth, err := adapter.Auth(ctx)
	if err != nil {
		return err
	}
	return &runtime.UnsupportedError{Runtime: adapter.Name(), Operation: operation,
		Remedy: cmp.Or(auth.Remedy, "it already has credentials")}
}

// TakeKey logs in a runtime with the key of a model provider, which is not stored here. *session.UnknownRuntimeError,
// *runtime.UnsupportedError, and errors of runtime.KeyTaker, none of which contains the key.
func (s *RuntimeAdmin) TakeKey(ctx context.Context, name string, key runtime.ProviderKey) (runtime.TakenKey, error) {
	adapter, err := s.usable(name)
	if err != nil {
		return runtime.TakenKey{}, err
	}
	taker, can := runtime.Has[runtime.KeyTaker](adapter, runtime.OpKey)
	if !can {
		return runtime.TakenKey{}, s.cannotLogIn(ctx, adapter, runtime.OpKey)
	}
	if strings.ContainsFunc(key.Key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return runtime.TakenKey{}, &runtime.Error{Runtime: adapter.Name(), Method: runtime.OpLogin,
			Kind: runtime.ErrInvalidParams, Message: "the key has white space or other invalid characters"}
	}
	taken, err := taker.TakeKey(ctx, key)
	var said *runtime.Error
	if errors.As(err, &said) && strings.Contains(said.Message+string(said.Data), key.Key) { // the agent echoed the key
		return taken, &runtime.Error{Runtime: said.Runtime, Method: said.Method, Code: said.Code, Kind: said.Kind,
			Message: strings.ReplaceAll(said.Message, key.Key, "(the key)")}
	}
	return taken, err
}

func (s *RuntimeAdmin) runtimeNames() []string {
	if s.runtimes == nil {
		return nil
	}
	return s.runtimes.Runtimes()
}

// usable is chosen for operations that call or start the runtime: *DisabledRuntimeError.
func (s *RuntimeAdmin) usable(name string) (runtime.Adapter, error) {
	adapter, err := s.chosen(name)
	if err == nil {
		err = s.access.CheckEnabled(adapter.Name())
	}
	return adapter, err
}

func (s *RuntimeAdmin) chosen(name string) (runtime.Adapter, error) {
	if s.runtimes == nil {
		return nil, &session.UnknownRuntimeError{Runtime: name}
	}
	return s.runtimes.Chosen(name)
}
