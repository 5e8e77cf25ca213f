package codex

import (
	"encoding/json"

	"harness/internal/runtime"
)

// encodePermissions grants all or nothing: codex has no other refusal for this request. A cancellation also ends the
// turn (Codex.Answer).
func encodePermissions(params json.RawMessage, reply runtime.Reply) (json.RawMessage, error) {
	var asked struct {
		Permissions map[string]json.RawMessage `json:"permissions"`
	}
	out := struct {
		Permissions map[string]json.RawMessage `json:"permissions"`
		Scope       string                     `json:"scope"`
	}{map[string]json.RawMessage{}, "turn"}
	if reply.Decision == actionAccept {
		_ = json.Unmarshal(params, &asked) // nothing requested, nothing granted
		for name, permission := range asked.Permissions {
			if string(permission) != "null" {
				out.Permissions[name] = permission
			}
		}
		if reply.Scope == "session" {
			out.Scope = reply.Scope
		}
	}
	return encode(out)
}
