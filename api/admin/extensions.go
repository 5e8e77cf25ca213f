package admin

import (
	"net"
	"net/http"

	"harness/api/rest"
	"harness/extensions"
	"harness/internal/lib/javascript"
	"harness/internal/operations"
	"harness/internal/platform/auth"
)

// Lifecycle holds the dependencies of the two extension routes: the operations and the roles that may call them.
type Lifecycle struct {
	operations.Lifecycle
	RBAC *auth.RBAC
}

func (s *extensionAPI) extensionRoutes() []rest.Route {
	return []rest.Route{
		{Method: http.MethodGet, Path: "/api/agents/extensions", OwnRoles: true, Raw: http.HandlerFunc(s.listExtensions)},
		{Method: http.MethodPost, Path: "/api/agents/extensions/reload", OwnRoles: true, Access: rest.AccessAdmin,
			Raw: http.HandlerFunc(s.reloadExtensions)},
	}
}

// moduleBody is a module as codex-manager lists it; an unhealthy module includes its error.
type moduleBody struct {
	extensions.ModuleInfo
	Health *extensions.Health `json:"health,omitempty"`
}

func (s *extensionAPI) listExtensions(w http.ResponseWriter, r *http.Request) {
	if _, refusal := s.lifecycle.RBAC.Authorize(r, auth.RoleMember, auth.RoleAdmin, auth.RoleOwner,
		auth.RoleSystem); refusal != nil {
		s.refuse(w, r, refusal)
		return
	}
	listing := s.lifecycle.Extensions.List()
	modules := make([]moduleBody, len(listing.Modules))
	for i, info := range listing.Modules {
		modules[i] = moduleBody{ModuleInfo: info}
		if health := listing.Health[i]; health.State != extensions.HealthOK {
			modules[i].Health = &health
		}
	}
	rest.WriteJSON(r.Context(), w, http.StatusOK, struct {
		Status          string       `json:"status"`
		SnapshotVersion string       `json:"snapshotVersion"`
		LoadedAt        string       `json:"loadedAt"`
		Modules         []moduleBody `json:"modules"`
		// Members that codex-manager does not have.
		Untrusted []*extensions.LoadError `json:"untrusted,omitempty"`
	}{"ok", listing.SnapshotVersion, javascript.ISOTime(listing.LoadedAt.UnixMilli()), modules, listing.Untrusted})
}

func (s *extensionAPI) refuse(w http.ResponseWriter, r *http.Request, refusal *auth.Refusal) {
	rest.NoteError(r.Context(), refusal)
	if refusal.HTTPStatus == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", auth.RetryGuess)
	}
	rest.WriteJSON(r.Context(), w, refusal.HTTPStatus, refusal)
}

// reloadExtensions reloads the extensions. It never reports success for a reload that could not be recorded.
func (s *extensionAPI) reloadExtensions(w http.ResponseWriter, r *http.Request) {
	if err := s.readBody(r); err != nil { // the body is ignored
		s.fail(w, r, err)
		return
	}
	principal, refusal := s.lifecycle.RBAC.Authorize(r, auth.RoleAdmin, auth.RoleOwner, auth.RoleSystem)
	attempt := operations.Attempt{Role: string(principal.Role), Actor: principal.Actor, Origin: requestOrigin(r)}
	if refusal != nil {
		attempt.Refused = refusal.Code
	}
	result, err := s.lifecycle.Reload(r.Context(), attempt)
	switch {
	case err != nil:
		s.fail(w, r, err)
	case refusal != nil:
		s.refuse(w, r, refusal)
	default:
		s.answerReload(w, r, result)
	}
}

func requestOrigin(r *http.Request) extensions.RequestOrigin {
	var origin extensions.RequestOrigin
	if host, _, err := net.SplitHostPort(r.RemoteAddr); err == nil {
		origin.IP = &host
	}
	if agent := r.UserAgent(); agent != "" {
		origin.UserAgent = &agent
	}
	return origin
}

func (s *extensionAPI) answerReload(w http.ResponseWriter, r *http.Request, result extensions.ReloadResult) {
	if result.Code == extensions.Reloaded {
		type module struct {
			Name    string   `json:"name"`
			Version string   `json:"version"`
			AgentID string   `json:"agentId"`
			Events  []string `json:"events"`
		}
		modules := make([]module, len(result.Modules))
		for i, m := range result.Modules {
			modules[i] = module{m.Name, m.Version, m.AgentID, m.Events}
		}
		rest.WriteJSON(r.Context(), w, http.StatusOK, struct {
			Status          string   `json:"status"`
			ReloadID        string   `json:"reloadId"`
			LoadedCount     int      `json:"loadedCount"`
			FailedCount     int      `json:"failedCount"`
			SnapshotVersion string   `json:"snapshotVersion"`
			LoadedAt        string   `json:"loadedAt"`
			Modules         []module `json:"modules"`
		}{"ok", result.ReloadID, len(modules), 0, result.SnapshotVersion, javascript.ISOTime(result.LoadedAt.UnixMilli()),
			modules})
		return
	}
	status, message := http.StatusBadRequest, "extension reload failed; prior snapshot preserved"
	if result.Code == extensions.ReloadInProgress {
		status, message = http.StatusConflict, "extension reload already in progress"
	}
	rest.WriteJSON(r.Context(), w, status, struct {
		Status          string                  `json:"status"`
		Code            extensions.ReloadCode   `json:"code"`
		ReloadID        string                  `json:"reloadId"`
		Message         string                  `json:"message"`
		SnapshotVersion string                  `json:"snapshotVersion"`
		Errors          []*extensions.LoadError `json:"errors"`
	}{"error", result.Code, result.ReloadID, message, result.SnapshotVersion, result.Errors})
}
