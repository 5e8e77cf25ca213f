// Package admin serves the REST routes about the whole server: projects, jobs, events, usage, prices, search, tokens, logins,
// push subscriptions and extensions.
//
// It owns the input and output of these routes. It must never know how a response is written or how access is
// checked.
package admin

import (
	"net/http"
	"slices"
	"time"

	"harness/api/rest"
	"harness/internal/operations"
	"harness/internal/platform/auth"
)

// Options are the dependencies of the routes. Operations and the functions are required.
type Options struct {
	Operations *operations.Service
	// Tokens are the named access tokens. Push stores browsers for notifications. If nil, their routes return 404.
	Tokens Tokens
	Push   Push
	// Logins sets login cookies. OIDC logs people in at OpenID Connect providers. If nil, their routes return 404.
	Logins *auth.Logins
	OIDC   OIDC
	// Lifecycle lists and reloads extensions. If nil, those routes do not exist.
	Lifecycle *Lifecycle
	Clock     func() time.Time
	// ReadBody reads a body and ignores its members. Fail responds with an error. FailureOf returns that response.
	ReadBody  func(r *http.Request) error
	Fail      func(w http.ResponseWriter, r *http.Request, err error)
	FailureOf func(err error) rest.Failure
}

// Routes returns the routes of this package. Each subject gets only the operations it uses.
func Routes(o Options) []rest.Route {
	ops := o.Operations
	projects := &projectAPI{ops.Projects}
	boards := &reportAPI{ops.JobAdmin, ops.History, ops.Finder, o.Clock}
	tokens := &tokenAPI{o.Tokens, ops.Projects, o.Clock}
	logins := &loginAPI{o.Logins, o.OIDC, o.FailureOf}
	push := &pushAPI{o.Push}
	all := slices.Concat(projects.projectRoutes(), boards.jobRoutes(), boards.reportRoutes(), boards.usageRoutes(), boards.searchRoutes(),
		tokens.tokenRoutes(), logins.loginRoutes(), logins.oidcRoutes(), push.pushRoutes())
	if o.Lifecycle != nil {
		extensions := &extensionAPI{o.Lifecycle, o.ReadBody, o.Fail}
		all = append(all, extensions.extensionRoutes()...)
	}
	return all
}

// Failures maps the errors that only these routes return.
func Failures(err error, rt *rest.Route, in *rest.Input) (rest.Failure, bool) {
	for _, row := range []func(error, *rest.Route, *rest.Input) (rest.Failure, bool){
		loginFailures, tokenFailures, pushFailures,
	} {
		if f, known := row(err, rt, in); known {
			return f, true
		}
	}
	return rest.Failure{}, false
}

type projectAPI struct{ projects *operations.Projects }

type reportAPI struct {
	jobs    *operations.JobAdmin
	history *operations.History
	finder  *operations.Finder
	clock   func() time.Time
}

type tokenAPI struct {
	tokens   Tokens
	projects *operations.Projects
	clock    func() time.Time
}

type loginAPI struct {
	logins    *auth.Logins
	oidc      OIDC
	failureOf func(err error) rest.Failure
}

type pushAPI struct{ push Push }

type extensionAPI struct {
	lifecycle *Lifecycle
	readBody  func(r *http.Request) error
	fail      func(w http.ResponseWriter, r *http.Request, err error)
}
