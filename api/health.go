package api

import (
	"context"
	"fmt"
	"net/http"

	"harness/api/rest"
	"harness/api/schema"
	v1 "harness/api/v1"
	"harness/internal/lib/javascript"
	"harness/internal/platform/database"
	"harness/internal/runtime"
)

func (s *server) healthRoutes() []rest.Route {
	return append(s.documentRoutes(), []rest.Route{
		{Method: http.MethodGet, Path: "/api/health", Access: rest.AccessAnybody, Agent: rest.AgentAnything,
			Query: healthQuery, Handle: s.getHealth},
		{Method: http.MethodGet, Path: "/api/ready", Access: rest.AccessAnybody, Agent: rest.AgentAnything,
			Handle: s.getReady},
		{Method: http.MethodGet, Path: "/readyz", Access: rest.AccessAnybody, Agent: rest.AgentAnything, Handle: s.getReady},
		{Method: http.MethodGet, Path: "/healthz", Access: rest.AccessAnybody, Agent: rest.AgentAnything, Handle: getAlive},
		{Method: http.MethodGet, Path: "/api", Access: rest.AccessAnybody, Handle: s.getRoot},
	}...)
}

// mountedRoutes are routes that handlers of other packages serve.
func (s *server) mountedRoutes() []rest.Route {
	mounted := []rest.Route{
		{Method: http.MethodGet, Path: "/api/stream", OwnReach: true, Raw: upgradesOnly(s.Stream)},
		{Method: http.MethodGet, Path: "/metrics", Raw: s.orNotFound(s.Metrics)},
		{Method: http.MethodGet, Path: "/rpc", OwnReach: true, Raw: s.orNotFound(s.RPC.Sockets["/rpc"])},
		{Method: http.MethodGet, Path: "/ws", OwnReach: true, Raw: s.orNotFound(s.RPC.Sockets["/ws"])},
		{Method: http.MethodPost, Path: "/rpc", OwnReach: true, Access: rest.AccessViewer, OwnRecords: true,
			Raw: s.orNotFound(s.RPC.Post)},
		{Method: http.MethodGet, Path: "/rpc/openrpc.json", OwnReach: true, Raw: s.orNotFound(s.RPC.Document)},
	}
	for _, r := range v1.Routes() {
		route := rest.Route{Method: r.Method, Path: r.Path, LongParams: true, OwnReach: r.OwnReach || s.Tasks == nil,
			Raw: http.HandlerFunc(rest.NotFound)}
		if s.Tasks != nil {
			route.Raw, route.Refuse = s.Tasks.Handler(r), s.Tasks.Refuse
		}
		if r.Operator {
			route.Access = rest.AccessOperator
		}
		mounted = append(mounted, route)
	}
	return mounted
}

func (s *server) orNotFound(handler http.Handler) http.Handler {
	if handler != nil {
		return handler
	}
	return http.HandlerFunc(rest.NotFound)
}

// upgradesOnly returns an empty 404 for a plain GET, as codex-manager's websocket route does.
func upgradesOnly(stream http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if stream == nil || r.Header.Get("Upgrade") == "" {
			rest.WriteRaw(w, http.StatusNotFound, "", nil)
			return
		}
		stream.ServeHTTP(w, r)
	})
}

type healthBody struct {
	Status  string      `json:"status"`
	Service string      `json:"service"`
	Codex   codexHealth `json:"codex"`
	Queue   queueHealth `json:"orchestratorQueue"`
	Auth    AuthHealth  `json:"auth"`
	// Credentials is an addition to codex-manager's body: the credentials of the runtime in the query.
	Credentials runtime.AuthState `json:"credentials,omitempty"`
	// Runtimes is an addition: every runtime of this server, the default one first.
	Runtimes []runtimeHealth `json:"runtimes"`
	// Store is an addition. It is present only while the store refuses writes or has rows known to be damaged.
	Store     *storeHealth `json:"store,omitempty"`
	Timestamp string       `json:"timestamp"`
}

type storeHealth struct {
	Engine string `json:"engine"`
	State  string `json:"state"`
	Since  string `json:"since"`
	Reason string `json:"reason"`
}

type codexHealth struct {
	Running     bool      `json:"running"`
	PID         *int      `json:"pid"`
	Initialized bool      `json:"initialized"`
	LastExit    *lastExit `json:"lastExit,omitempty"`
	// State and Reason are additions: why it is not ready, and the remedy.
	State  string `json:"state,omitempty"`
	Reason string `json:"reason,omitempty"`
	// Shim is an addition: the process that keeps codex running when this server exits.
	Shim *shimHealth `json:"shim,omitempty"`
}

type shimHealth struct {
	PID     int    `json:"pid"`
	Version string `json:"version"`
	Servers int64  `json:"servers"`
}

type lastExit struct {
	Code   *int    `json:"code"`
	Signal *string `json:"signal"`
	At     string  `json:"at"`
}

type queueHealth struct {
	Enabled bool `json:"enabled"`
	*queueCounts
}

// queueCounts is omitted while the queue is off or the store does not respond, because the health check must respond.
type queueCounts struct {
	Queued    int `json:"queued"`
	Running   int `json:"running"`
	Completed int `json:"completed"`
	Failed    int `json:"failed"`
	Canceled  int `json:"canceled"`
	Projects  int `json:"projects"`
}

func (s *server) queueHealth(ctx context.Context) queueHealth {
	if !s.Operations.QueueEnabled() {
		return queueHealth{}
	}
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	c, err := s.Operations.CountJobs(ctx)
	if err != nil {
		return queueHealth{Enabled: true}
	}
	return queueHealth{true, &queueCounts{c.Queued, c.Running, c.Completed, c.Failed, c.Canceled, c.Projects}}
}

var healthQuery = schema.Struct(rest.Optional("runtime", rest.RuntimeName))

// getHealth describes only the runtime in the query, if any. status then reports whether its sessions can run.
func (s *server) getHealth(ctx context.Context, in *rest.Input) (rest.Reply, error) {
	name := in.Query.Get("runtime").Text()
	body := healthBody{Status: "ok", Service: "api", Runtimes: []runtimeHealth{}, Queue: s.queueHealth(ctx), Auth: s.Health.Auth(),
		Timestamp: javascript.ISOTime(s.Clock().UnixMilli())}
	status := s.Health.Runtime()
	ready := status.State == runtime.StateReady
	for i, one := range s.Health.Runtimes() {
		if name == "" || name == one.Name {
			body.Runtimes = append(body.Runtimes, viewRuntime(one, i))
		}
	}
	if name != "" {
		asked, err := s.Operations.Runtime(ctx, name)
		if err != nil {
			return rest.Reply{}, err
		}
		body.Credentials = asked.Auth.State
	}
	if len(body.Runtimes) > 0 && body.Runtimes[0].State != runtime.StateReady {
		body.Status = "degraded"
	}
	body.Codex = codexHealth{Running: status.PID != 0, Initialized: ready}
	if status.PID != 0 {
		body.Codex.PID = &status.PID
	}
	if shim := status.Shim; shim != nil {
		body.Codex.Shim = viewShim(shim)
	}
	if exit := status.LastExit; exit != nil {
		body.Codex.LastExit = &lastExit{Code: exit.Code, Signal: exit.Signal, At: exit.At.UTC().Format(javascript.TimeLayout)}
	}
	if !ready {
		body.Codex.State, body.Codex.Reason = string(status.State), status.Reason
	}
	if outage := s.Health.Store(); outage != nil {
		body.Status = "degraded"
		body.Store = &storeHealth{Engine: string(outage.Engine), State: "refusing_writes",
			Since: javascript.ISOTime(outage.Since.UnixMilli()), Reason: database.Reason(outage.Cause)}
	} else if rows, since := s.Health.Damaged(); rows > 0 {
		body.Status = "degraded"
		body.Store = &storeHealth{Engine: string(database.SQLite), State: "damaged", Since: javascript.ISOTime(since.UnixMilli()),
			Reason: fmt.Sprintf("%d rows are not as they were written, and are not shown; harness doctor --scrub names them", rows)}
	}
	return rest.OK(body)
}

// apiVersion is the version of the API, which is codex-manager's.
const apiVersion = "0.1.0"

func (s *server) getRoot(context.Context, *rest.Input) (rest.Reply, error) {
	return rest.OK(struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	}{"Codex Manager API", apiVersion})
}
