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
	// Providers are the clouds in which it can reach its models, with the names of what each needs.
	Providers []environment.ProviderStatus `json:"providers,omitempty"`
}

// limitsView is what a runtime has to do now, and the most it may have; 0 is no bound.
type limitsView struct {
	Turns              int `json:"turns"`
	MaxTurns           int `json:"maxTurns"`
	Messages           int `json:"messages"`
	MaxMessages        int `json:"maxMessages"`
	MaxSessionMessages int `json:"maxSessionMessages"`
	// Waiting are the messages that wait for a turn of another session to end.
	Waiting int `json:"waiting"`
}

type authView struct {
	runtime.AuthStatus
	// Login says that POST .../login works, Logins in which ways.
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

// getRuntime also lists the models; when the runtime cannot be asked for them, it says why.
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

// loginBody with a code ends a login, with a key it is one; with neither, a login is begun.
var loginBody = schema.Optional(schema.Struct(rest.Optional("id", rest.Name),
	rest.Optional("code", schema.Text{}.Min(1).Max(4096)), rest.Optional("apiKey", schema.Text{}.Trim().Min(1).Max(4096)),
	rest.Optional("provider", rest.Name)))

func (s *server) loginRuntime(ctx context.Context, in *rest.Input) (rest.Reply, error) {
	name := in.Params["runtime"]
	if code := in.Body.Get("code"); code.Defined() {
		if in.Body.Get("apiKey").Defined() {
			return rest.Reply{}, &rest.ValidationError{Issues: []schema.Issue{schema.Custom(
				"a login is with the code of a page or with a key; send one of them", "apiKey")}}
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
			"a provider is that of a key: send its apiKey, too", "provider")}}
	}
	login, err := s.Operations.Login(ctx, name)
	if err != nil {
		return rest.Reply{}, missing(err)
	}
	return rest.OK(login)
}

// missingRuntimeError is an unknown runtime that a path names.
type missingRuntimeError struct{ *session.UnknownRuntimeError }

// missing makes an unknown runtime one that is not found.
func missing(err error) error {
	var unknown *session.UnknownRuntimeError
	if errors.As(err, &unknown) {
		return &missingRuntimeError{unknown}
	}
	return err
}
