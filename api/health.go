package api

import (
	"context"
	"net/http"
	"time"

	"harness/database"
	"harness/runtime"
)

func (s *server) healthRoutes() []route {
	return append(s.documentRoutes(), []route{
		{method: http.MethodGet, path: "/api/health", agent: agentAnything, handle: s.getHealth},
		{method: http.MethodGet, path: "/api/ready", agent: agentAnything, handle: s.getReady},
		{method: http.MethodGet, path: "/api", handle: s.getRoot},
	}...)
}

// mountedRoutes are served by other rooms' handlers.
func (s *server) mountedRoutes() []route {
	return []route{
		{method: http.MethodGet, path: "/api/stream", raw: upgradesOnly(s.Stream)},
		{method: http.MethodGet, path: "/metrics", raw: s.orNotFound(s.Metrics)},
	}
}

func (s *server) orNotFound(handler http.Handler) http.Handler {
	if handler != nil {
		return handler
	}
	return http.HandlerFunc(s.routeNotFound)
}

// upgradesOnly answers a plain GET with an empty 404, as codex-manager's websocket route does.
func upgradesOnly(stream http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if stream == nil || r.Header.Get("Upgrade") == "" {
			writeRaw(w, http.StatusNotFound, "", nil)
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
	// Runtimes are ours: every runtime of this server, the default one first.
	Runtimes []runtimeHealth `json:"runtimes"`
	// Store is ours, and there only while the store refuses writes.
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
	// State and Reason are ours: why it is not ready and what to do about it.
	State  string `json:"state,omitempty"`
	Reason string `json:"reason,omitempty"`
	// Shim is ours, too: the process that keeps codex running when this server ends.
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

// queueCounts are left out while the queue is off, and while the store does not answer: health must.
type queueCounts struct {
	Queued    int `json:"queued"`
	Running   int `json:"running"`
	Completed int `json:"completed"`
	Failed    int `json:"failed"`
	Canceled  int `json:"canceled"`
	Projects  int `json:"projects"`
}

func (s *server) queueHealth(ctx context.Context) queueHealth {
	if s.Jobs == nil {
		return queueHealth{}
	}
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	c, err := s.Jobs.Counts(ctx)
	if err != nil {
		return queueHealth{Enabled: true}
	}
	return queueHealth{true, &queueCounts{c.Queued, c.Running, c.Completed, c.Failed, c.Canceled, c.Projects}}
}

func (s *server) getHealth(ctx context.Context, _ *input) (reply, error) {
	body := healthBody{Status: "ok", Service: "api", Queue: s.queueHealth(ctx), Auth: s.Health.Auth(), Timestamp: isoTime(s.Clock().UnixMilli())}
	status := s.Health.Runtime()
	ready := status.State == runtime.StateReady
	for i, one := range s.Health.Runtimes() {
		body.Runtimes = append(body.Runtimes, viewRuntime(one, i))
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
		body.Codex.LastExit = &lastExit{Code: exit.Code, Signal: exit.Signal, At: exit.At.UTC().Format(timeLayout)}
	}
	if !ready {
		body.Codex.State, body.Codex.Reason = string(status.State), status.Reason
	}
	if outage := s.Health.Store(); outage != nil {
		body.Status = "degraded"
		body.Store = &storeHealth{Engine: string(outage.Engine), State: "refusing_writes", Since: isoTime(outage.Since.UnixMilli()),
			Reason: database.Reason(outage.Cause)}
	}
	return ok(body)
}

// readyTimeout bounds the readiness check: an orchestrator's probe must not hang on a store that does.
const readyTimeout = 2 * time.Second

// getReady is for orchestrators: 200 when this process should get work, 503 when it should not (draining, store down). A missing runtime
// does not make it unready: projects, transcripts and the stream work without.
func (s *server) getReady(ctx context.Context, _ *input) (reply, error) {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	if err := s.Health.Ready(ctx); err != nil {
		return reply{status: http.StatusServiceUnavailable, body: struct {
			Status string `json:"status"`
			Reason string `json:"reason"`
		}{"not_ready", err.Error()}}, nil
	}
	return ok(struct {
		Status  string `json:"status"`
		Version string `json:"version,omitempty"`
	}{"ready", s.Version})
}

// apiVersion is the version of the wire contract, which is codex-manager's.
const apiVersion = "0.1.0"

func (s *server) getRoot(context.Context, *input) (reply, error) {
	return ok(struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	}{"Codex Manager API", apiVersion})
}
