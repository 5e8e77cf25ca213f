package api_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/internal/runtime/codex"
	"harness/internal/services/session"
)

// TestErrorTable: the message of each error below, on a mapped route (messages) and an unmapped one (rename).
func TestErrorTable(t *testing.T) {
	t.Parallel()
	refusal := func(code int, message string) error {
		return fmt.Errorf("send: %w", codex.Refusal("turn/start", code, message))
	}
	const details = `,"details":{"method":"turn/start","sessionId":"` + knownID + `"}}`
	const codexLogin = "; this is about the login of codex at its model provider, not your token for this server: set OPENAI_API_KEY, " +
		`or sign in as the server's user with: harness login","details":{"method":"turn/start","sessionId":"` + knownID + `","runtime":"codex"}}`
	const internal = `{"status":"error","code":"internal_error","message":"internal server error"}`
	refusing := &journal.OutageError{Engine: database.Postgres, Since: time.Date(2026, 11, 21, 1, 28, 12, 0, time.UTC),
		Cause: &pgconn.PgError{Code: "53100", Message: "could not extend file"}}
	const notFound = `{"status":"not_found","sessionId":"` + knownID + `"}`
	for _, c := range []struct {
		name             string
		err              error
		status           int
		mapped, unmapped string
		unmappedStatus   int
	}{
		{name: "anything else", err: errors.New("secret: disk is full"), status: 500, mapped: internal},
		{name: "no runtime", err: fmt.Errorf("%w: codex is missing; set CODEX_BIN", runtime.ErrUnavailable), status: 503,
			mapped: `{"status":"error","code":"runtime_unavailable","message":"runtime unavailable: codex is missing; set CODEX_BIN"}`},
		{name: "timeout", err: fmt.Errorf("turn/start: %w", runtime.ErrTimeout), status: 504,
			mapped: `{"status":"error","code":"codex_timeout","message":"the runtime timed out; the operation may still take effect"}`},
		{name: "deadline", err: context.DeadlineExceeded, status: 504,
			mapped: `{"status":"error","code":"codex_timeout","message":"the runtime timed out; the operation may still take effect"}`},
		{name: "stopped", err: fmt.Errorf("commit: %w", journal.ErrStopped), status: 503,
			mapped: `{"status":"error","code":"shutting_down","message":"the server is shutting down; send the request ` +
				`again to another or a later one"}`},
		{name: "store refuses", err: fmt.Errorf("rename: %w", refusing), status: 503,
			mapped: `{"status":"error","code":"store_unavailable","message":` +
				`"the postgres store takes no writes since 2026-11-21T01:28:12Z: could not extend file (SQLSTATE 53100); send ` +
				`the request again when it does"}`},
		{name: "store refuses what the runtime did", err: fmt.Errorf("%w: %w", runtime.ErrTimeout, refusing), status: 504,
			mapped: `{"status":"error","code":"store_unavailable","message":"the postgres store takes no writes since 2026-11-21T01:28:12Z: ` +
				`could not extend file (SQLSTATE 53100); the runtime carried out the request, and the result is stored once the ` +
				`store accepts writes again: ` +
				`do not send it again"}`},
		{name: "store cannot be read",
			err:    fmt.Errorf("read: %w", &pgconn.PgError{Code: "57P03", Message: "the database system is starting up"}),
			status: 503, mapped: `{"status":"error","code":"store_unavailable","message":"the store cannot be read: the database system ` +
				`is starting up (SQLSTATE 57P03); ` +
				`send the request again later"}`},
		{name: "store broke off", err: fmt.Errorf("read session x: %w", io.ErrUnexpectedEOF), status: 503,
			mapped: `{"status":"error","code":"store_unavailable","message":"the store cannot be read: it cannot be ` +
				`reached; send the request again later"}`},
		{name: "unknown method", err: refusal(-32600, "Invalid request: unknown variant `x`"), status: 501,
			mapped: `{"status":"error","code":"method_not_supported","message":"codex rpc error -32600: Invalid request: unknown variant ` +
				"`x`" + `"` + details},
		{name: "bad params", err: refusal(-32602, "no"), status: 400,
			mapped: `{"status":"error","code":"invalid_params","message":"codex rpc error -32602: no"` + details},
		{name: "missing field", err: refusal(-32600, "missing field `a`"), status: 400,
			mapped: `{"status":"error","code":"invalid_params","message":"codex rpc error -32600: missing field ` + "`a`" +
				`"` + details},
		{name: "bad state", err: refusal(-32600, "archived"), status: 409,
			mapped:         `{"status":"error","code":"invalid_state","message":"codex rpc error -32600: archived"` + details,
			unmappedStatus: 400,
			unmapped:       `{"status":"error","code":"invalid_params","message":"codex rpc error -32600: archived"` + details},
		{name: "thread gone", err: refusal(-32600, "thread not found: x"), status: 409,
			mapped: `{"status":"error","code":"invalid_state","message":"codex rpc error -32600: thread not found: x"` +
				details, unmappedStatus: 404, unmapped: notFound},
		{name: "thread gone, no refusal", err: runtime.ErrThreadNotFound, status: 404, mapped: notFound},
		{name: "login", err: refusal(-32000, "Authentication required"), status: 401,
			mapped: `{"status":"error","code":"auth_required","message":"codex rpc error -32000: Authentication required` + codexLogin},
		{name: "login, newer codex", err: refusal(-32600, "authentication required to read rate limits"), status: 401,
			mapped: `{"status":"error","code":"auth_required","message":"codex rpc error -32600: authentication required to read rate limits` + codexLogin},
		{name: "not stored", err: fmt.Errorf("%w: %w", session.ErrNotMaterialized, refusal(-32600, "no rollout")),
			status: 409, mapped: `{"status":"not_materialized","sessionId":"` + knownID + `"}`},
		{name: "slow provider", err: refusal(-32000, "model timed out"), status: 504,
			mapped: `{"status":"error","code":"codex_timeout","message":"codex rpc error -32000: model timed out"` + details},
		{name: "provider defect", err: refusal(-32603, "internal"), status: 500,
			mapped:   `{"status":"error","code":"codex_error","message":"codex rpc error -32603: internal"` + details,
			unmapped: internal},
		{name: "session gone meanwhile", err: session.ErrNotFound, status: 404, mapped: notFound},
		{name: "deleted meanwhile", err: &session.DeletedError{SessionID: knownID, Title: "T", DeletedAt: 1795224496381},
			status: 410, mapped: `{"status":"deleted","sessionId":"` + knownID +
				`","title":"T","message":"This chat was permanently deleted and is no longer available.","deletedAt":"2026-11-21T01:28:16.381Z"}`},
		{name: "not of this runtime",
			err: fmt.Errorf("send: %w", &runtime.UnsupportedError{Runtime: "other", Operation: runtime.OpFork}), status: 409,
			mapped: `{"status":"error","code":"unsupported_by_runtime","message":"send: the other runtime cannot do this: ` +
				`fork; its capabilities list what it can do",` +
				`"details":{"runtime":"other","operation":"fork"}}`},
		{name: "an unsupported level", status: 400,
			err: &runtime.ControlError{Runtime: "other", Field: "filesystemSandbox", Value: "read-only",
				Enforced: []string{"danger-full-access"}},
			mapped: `{"status":"error","code":"unsupported_control","message":"the other runtime cannot enforce filesystemSandbox \"read-only\"; ` +
				`it can enforce: danger-full-access","details":{"runtime":"other","field":"filesystemSandbox",` +
				`"value":"read-only","enforced":["danger-full-access"]}}`},
		{name: "an adapter's own words", status: 400,
			err:    fmt.Errorf("%w: a model of opencode is PROVIDER/MODEL, not \"x\"", runtime.ErrInvalidParams),
			mapped: `{"status":"error","code":"invalid_params","message":"invalid parameters: a model of opencode is PROVIDER/MODEL, not \"x\""}`},
		{name: "an adapter's own words of a size", status: 413,
			err:    fmt.Errorf("%w: an image may be 5 MB large", runtime.ErrTooLarge),
			mapped: `{"status":"error","code":"too_large","message":"too large: an image may be 5 MB large"}`},
		{name: "an adapter's own words of a login", status: 401, err: fmt.Errorf("send: %w", runtime.ErrAuthRequired),
			mapped: `{"status":"error","code":"auth_required","message":"send: authentication required; this is about the login of the runtime ` +
				`at its model provider, not your token for this server"}`},
		{name: "no turn", err: session.ErrNoActiveTurn, status: 409, mapped: `{"status":"no_active_turn","sessionId":"` +
			knownID + `"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.sessions.fail = c.err
			expect(t, b.post("/api/sessions/"+knownID+"/messages", `{"text":"x"}`), c.status, c.mapped)
			if c.unmapped == "" {
				c.unmapped = c.mapped
			}
			if c.unmappedStatus == 0 {
				c.unmappedStatus = c.status
			}
			expect(t, b.post("/api/sessions/"+knownID+"/rename", `{"title":"x"}`), c.unmappedStatus, c.unmapped)
			if logged := strings.Contains(b.log.String(), `"message":"request failed"`); logged != (c.unmapped == internal) {
				t.Errorf("logged as our fault: %v\n%s", logged, b.log)
			}
		})
	}
}

// TestGuardOrder: the server reports problems with the session before problems with the body, except on resume.
func TestGuardOrder(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.sessions.lookup = nil
	for _, c := range []struct {
		id, path, body string
		status         int
	}{
		{deletedID, "/messages", `{}`, 410},
		{systemID, "/messages", `{}`, 403},
		{unknownID, "/messages", `{}`, 404},
		{knownID, "/messages", `{}`, 400},
		{unknownID, "/messages", `{`, 400}, // the body is read before everything else
		{deletedID, "/transcript/upsert", `{}`, 410},
		{systemID, "/transcript/upsert", `{}`, 400}, // only workers write there
		{unknownID, "/transcript/upsert", `{}`, 404},
		{deletedID, "/resume", `{"dynamicTools":1}`, 400},
		{deletedID, "/resume", `{}`, 410},
		{unknownID, "/interrupt", `{"turnId":1}`, 400},
		{unknownID, "/interrupt", `{}`, 409},
		{unknownID, "/project", `{"projectId":"nope"}`, 404},
	} {
		if got := b.post("/api/sessions/"+c.id+c.path, c.body); got.Code != c.status {
			t.Errorf("%s %s %s: got %d %s, want %d", c.id, c.path, c.body, got.Code, got.Body, c.status)
		}
	}
	expect(t, b.post("/api/sessions/"+unknownID+"/project", `{"projectId":"nope"}`), http.StatusNotFound,
		`{"status":"project_not_found","sessionId":"`+unknownID+`","projectId":"nope"}`)
}

// A guard that cannot check reports the reason instead of guessing.
func TestGuardWithoutRuntime(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.sessions.lookup = func(string) (session.Session, error) {
		return session.Session{}, fmt.Errorf("%w: codex is starting", runtime.ErrUnavailable)
	}
	if got := b.post("/api/sessions/x/archive", `{}`); got.Code != http.StatusServiceUnavailable {
		t.Errorf("got %d %s", got.Code, got.Body)
	}
}
