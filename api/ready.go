package api

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"harness/api/conns"
	"harness/api/rest"
	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
)

// readyTimeout limits the readiness check, because an orchestrator's probe must not hang when the store does.
const readyTimeout = 2 * time.Second

// readyBody lists the dependencies of this process and the state of each.
type readyBody struct {
	Status string `json:"status"`
	// Reason describes the first dependency that is not ready.
	Reason   string         `json:"reason,omitempty"`
	Version  string         `json:"version,omitempty"`
	Store    readyPart      `json:"store"`
	Runtimes []readyRuntime `json:"runtimes"`
	// Access reports whether local programs need a token. It is absent if unknown.
	Access *readyAccess `json:"access,omitempty"`
}

type readyAccess struct {
	TokenNeeded bool   `json:"tokenNeeded"`
	Reason      string `json:"reason,omitempty"`
}

type readyPart struct {
	Ready  bool   `json:"ready"`
	Reason string `json:"reason,omitempty"`
}

type readyRuntime struct {
	Name   string        `json:"name"`
	State  runtime.State `json:"state"`
	Reason string        `json:"reason,omitempty"`
}

// getReady serves orchestrators. It returns 200 when this process can accept work, otherwise 503 (starting or
// draining, a store that refuses writes, or no runtime that can run a turn). It needs no access, because probes send
// no token.
func (s *server) getReady(ctx context.Context, _ *rest.Input) (rest.Reply, error) {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	body := readyBody{Status: "ready", Version: s.Version, Store: readyPart{Ready: true}, Runtimes: []readyRuntime{}}
	if s.LocalAccess != nil {
		needed, reason := s.LocalAccess()
		body.Access = &readyAccess{needed, reason}
	}
	if err := s.Health.Serving(); err != nil {
		body.Reason = err.Error()
	}
	if err := s.Health.StoreReady(ctx); err != nil {
		body.Store.Ready, body.Store.Reason = false, storeReason(err)
		body.Reason = cmp.Or(body.Reason, body.Store.Reason)
	}
	all := s.Health.Runtimes()
	available := len(all) == 0
	for _, one := range all {
		seen := readyRuntime{Name: one.Name, State: one.Status.State}
		if seen.State == runtime.StateReady {
			available = true
		} else {
			seen.Reason = one.Status.Reason
		}
		body.Runtimes = append(body.Runtimes, seen)
	}
	if !available {
		body.Reason = cmp.Or(body.Reason, "no runtime is available; `harness doctor` says what each needs")
	}
	if body.Reason != "" {
		body.Status, body.Version = "not_ready", ""
		return rest.Reply{Status: http.StatusServiceUnavailable, Body: body}, nil
	}
	return rest.OK(body)
}

// storeReason omits host names, because the response is public.
func storeReason(err error) string {
	if outage := (*journal.OutageError)(nil); errors.As(err, &outage) {
		return outage.Error()
	}
	return "the store refuses writes: " + database.Reason(err)
}

// getAlive serves supervisors that restart processes. It needs neither the store nor a runtime.
func getAlive(context.Context, *rest.Input) (rest.Reply, error) {
	return rest.OK(json.RawMessage(conns.AliveBody))
}
