package admin

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"harness/api/rest"
	"harness/api/schema"
	"harness/internal/lib/javascript"
	"harness/internal/platform/auth/logins"
	"harness/internal/platform/auth/oidc"
	"harness/internal/platform/telemetry"
)

// OIDC holds the login providers and the store of their logins.
type OIDC struct {
	Providers *oidc.Set
	Kept      *logins.Service
}

const (
	oneProvider = "/api/login/oidc/:provider"
	// cookieSeconds is how long a browser stores the login cookie. The login may end earlier.
	cookieSeconds = 12 * 60 * 60
)

var deviceBody = schema.Struct(rest.Required("deviceCode", schema.Text{}.Trim().Min(1).Max(4096)))

// oidcRoutes log in people through OpenID Connect providers.
func (s *loginAPI) oidcRoutes() []rest.Route {
	routes := []rest.Route{
		{Method: http.MethodGet, Path: "/api/login/methods", Handle: s.loginMethods},
		{Method: http.MethodGet, Path: oneProvider, Raw: http.HandlerFunc(s.beginLogin)},
		{Method: http.MethodGet, Path: oneProvider + "/callback", Raw: http.HandlerFunc(s.finishLogin)},
		{Method: http.MethodPost, Path: oneProvider + "/backchannel-logout", Raw: http.HandlerFunc(s.endLogins)},
		{Method: http.MethodPost, Path: oneProvider + "/device", Handle: s.beginDevice},
		{Method: http.MethodPost, Path: oneProvider + "/device/token", Body: deviceBody, Handle: s.finishDevice},
	}
	for i := range routes {
		routes[i].Access = rest.AccessAnybody
		if s.logins == nil || s.oidc.Providers == nil && i > 0 {
			routes[i].Raw = http.HandlerFunc(rest.NotFound)
		}
	}
	return append(routes, rest.Route{Method: http.MethodGet, Path: "/api/people", Handle: s.listPeople})
}

// listPeople returns the names of actors who logged in at providers.
func (s *loginAPI) listPeople(ctx context.Context, _ *rest.Input) (rest.Reply, error) {
	people := []logins.Person{}
	if s.oidc.Kept != nil {
		found, err := s.oidc.Kept.People(ctx)
		if err != nil {
			return rest.Reply{}, err
		}
		people = append(people, found...)
	}
	return rest.OK(rest.List[logins.Person]{Data: people})
}

// loginMethod is a login provider.
type loginMethod struct {
	Name string `json:"name"`
	// URL is the login path for a browser, relative to the API's root.
	URL string `json:"url"`
}

func (s *loginAPI) loginMethods(context.Context, *rest.Input) (rest.Reply, error) {
	methods := []loginMethod{}
	if s.oidc.Providers != nil {
		for _, name := range s.oidc.Providers.Logins() {
			methods = append(methods, loginMethod{name, "/api/login/oidc/" + name})
		}
	}
	return rest.OK(struct {
		Status    string        `json:"status"`
		Token     bool          `json:"token"`
		Providers []loginMethod `json:"providers"`
	}{"ok", true, methods})
}

// providerOf returns the provider in the path.
func providerOf(r *http.Request) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/api/login/oidc/"), "/")
	return name
}

func (s *loginAPI) callback(r *http.Request, provider string) string {
	return s.logins.Address(r) + "/api/login/oidc/" + provider + "/callback"
}

// beginLogin redirects a browser to its provider.
func (s *loginAPI) beginLogin(w http.ResponseWriter, r *http.Request) {
	provider := providerOf(r)
	at, flow, err := s.oidc.Providers.Begin(r.Context(), provider, s.callback(r, provider))
	if err != nil {
		s.loginPage(w, r, err)
		return
	}
	kept, err := json.Marshal(flow)
	if err != nil {
		s.loginPage(w, r, err)
		return
	}
	http.SetCookie(w, s.logins.Leave(r, string(kept)))
	w.Header().Set("Cache-Control", "no-store")
	http.Redirect(w, r, at, http.StatusSeeOther)
}

// finishLogin completes the login of a browser that returns from its provider. It redirects only to the console.
func (s *loginAPI) finishLogin(w http.ResponseWriter, r *http.Request) {
	provider := providerOf(r)
	kept, gone := s.logins.Back(r)
	http.SetCookie(w, gone)
	var flow oidc.Flow
	if kept != "" && json.Unmarshal([]byte(kept), &flow) != nil {
		flow = oidc.Flow{}
	}
	who, err := s.oidc.Providers.Finish(r.Context(), provider, s.callback(r, provider), flow, r.URL.Query())
	if err != nil {
		s.loginPage(w, r, err)
		return
	}
	_, secret, err := s.oidc.Kept.Begin(r.Context(), who)
	if err != nil {
		s.loginPage(w, r, err)
		return
	}
	http.SetCookie(w, s.logins.Keep(r, secret, cookieSeconds))
	w.Header().Set("Cache-Control", "no-store")
	http.Redirect(w, r, s.logins.Home(), http.StatusSeeOther)
}

// endLogins ends logins that the provider reports as ended (OpenID Connect Back-Channel Logout 1.0, sections 2.5 to
// 2.8).
func (s *loginAPI) endLogins(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	r.Body = http.MaxBytesReader(w, r.Body, maxLogoutToken)
	provider := providerOf(r)
	subject, session, err := s.oidc.Providers.LoggedOut(r.Context(), provider, r.PostFormValue("logout_token"))
	if err == nil {
		var ended int
		if ended, err = s.oidc.Kept.EndAt(r.Context(), provider, subject, session); err == nil {
			telemetry.Log(r.Context()).Info().Str("provider", provider).Int("logins", ended).Msg("logins ended by their provider")
			w.WriteHeader(http.StatusOK)
			return
		}
	}
	telemetry.Log(r.Context()).Warn().Err(err).Str("provider", provider).Msg("refused a provider's request to end logins")
	answer := struct {
		Error       string `json:"error"`
		Description string `json:"error_description"`
	}{"invalid_request", err.Error()}
	status := http.StatusBadRequest
	if refused := new(oidc.RefusedError); !errors.As(err, &refused) {
		answer.Error, status = "temporarily_unavailable", s.failureOf(err).Status
	}
	rest.WriteJSON(r.Context(), w, status, answer)
}

// maxLogoutToken bounds the body of a back-channel logout, in bytes.
const maxLogoutToken = 64 << 10

func (s *loginAPI) beginDevice(ctx context.Context, in *rest.Input) (rest.Reply, error) {
	device, err := s.oidc.Providers.BeginDevice(ctx, in.Params["provider"])
	if err != nil {
		return rest.Reply{}, s.loginRefused(ctx, err)
	}
	return rest.OK(struct {
		Status      string `json:"status"`
		DeviceCode  string `json:"deviceCode"`
		UserCode    string `json:"userCode"`
		URL         string `json:"verificationUri"`
		CompleteURL string `json:"verificationUriComplete,omitempty"`
		Interval    int64  `json:"interval"`
		ExpiresIn   int64  `json:"expiresIn"`
	}{"ok", device.Code, device.UserCode, device.URL, device.CompleteURL, device.Interval, device.ExpiresIn})
}

func (s *loginAPI) finishDevice(ctx context.Context, in *rest.Input) (rest.Reply, error) {
	who, err := s.oidc.Providers.FinishDevice(ctx, in.Params["provider"], in.Body.Get("deviceCode").Text())
	if errors.Is(err, oidc.ErrPending) || errors.Is(err, oidc.ErrSlowDown) {
		return rest.Reply{Status: http.StatusAccepted, Body: struct {
			Status   string `json:"status"`
			SlowDown bool   `json:"slowDown"`
		}{"pending", errors.Is(err, oidc.ErrSlowDown)}}, nil
	}
	if err != nil {
		return rest.Reply{}, s.loginRefused(ctx, err)
	}
	login, secret, err := s.oidc.Kept.Begin(ctx, who)
	if err != nil {
		return rest.Reply{}, err
	}
	return rest.OK(struct {
		Status    string `json:"status"`
		Secret    string `json:"secret"`
		Actor     string `json:"actor"`
		Name      string `json:"name"`
		Role      string `json:"role"`
		ExpiresAt string `json:"expiresAt"`
	}{"ok", secret, login.Actor, login.Name, login.Role.Word(), javascript.ISOTime(login.ExpiresAt)})
}
