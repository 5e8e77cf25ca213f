package api_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"harness/api/sessions"
)

// Settings are shown as configured, with the defaults of new sessions and whether they may be changed.
func TestServerSettings(t *testing.T) {
	t.Parallel()
	const defaults = `"defaults":{"model":null,"approvalPolicy":"never","networkAccess":"enabled",` +
		`"filesystemSandbox":"read-only","settings":{}},`
	b := setup(t, func(o *parts) {
		o.Controls = newFakeControls("never", "enabled", "read-only")
		o.Settings = []sessions.Setting{{Name: "PORT", Value: "3001", Source: "default"}}
	})
	expect(t, b.send(http.MethodGet, "/api/server/settings", "", ""), http.StatusOK,
		`{"data":[{"name":"PORT","value":"3001","source":"default"}],`+defaults+
			`"defaultsEditable":true,"defaultLockReason":null}`)
	locked := setup(t, func(o *parts) {
		o.Controls, o.DefaultsLocked = newFakeControls("never", "enabled", "read-only"), true
	})
	expect(t, locked.send(http.MethodGet, "/api/server/settings", "", ""), http.StatusOK, `{"data":[],`+defaults+
		`"defaultsEditable":false,"defaultLockReason":"Managed by harness configuration"}`)
}

// The defaults of new sessions change in one step, and other stored values stay. Locked defaults are refused.
func TestSetDefaults(t *testing.T) {
	t.Parallel()
	controls := newFakeControls("never", "enabled", "read-only")
	controls.defaults.Settings = map[string]json.RawMessage{"a": json.RawMessage("1")}
	const (
		wish = `{"defaults":{"model":"m","approvalPolicy":"on-request","networkAccess":"enabled",` +
			`"filesystemSandbox":"read-only"}}`
		now = `"defaults":{"model":"m","approvalPolicy":"on-request","networkAccess":"enabled",` +
			`"filesystemSandbox":"read-only","settings":{"a":1}},"defaultsEditable":true,"defaultLockReason":null}`
	)
	b := setup(t, func(o *parts) { o.Controls = controls })
	expect(t, b.post("/api/server/settings", wish), http.StatusOK, `{"status":"ok",`+now)
	expect(t, b.post("/api/server/settings", wish), http.StatusOK, `{"status":"unchanged",`+now)
}
