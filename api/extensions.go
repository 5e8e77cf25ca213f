package api

import (
	"context"
	"net"
	"net/http"
	"time"

	"github.com/google/uuid"

	"harness/api/rest"
	"harness/auth"
	"harness/extensions"
	"harness/internal/javascript"
	"harness/telemetry"
)

// Extensions is what the lifecycle routes need of the extension room; *extensions.Registry implements it.
type Extensions interface {
	List() extensions.Listing
	Reload(ctx context.Context, reloadID string) extensions.ReloadResult
	SnapshotVersion() string
	TrustMode() extensions.TrustMode
}

// ReloadAudit keeps the record of reload attempts; *extensions.Audit implements it.
type ReloadAudit interface {
	Append(ctx context.Context, record extensions.AuditRecord) error
}

// Lifecycle are the parts of the two extension routes.
type Lifecycle struct {
	Extensions Extensions
	Audit      ReloadAudit
	RBAC       *auth.RBAC
	// Reloaded, when set, is told of every reload that went well. It must not block.
	Reloaded func()
}

func (s *server) extensionRoutes() []rest.Route {
	return []rest.Route{
		{Method: http.MethodGet, Path: "/api/agents/extensions", Raw: http.HandlerFunc(s.listExtensions)},
		{Method: http.MethodPost, Path: "/api/agents/extensions/reload", Raw: http.HandlerFunc(s.reloadExtensions)},
	}
}

// moduleBody is a module as codex-manager lists it; one that is not well says so.
type moduleBody struct {
	extensions.ModuleInfo
	Health *extensions.Health `json:"health,omitempty"`
}

func (s *server) listExtensions(w http.ResponseWriter, r *http.Request) {
	if _, refusal := s.Lifecycle.RBAC.Authorize(r, auth.RoleMember, auth.RoleAdmin, auth.RoleOwner, auth.RoleSystem); refusal != nil {
		s.refuse(w, r, refusal)
		return
	}
	listing := s.Lifecycle.Extensions.List()
	modules := make([]moduleBody, len(listing.Modules))
	for i, info := range listing.Modules {
		modules[i] = moduleBody{ModuleInfo: info}
		if health := listing.Health[i]; health.State != extensions.HealthOK {
			modules[i].Health = &health
		}
	}
	s.writeJSON(r.Context(), w, http.StatusOK, struct {
		Status          string       `json:"status"`
		SnapshotVersion string       `json:"snapshotVersion"`
		LoadedAt        string       `json:"loadedAt"`
		Modules         []moduleBody `json:"modules"`
		// Ours.
		Untrusted []*extensions.LoadError `json:"untrusted,omitempty"`
	}{"ok", listing.SnapshotVersion, javascript.ISOTime(listing.LoadedAt.UnixMilli()), modules, listing.Untrusted})
}

func (s *server) refuse(w http.ResponseWriter, r *http.Request, refusal *auth.Refusal) {
	noteError(r.Context(), refusal)
	s.writeJSON(r.Context(), w, refusal.HTTPStatus, refusal)
}

// auditTimeout bounds the record of an attempt whose client went away.
const auditTimeout = 10 * time.Second

// reloadExtensions records every attempt, also a refused one, before it is answered. An attempt that cannot be recorded is not answered with
// success.
func (s *server) reloadExtensions(w http.ResponseWriter, r *http.Request) {
	if _, err := s.readBody(r); err != nil { // no member of it means anything
		s.writeError(r.Context(), w, &rest.Route{Method: r.Method, Path: r.URL.Path}, &rest.Input{}, err)
		return
	}
	life := s.Lifecycle
	record := extensions.AuditRecord{ReloadID: uuid.NewString(), ActorRole: "unknown", RequestOrigin: requestOrigin(r), TrustMode: life.Extensions.TrustMode(),
		SnapshotBefore: life.Extensions.SnapshotVersion()}
	principal, refusal := life.RBAC.Authorize(r, auth.RoleAdmin, auth.RoleOwner, auth.RoleSystem)
	if principal.Role != "" {
		record.ActorRole = string(principal.Role)
	}
	if principal.Actor != "" {
		record.ActorID = &principal.Actor
	}
	if refusal != nil {
		record.Result, record.ErrorSummary = extensions.AuditForbidden, &refusal.Code
		if s.recordReload(w, r, record) {
			s.refuse(w, r, refusal)
		}
		return
	}
	// A reload that began is ended, whether its client waits or not: half of one is nothing anybody wants.
	result := life.Extensions.Reload(context.WithoutCancel(r.Context()), record.ReloadID)
	record.Complete(result)
	if result.Code == extensions.Reloaded && life.Reloaded != nil {
		life.Reloaded()
	}
	if s.recordReload(w, r, record) {
		s.answerReload(w, r, result)
	}
}

// recordReload stores an attempt; false when it could not, and the client was told.
func (s *server) recordReload(w http.ResponseWriter, r *http.Request, record extensions.AuditRecord) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), auditTimeout)
	defer cancel()
	err := s.Lifecycle.Audit.Append(ctx, record)
	if err != nil {
		telemetry.Log(r.Context()).Error().Err(err).Str("reload", record.ReloadID).Str("result", record.Result).Msg("an attempt to reload extensions could not be recorded")
		writeRaw(w, http.StatusInternalServerError, jsonType, internalErrorBody())
	}
	return err == nil
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

func (s *server) answerReload(w http.ResponseWriter, r *http.Request, result extensions.ReloadResult) {
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
		s.writeJSON(r.Context(), w, http.StatusOK, struct {
			Status          string   `json:"status"`
			ReloadID        string   `json:"reloadId"`
			LoadedCount     int      `json:"loadedCount"`
			FailedCount     int      `json:"failedCount"`
			SnapshotVersion string   `json:"snapshotVersion"`
			LoadedAt        string   `json:"loadedAt"`
			Modules         []module `json:"modules"`
		}{"ok", result.ReloadID, len(modules), 0, result.SnapshotVersion, javascript.ISOTime(result.LoadedAt.UnixMilli()), modules})
		return
	}
	status, message := http.StatusBadRequest, "extension reload failed; prior snapshot preserved"
	if result.Code == extensions.ReloadInProgress {
		status, message = http.StatusConflict, "extension reload already in progress"
	}
	s.writeJSON(r.Context(), w, status, struct {
		Status          string                  `json:"status"`
		Code            extensions.ReloadCode   `json:"code"`
		ReloadID        string                  `json:"reloadId"`
		Message         string                  `json:"message"`
		SnapshotVersion string                  `json:"snapshotVersion"`
		Errors          []*extensions.LoadError `json:"errors"`
	}{"error", result.Code, result.ReloadID, message, result.SnapshotVersion, result.Errors})
}
