package main

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"harness/api"
	"harness/runtime"
	"harness/runtime/process/callers"
	"harness/runtime/process/shim"
)

// agents tells which requests come from inside of a runtime, and what they may do.
type agents struct {
	*Server
	finder  *callers.Finder
	unknown sync.Once
}

func newAgents(s *Server) *agents {
	a := &agents{Server: s}
	a.finder = callers.New(a.runtimePIDs)
	return a
}

// runtimePIDs are the runtimes that live and the shims that keep them.
func (a *agents) runtimePIDs() []int {
	pids := a.runtimes.pids()
	found, err := shim.Discover(a.runtimes.shims.RunDir)
	if err != nil {
		a.log.Error().Err(err).Msg("the shims cannot be listed; requests from inside of their runtimes may not be recognised")
	}
	for _, f := range found {
		if f.Alive {
			pids = append(pids, f.State.PID, f.State.RuntimePID)
		}
	}
	return pids
}

// agent is what is known of one connection.
type agent struct {
	session string
	inside  bool
}

// of tells for a request whether it comes from inside of a runtime, and from which session. It is found out once per
// connection.
func (a *agents) of(r *http.Request) (session string, inside bool) {
	known := api.Peer(r, func(accepted time.Time) agent { return a.find(r, accepted) })
	return known.session, known.inside
}

func (a *agents) find(r *http.Request, accepted time.Time) agent {
	local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	remote, err := netip.ParseAddrPort(r.RemoteAddr)
	if local == nil || err != nil {
		return agent{}
	}
	own, err := netip.ParseAddrPort(local.String())
	if err != nil {
		return agent{}
	}
	// Not the request's context: what is found holds for the connection.
	caller, err := a.finder.Find(context.WithoutCancel(r.Context()), own, remote, accepted)
	if err != nil {
		a.unknown.Do(func() {
			a.log.Warn().Err(err).
				Msg("it cannot be found out here which requests come from agents; they count as local ones (docs/security.md)")
		})
		return agent{}
	}
	if !caller.Inside {
		return agent{}
	}
	return agent{session: a.runtimes.sessionOf(caller), inside: true}
}

// sessionOf is the session a caller inside of a runtime belongs to, "" when nobody can tell: by the process that serves
// that session alone, or by what a process for all says of what it started. What the caller itself says does not count.
func (r runtimes) sessionOf(caller callers.Caller) string {
	if caller.Runtime == 0 {
		return ""
	}
	is := func(pid int, shim *runtime.ShimStatus) bool {
		return pid == caller.Runtime || shim != nil && shim.PID == caller.Runtime
	}
	for _, adapter := range r.adapters {
		status := adapter.Status()
		for _, process := range status.Processes {
			if is(process.PID, process.Shim) {
				return process.Serves
			}
		}
		if locator, ok := adapter.(runtime.Locator); ok && is(status.PID, status.Shim) {
			return locator.Conversation(caller.PID)
		}
	}
	return ""
}

// AgentScope implements api.Agents.
func (a *agents) AgentScope(ctx context.Context, sessionID string) (api.AgentScope, bool, error) {
	if a.queue.Queue == nil {
		return api.AgentScope{}, false, nil
	}
	job, found, err := a.queue.RunningIn(ctx, sessionID)
	if err != nil || !found || job.SourceSessionID == nil {
		return api.AgentScope{}, false, err
	}
	// The agent of a session that moved to another node is the session's no more.
	stored, err := a.sessions.Lookup(ctx, sessionID)
	if err == nil {
		err = a.sessions.CheckOwner(stored)
	}
	if err != nil {
		return api.AgentScope{}, false, err
	}
	var payload struct {
		TurnID string `json:"turnId"`
	}
	if err := json.Unmarshal(job.Payload, &payload); err != nil {
		return api.AgentScope{}, false, err
	}
	return api.AgentScope{SessionID: *job.SourceSessionID, TurnID: payload.TurnID}, true, nil
}
