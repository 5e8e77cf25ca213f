package api

import (
	"context"
	"errors"
	"net/http"

	"harness/api/rest"
	"harness/api/schema"
	"harness/internal/operations"
	"harness/internal/runtime"
	"harness/internal/runtime/environment"
	"harness/internal/services/session"
)

func (s *server) runtimeRoutes() []rest.Route {
	return []rest.Route{
		{Method: http.MethodGet, Path: "/api/runtimes", OfRuntimes: true, Handle: s.listRuntimes},
		{Method: http.MethodGet, Path: "/api/runtimes/:runtime", OfRuntimes: true, Handle: s.getRuntime},
		{Method: http.MethodGet, Path: "/api/setup", Access: rest.AccessOperator, OfRuntimes: true, Handle: s.getSetup},
		{Method: http.MethodPost, Path: "/api/runtimes/:runtime/login", Access: rest.AccessAdmin, Body: loginBody, Mapped: true,
			Handle: s.loginRuntime},
	}
}

// runtimeView is a runtime in the API.
type runtimeView struct {
	runtimeHealth
	Offered      operations.RuntimeStatus `json:"status"`
	Capabilities runtime.Capabilities     `json:"capabilities"`
	Auth         authView                 `json:"auth"`
	Install      *runtime.Install         `json:"install,omitempty"`
	Limits       limitsView               `json:"limits"`
	// Providers are the clouds that can serve its models, and the names of their requirements.
	Providers []environment.ProviderStatus `json:"providers,omitempty"`
}

// limitsView is the load and the limits of a runtime. 0 means no limit.
type limitsView struct {
	Turns              int `json:"turns"`
	MaxTurns           int `json:"maxTurns"`
	Messages           int `json:"messages"`
	MaxMessages        int `json:"maxMessages"`
	MaxSessionMessages int `json:"maxSessionMessages"`
	// Waiting counts messages that wait until a turn of another session ends.
	Waiting int `json:"waiting"`
}

type authView struct {
	runtime.AuthStatus
	// Login reports whether POST .../login works. Logins lists the supported ways to log in.
	Login  bool     `json:"login"`
	Logins []string `json:"logins"`
}

func viewRuntimeOf(one operations.Runtime) runtimeView {
	position := 1
	if one.Default {
		position = 0
	}
	if one.Auth.Credentials == nil {
		one.Auth.Credentials = []string{}
	}
	if one.Logins == nil {
		one.Logins = []string{}
	}
	view := runtimeView{viewRuntime(RuntimeHealth{one.Name, one.Status}, position), one.Offered, one.Capabilities,
		authView{one.Auth, len(one.Logins) > 0, one.Logins}, one.Install, limitsView{one.Load.Turns, one.Load.Limits.Turns, one.Load.Messages,
			one.Load.Limits.Messages, one.Load.Limits.SessionMessages, one.Load.Waiting}, one.Providers}
	for i := range one.Status.Processes {
		view.Processes[i].SessionID = one.Status.Processes[i].Serves
	}
	return view
}

func (s *server) listRuntimes(ctx context.Context, _ *rest.Input) (rest.Reply, error) {
	all, err := s.Operations.Runtimes(ctx)
	if err != nil {
		return rest.Reply{}, err
	}
	list := rest.List[runtimeView]{Data: []runtimeView{}}
	for _, one := range all {
		list.Data = append(list.Data, viewRuntimeOf(one))
	}
	return rest.OK(list)
}

// getRuntime also lists the models. If it cannot query the runtime, it gives the reason.
func (s *server) getRuntime(ctx context.Context, in *rest.Input) (rest.Reply, error) {
	name := in.Params["runtime"]
	one, err := s.Operations.Runtime(ctx, name)
	if err != nil {
		return rest.Reply{}, missing(err)
	}
	body := struct {
		runtimeView
		Models       []runtime.Model `json:"models"`
		ModelsReason string          `json:"modelsReason,omitempty"`
	}{runtimeView: viewRuntimeOf(one)}
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	if body.Models, err = s.Operations.Models(ctx, name); err != nil {
		body.ModelsReason = err.Error()
	}
	if body.Models == nil {
		body.Models = []runtime.Model{}
	}
	return rest.OK(body)
}

// loginBody has a code, which completes a login, or a key, which logs in directly. With neither, the request starts a
// login.
var loginBody = schema.Optional(schema.Struct(rest.Optional("id", rest.Name),
	rest.Optional("code", schema.Text{}.Min(1).Max(4096)), rest.Optional("apiKey", schema.Text{}.Trim().Min(1).Max(4096)),
	rest.Optional("provider", rest.Name)))

func (s *server) loginRuntime(ctx context.Context, in *rest.Input) (rest.Reply, error) {
	name := in.Params["runtime"]
	if code := in.Body.Get("code"); code.Defined() {
		if in.Body.Get("apiKey").Defined() {
			return rest.Reply{}, &rest.ValidationError{Issues: []schema.Issue{schema.Custom(
				"send either the code of a page or a key", "apiKey")}}
		}
		id := in.Body.Get("id").Text()
		if err := s.Operations.FinishLogin(ctx, name, id, code.Text()); err != nil {
			return rest.Reply{}, missing(err)
		}
		return rest.OK(struct {
			ID        string `json:"id"`
			Completed bool   `json:"completed"`
		}{id, true})
	}
	provider := in.Body.Get("provider")
	if key := in.Body.Get("apiKey"); key.Defined() {
		taken, err := s.Operations.TakeKey(ctx, name, runtime.ProviderKey{Provider: provider.Text(), Key: key.Text()})
		if err != nil {
			return rest.Reply{}, missing(err)
		}
		return rest.OK(struct {
			Completed bool   `json:"completed"`
			Provider  string `json:"provider,omitempty"`
			Stored    bool   `json:"stored"`
		}{true, taken.Provider, taken.Stored})
	}
	if provider.Defined() {
		return rest.Reply{}, &rest.ValidationError{Issues: []schema.Issue{schema.Custom(
			"a provider requires its apiKey: send both", "provider")}}
	}
	login, err := s.Operations.Login(ctx, name)
	if err != nil {
		return rest.Reply{}, missing(err)
	}
	return rest.OK(login)
}

// missingRuntimeError reports an unknown runtime in a path.
type missingRuntimeError struct{ *session.UnknownRuntimeError }

// missing converts an unknown runtime into a 404.
func missing(err error) error {
	var unknown *session.UnknownRuntimeError
	if errors.As(err, &unknown) {
		return &missingRuntimeError{unknown}
	}
	return err
}
