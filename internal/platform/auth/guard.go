package auth

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
)

const (
	streamPath = "/api/stream"
	toolsPath  = "/mcp"
	loginPath  = "/api/login"
	logoutPath = "/api/logout"
	// methodsPath lists the login methods; the routes below oidcPath handle logins at providers.
	methodsPath = "/api/login/methods"
	oidcPath    = "/api/login/oidc/"
)

// Options are the rules of one server.
type Options struct {
	BoundHost      string   // HOST
	AllowedHosts   []string // HARNESS_ALLOWED_HOSTS
	AllowedOrigins []string // HARNESS_ALLOWED_ORIGINS
	Token          string   // HARNESS_AUTH_TOKEN; "" requires none
	PublicURL      string   // HARNESS_PUBLIC_URL; cookies are Secure if it is https
	// TrustedProxies may report in X-Forwarded-Proto or Forwarded that the browser's connection to them uses TLS
	// (HARNESS_TRUSTED_PROXIES).
	TrustedProxies []netip.Prefix

	// Owner is the token that every server makes for its owner, nil for none.
	Owner Owner

	// TrustLocal reports whether programs on this machine need no token, and if not, why. nil means that they need
	// none.
	TrustLocal func() (trusted bool, why string)

	// Named are the named tokens, nil for none.
	Named Named

	// Signed authenticates signed tokens (JWT); nil disables that.
	Signed *Signed

	// Bearers authenticates workloads by tokens of their issuers; nil disables that.
	Bearers Bearers

	// Brake rate limits guesses of tokens; nil disables that.
	Brake *Brake

	// Open reports whether a further request needs no token; nil means none.
	Open func(r *http.Request) bool

	// Refused, when set, is called with the code of every refusal.
	Refused func(code string)
}

// Guard returns the middleware that every request passes first. It refuses the following, in this order and always
// before a websocket upgrade:
//
//   - a Host that is not ours, except for probes: 403 forbidden_host;
//   - a foreign Origin on a request that changes state, upgrades, or goes to /api/stream: 403 forbidden_origin. Other
//     GETs pass, because only listed origins get CORS headers, and any other page cannot read the answer;
//   - an invalid token while its address is rate limited: 429 too_many_guesses;
//   - if a token is set, a request without that token, the owner's, a named or a signed one: 401 unauthorized. Only
//     health, login and the console's files are open; a new route is closed unless listed here. If no token is set, it
//     refuses requests from this machine where that is not trusted, and requests from other machines once named tokens
//     have existed. It also refuses a caller with an invalid token: a revoked token never gives its holder more rights.
//
// An accepted request carries a Principal in its context. Agents have a separate port (AgentGuard).
func Guard(o Options) func(http.Handler) http.Handler {
	g := &guard{Options: o, token: newTokenCheck(o.Token), allowedHost: o.hostAllowed()}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !g.admitPage(w, r) {
				return
			}
			if r, admitted := g.admitCaller(w, r); admitted {
				next.ServeHTTP(w, withoutQueryToken(r))
			}
		})
	}
}

// guard holds the rules with derived values.
type guard struct {
	Options
	token       tokenCheck
	allowedHost func(string) bool
}

func (g *guard) refuse(w http.ResponseWriter, status int, code, message string) {
	if g.Refused != nil {
		g.Refused(code)
	}
	refuse(w, status, code, message)
}

// admitPage checks the browser's headers about the requesting page. On false it has answered the request.
func (g *guard) admitPage(w http.ResponseWriter, r *http.Request) bool {
	if !isProbe(r) && !g.allowedHost(r.Host) {
		g.refuse(w, http.StatusForbidden, "forbidden_host",
			fmt.Sprintf("host %s is not served here; the operator can add it to HARNESS_ALLOWED_HOSTS", quoted(r.Host)))
		return false
	}
	if allowCORS(w, r, g.AllowedOrigins) {
		return false
	}
	if originMatters(r) && !g.originAllowed(r) {
		g.refuse(w, http.StatusForbidden, "forbidden_origin",
			fmt.Sprintf("origin %s may not do this; the operator can add it to HARNESS_ALLOWED_ORIGINS", quoted(r.Header.Get("Origin"))))
		return false
	}
	return true
}

// admitCaller authenticates the caller. On false it has answered the request.
func (g *guard) admitCaller(w http.ResponseWriter, r *http.Request) (*http.Request, bool) {
	shown := shownTokens(r)
	if cookie, is := g.cookieToken(r); is && len(shown) == 0 {
		shown = []string{cookie}
	}
	open := isOpen(r) || g.Open != nil && g.Open(r)
	braked := len(shown) > 0 && g.Brake.Braked(r)
	found, is, refused := g.holderOf(g.token.unless(braked), shown)
	if !is && !open {
		var refusal *Refusal
		var workload bool
		found, is, workload, refusal = g.signedHolder(r, shown)
		// The extension routes answer refused signed tokens themselves.
		if refusal != nil && (workload || !strings.HasPrefix(r.URL.Path, extensionsPath)) {
			g.refuseSigned(w, r, refusal, braked)
			return nil, false
		}
	}
	if is {
		ctx := r.Context()
		if found.access != nil {
			ctx = WithAccess(ctx, found.access)
		}
		return r.WithContext(WithPrincipal(ctx, found.principal)), true
	}
	principal, closed, why := g.tokenless(r)
	if closed || refused {
		switch {
		case !open && braked:
			g.refuseGuess(w)
			return nil, false
		case !open:
			g.refuseTokenless(w, r, shown, refused, why)
			return nil, false
		}
		principal = Principal{Actor: "anonymous", Role: RoleMember}
	}
	return r.WithContext(WithPrincipal(r.Context(), principal)), true
}

// tokenless returns the principal of a caller without a token, and whether a token is required. why is the reason for
// not trusting this machine.
func (g *guard) tokenless(r *http.Request) (principal Principal, closed bool, why string) {
	local := fromLoopback(r)
	if g.TrustLocal != nil && !g.token.required() {
		if trusted, reason := g.TrustLocal(); !trusted && fromThisMachine(r) {
			return Principal{}, true, reason
		}
	}
	principal = Principal{Actor: "local", Role: RoleAdmin}
	if !local {
		principal.Actor = "remote" // only with HARNESS_INSECURE_NO_AUTH: the proxy in front authenticates
	}
	return principal, g.token.required() || g.Named != nil && !local && g.Named.Any(), ""
}

func (g *guard) refuseTokenless(w http.ResponseWriter, r *http.Request, shown []string, refused bool, why string) {
	if len(shown) > 0 {
		g.Brake.Wrong(r)
	}
	w.Header().Set("WWW-Authenticate", `Bearer realm="harness"`)
	message := "a valid access token is required: send Authorization: Bearer <HARNESS_AUTH_TOKEN>"
	switch {
	case refused && slices.ContainsFunc(shown, isLogin):
		message = "this sign-in has ended or is unknown to this server: sign in again"
	case refused:
		message = "this access token is unknown to this server, was revoked or has expired: ask an admin for another one; " +
			"harness token prints the owner's"
	case why != "":
		message = NeedsToken(why)
	}
	g.refuse(w, http.StatusUnauthorized, "unauthorized", message)
}

// NeedsToken returns the message that explains why this machine is not trusted, and how to authenticate.
func NeedsToken(why string) string {
	return "local programs need a token because " + why + ": `harness open` signs a browser in, `harness token` prints the token " +
		"to send as Authorization: Bearer, and HARNESS_TRUST_LOCAL=true lets every local program in, agents too"
}

func (g *guard) refuseSigned(w http.ResponseWriter, r *http.Request, refusal *Refusal, braked bool) {
	if refusal.isGuess() && braked {
		g.refuseGuess(w)
		return
	}
	if refusal.HTTPStatus == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Bearer realm="harness", error="invalid_token"`)
	}
	if refusal.isGuess() {
		g.Brake.Wrong(r)
	}
	g.refuse(w, refusal.HTTPStatus, refusal.Code, refusal.Words())
}

func (g *guard) refuseGuess(w http.ResponseWriter) {
	refusal := tooManyGuesses()
	w.Header().Set("Retry-After", RetryGuess)
	g.refuse(w, refusal.HTTPStatus, refusal.Code, refusal.Words())
}

// hostAllowed is HostAllowed with a cache of the last allowed host, which most requests name.
func (o Options) hostAllowed() func(host string) bool {
	var last atomic.Pointer[string]
	return func(host string) bool {
		if known := last.Load(); known != nil && *known == host {
			return true
		}
		if !HostAllowed(host, o.BoundHost, o.AllowedHosts) {
			return false
		}
		last.Store(&host)
		return true
	}
}

// originMatters reports whether a foreign page could do harm with this request without reading its answer.
func originMatters(r *http.Request) bool {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		return r.Header.Get("Upgrade") != "" || r.URL.Path == streamPath
	}
	return true
}

func (o Options) originAllowed(r *http.Request) bool {
	origins := r.Header.Values("Origin")
	switch len(origins) {
	case 0:
		// No browser omits Origin in a cross-site request that changes state. If one did, this newer header would still
		// reveal it.
		return !strings.EqualFold(r.Header.Get("Sec-Fetch-Site"), "cross-site")
	case 1:
		return OriginAllowed(origins[0], o.scheme(r), r.Host, o.AllowedOrigins)
	default:
		return false
	}
}

// isOpen reports whether a route needs no token. Such routes are an orchestrator's probes, the documentation and
// logins, and routes that check the bearer token of an agent's session themselves.
func isOpen(r *http.Request) bool {
	if r.URL.Path == toolsPath {
		return r.Header.Get("Upgrade") == ""
	}
	if r.Method == http.MethodPost && (r.URL.Path == loginPath || r.URL.Path == logoutPath || isLoginAtProvider(r.URL.Path)) {
		return true
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return false
	}
	if isLoginAtProvider(r.URL.Path) {
		return r.Header.Get("Upgrade") == ""
	}
	switch r.URL.Path {
	case methodsPath, "/api/health", "/api/ready", "/api/docs", "/api/openapi.json", "/api/asyncapi.json":
		return r.Header.Get("Upgrade") == ""
	}
	return isProbe(r)
}

// isLoginAtProvider matches the paths below oidcPath in one spelling only: others could decode to other routes.
func isLoginAtProvider(path string) bool {
	name, below := strings.CutPrefix(path, oidcPath)
	name, step, _ := strings.Cut(name, "/")
	if !below || name == "" || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
		return false
	}
	switch step {
	case "", "callback", "backchannel-logout", "device", "device/token":
		return !strings.HasSuffix(path, "/")
	}
	return false
}

// isProbe matches the probes of orchestrators and load balancers, which send no token and any Host or none. The
// answer shows only the server's state, so a page that makes its name resolve to this machine may read it. Such a
// page may not read /api/health, which names processes.
func isProbe(r *http.Request) bool {
	if r.Method != http.MethodGet && r.Method != http.MethodHead || r.Header.Get("Upgrade") != "" {
		return false
	}
	switch r.URL.Path {
	case "/healthz", "/readyz":
		return true
	}
	return false
}

func fromLoopback(r *http.Request) bool {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	return err == nil && IsLoopback(host)
}

// fromThisMachine reports whether a request comes from this machine, from any of its addresses. An unknown address
// counts as this machine.
func fromThisMachine(r *http.Request) bool {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return true
	}
	from := peer.Addr().Unmap().WithZone("")
	if from.IsLoopback() {
		return true
	}
	own, err := net.InterfaceAddrs()
	if err != nil {
		return true
	}
	return slices.ContainsFunc(own, func(address net.Addr) bool {
		network, is := address.(*net.IPNet)
		return is && network.IP.Equal(from.AsSlice())
	})
}

// quoted formats a header of unknown origin for a message: bounded and escaped.
func quoted(s string) string {
	const limit = 100
	if len(s) > limit {
		s = s[:limit] + "..."
	}
	return fmt.Sprintf("%q", s)
}

// refuse answers in the error shape of the API (codex-manager's envelope).
func refuse(w http.ResponseWriter, status int, code, message string) {
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false) // "<" is not markup in JSON, and people read it in terminals
	err := encoder.Encode(struct {
		Status  string `json:"status"`
		Code    string `json:"code"`
		Message string `json:"message"`
	}{"error", code, message})
	if err != nil { // three strings can always be encoded
		http.Error(w, code, status)
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(bytes.TrimSuffix(body.Bytes(), []byte("\n"))) // the client may have disconnected; there is nothing left to do
}
