package api_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"harness/api/admin"
	"harness/extensions"
	"harness/internal/operations"
	"harness/internal/platform/auth"
)

// lifecycle is a registry of extensions with preset responses, and the record of attempts.
type lifecycle struct {
	result  extensions.ReloadResult
	health  extensions.HealthState
	audit   []extensions.AuditRecord
	fail    error
	reloads int
}

func loadedAt() time.Time { return time.Date(2026, 11, 21, 1, 33, 59, 995e6, time.UTC) }

func info() extensions.ModuleInfo {
	path := "/x/extension.manifest.json"
	return extensions.ModuleInfo{ModuleName: "m", Name: "@t/m", Version: "1.0.0", AgentID: "m", DisplayName: "M",
		ManifestPath: &path, EntrypointPath: "/x/events.js", Events: []string{"e"},
		Origin: extensions.Origin{Type: extensions.RepoLocal, Path: "/x"}, Diagnostics: []string{},
		Compatibility: extensions.CompatibilitySummary{RuntimeVersion: 1, ProfileID: "codex-manager", ProfileVersion: "1.0.0",
			Compatible: true, Reasons: []string{}},
		Capabilities: extensions.Capabilities{Events: []string{}, Actions: []string{}},
		Trust:        extensions.TrustEvaluation{Mode: "warn", Status: "accepted", Warnings: []string{}, Errors: []string{}}}
}

func (l *lifecycle) List() extensions.Listing {
	return extensions.Listing{SnapshotVersion: "v1", LoadedAt: loadedAt(), Modules: []extensions.ModuleInfo{info()},
		Health: []extensions.Health{{State: l.health}}}
}

func (l *lifecycle) Reload(_ context.Context, id string) extensions.ReloadResult {
	l.reloads++
	l.result.ReloadID = id
	return l.result
}

func (*lifecycle) SnapshotVersion() string         { return "v1" }
func (*lifecycle) TrustMode() extensions.TrustMode { return extensions.TrustWarn }

func (l *lifecycle) Append(_ context.Context, record extensions.AuditRecord) error {
	l.audit = append(l.audit, record)
	return l.fail
}

func withLifecycle(l *lifecycle, reloaded func()) func(*parts) {
	return func(o *parts) {
		o.Lifecycle = &admin.Lifecycle{Lifecycle: operations.Lifecycle{Extensions: l, Audit: l, Reloaded: reloaded},
			RBAC: auth.NewRBAC(auth.RBACOptions{Mode: auth.RBACHeader, HeaderSecret: "secret-token"})}
	}
}

// as sends a request with a role, set by the header mode.
func as(b *harnessBundle, method, path, role, contentType, body string) (int, string) {
	r := request(method, path, contentType, body)
	r.RemoteAddr = "127.0.0.1:5"
	r.Header.Set("User-Agent", "test-agent")
	if role != "" {
		r.Header.Set("X-Codex-Rbac-Token", "secret-token")
		r.Header.Set("X-Codex-Role", role)
		r.Header.Set("X-Codex-Actor", "alice")
	}
	got := b.sendRequest(r)
	return got.Code, got.Body.String()
}

// LC-01, LC-03: the list uses codex-manager's keys, and an unhealthy module includes its error.
func TestListExtensions_LC01_LC03(t *testing.T) {
	t.Parallel()
	registry := &lifecycle{health: extensions.HealthOK}
	b := setup(t, withLifecycle(registry, nil))
	want := `{"status":"ok","snapshotVersion":"v1","loadedAt":"2026-11-21T01:33:59.995Z","modules":[{"moduleName":"m",` +
		`"name":"@t/m","version":"1.0.0","agentId":"m",` +
		`"displayName":"M","manifestPath":"/x/extension.manifest.json","entrypointPath":"/x/events.js","events":["e"],` +
		`"origin":{"type":"repo_local","path":"/x"},` +
		`"compatibility":{"apiVersion":null,"apiVersionRange":null,"runtimeVersion":1,"profileId":"codex-manager",` +
		`"profileVersion":"1.0.0","compatible":true,"reasons":[]},` +
		`"capabilities":{"events":[],"actions":[]},"trust":{"mode":"warn","status":"accepted","warnings":[],"errors":[]},"diagnostics":[]}]}`
	if code, body := as(b, http.MethodGet, "/api/agents/extensions", "member", "", ""); code != 200 || body != want {
		t.Errorf("got %d %s", code, body)
	}
	registry.health = extensions.HealthQuarantined
	if _, body := as(b, http.MethodGet, "/api/agents/extensions", "member", "", ""); !strings.Contains(body,
		`"diagnostics":[],"health":{"state":"quarantined","restarts":0}`) {
		t.Errorf("got %s", body)
	}
	if code, body := as(b, http.MethodGet, "/api/agents/extensions", "", "", ""); code != 401 ||
		body != `{"status":"unauthorized","code":"missing_header_token"}` {
		t.Errorf("got %d %s", code, body)
	}
	if len(registry.audit) != 0 {
		t.Error("a listing is no attempt to reload")
	}
}

// LC-04, LC-05, LC-06, LC-13, LC-17: the response and the record of every outcome.
func TestReloadExtensions_LC04_LC05_LC06_LC13_LC17(t *testing.T) {
	t.Parallel()
	ok := extensions.ReloadResult{Code: extensions.Reloaded, SnapshotBefore: "v1", SnapshotVersion: "v2",
		LoadedAt: loadedAt(), Modules: []extensions.ModuleInfo{info()}}
	failed := extensions.ReloadResult{Code: extensions.ReloadFailed, SnapshotBefore: "v1", SnapshotVersion: "v1",
		Errors: []*extensions.LoadError{{Extension: "@t/m", Code: extensions.ImportFailed, Message: "boom"}}}
	busy := extensions.ReloadResult{Code: extensions.ReloadInProgress, SnapshotBefore: "v1", SnapshotVersion: "v1",
		Errors: []*extensions.LoadError{}}
	for _, c := range []struct {
		name                string
		result              extensions.ReloadResult
		role                string
		contentType, body   string
		code                int
		want                string
		record, summary, by string
	}{
		{"ok", ok, "admin", "", "", 200,
			`{"status":"ok","reloadId":"ID","loadedCount":1,"failedCount":0,"snapshotVersion":"v2","loadedAt":"2026-11-21T01:33:59.995Z",` +
				`"modules":[{"name":"@t/m","version":"1.0.0","agentId":"m","events":["e"]}]}`, "success", "", "admin"},
		{"with a body", ok, "owner", "application/json", "{}", 200, `"status":"ok"`, "success", "", "owner"},
		{"with text", ok, "system", "text/plain", "x", 200, `"status":"ok"`, "success", "", "system"},
		{"failed", failed, "admin", "", "", 400,
			`{"status":"error","code":"reload_failed","reloadId":"ID","message":"extension reload failed; prior snapshot preserved",` +
				`"snapshotVersion":"v1","errors":[{"extension":"@t/m","code":"import_failed","message":"boom"}]}`, "failed",
			"import_failed:boom", "admin"},
		{"busy", busy, "admin", "", "", 409,
			`{"status":"error","code":"reload_in_progress","reloadId":"ID","message":"extension reload already in progress",` +
				`"snapshotVersion":"v1","errors":[]}`, "failed", "", "admin"},
		{"member", ok, "member", "", "", 403,
			`{"status":"forbidden","code":"insufficient_role","required":["admin","owner","system"],"role":"member"}`,
			"forbidden", "insufficient_role", "member"},
		{"bad role", ok, "root", "", "", 400, `{"status":"error","code":"invalid_role"}`, "forbidden", "invalid_role",
			"unknown"},
		{"anonymous", ok, "", "", "", 401, `{"status":"unauthorized","code":"missing_header_token"}`, "forbidden",
			"missing_header_token", "unknown"},
		{"bad JSON", ok, "admin", "application/json", "{", 400,
			`{"status":"error","code":"request_failed","message":"Body is not valid JSON but content-type is set to 'application/json'"}`,
			"", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			registry, notified := &lifecycle{result: c.result}, 0
			b := setup(t, withLifecycle(registry, func() { notified++ }))
			code, body := as(b, http.MethodPost, "/api/agents/extensions/reload", c.role, c.contentType, c.body)
			if c.record == "" {
				if code != c.code || body != c.want || len(registry.audit) != 0 {
					t.Errorf("got %d %s, %d records", code, body, len(registry.audit))
				}
				return
			}
			if len(registry.audit) != 1 {
				t.Fatalf("%d records", len(registry.audit))
			}
			record := registry.audit[0]
			if body = strings.ReplaceAll(body, record.ReloadID, "ID"); code != c.code || !strings.Contains(body, c.want) {
				t.Errorf("got  %d %s\nwant %d %s", code, body, c.code, c.want)
			}
			summary := ""
			if record.ErrorSummary != nil {
				summary = *record.ErrorSummary
			}
			if record.Result != c.record || summary != c.summary || record.ActorRole != c.by || record.SnapshotBefore != "v1" ||
				record.TrustMode != "warn" ||
				*record.RequestOrigin.IP != "127.0.0.1" || *record.RequestOrigin.UserAgent != "test-agent" {
				t.Errorf("record %+v", record)
			}
			if known := c.by != "unknown"; known != (record.ActorID != nil && *record.ActorID == "alice") {
				t.Errorf("LC-13: actor %v", record.ActorID)
			}
			if wantReloads := map[bool]int{true: 0, false: 1}[c.record == "forbidden"]; registry.reloads != wantReloads ||
				notified != map[bool]int{true: 1}[c.code == 200] {
				t.Errorf("%d reloads, %d notifications", registry.reloads, notified)
			}
		})
	}
}

// An attempt that cannot be recorded does not report success.
func TestReloadWithoutRecord(t *testing.T) {
	t.Parallel()
	registry := &lifecycle{fail: errors.New("disk full"), result: extensions.ReloadResult{Code: extensions.Reloaded}}
	code, body := as(setup(t, withLifecycle(registry, nil)), http.MethodPost, "/api/agents/extensions/reload",
		"admin", "", "")
	if code != 500 || strings.Contains(body, "disk") {
		t.Errorf("got %d %s", code, body)
	}
}

// Without the registry, its routes do not exist.
func TestNoLifecycle(t *testing.T) {
	t.Parallel()
	if code, _ := as(setup(t), http.MethodGet, "/api/agents/extensions", "admin", "", ""); code != 404 {
		t.Errorf("got %d", code)
	}
}
