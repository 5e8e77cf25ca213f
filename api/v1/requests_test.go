package v1_test

import (
	"net/http"
	"strings"
	"testing"

	"harness/internal/platform/database"
)

// Requests may use both spellings, and responses use one.
func TestBothSpellingsAreAccepted(t *testing.T) {
	t.Parallel()
	s := open(t, database.SQLite)
	message := []object{{"role": "user", "content": []object{{"type": "text", "text": "REPLY[hi]"}}}}
	for name, spelled := range map[string][]string{
		"snake": {"permission_mode", "credential_namespace", "isolation_level", "task_id", "runtime_config", "tool_manifest"},
		"camel": {"permissionMode", "credentialNamespace", "isolationLevel", "taskId", "runtimeConfig", "toolManifest"},
	} {
		made := s.want(http.StatusCreated, http.MethodPost, "/v1/sessions",
			object{"runtime": "scripted-agent-sdk", spelled[0]: "ask", spelled[1]: "default", spelled[2]: "shared"})
		if text(made, "runtime") != "scripted" || made["session_id"] == nil || made["created_at"] == nil {
			t.Errorf("%s: made is %v", name, made)
		}
		base := "/v1/sessions/" + text(made, "session_id")
		accepted := s.want(http.StatusAccepted, http.MethodPost, base+"/tasks",
			object{spelled[3]: "a task/" + name, spelled[0]: "ask", spelled[4]: object{}, spelled[5]: []any{}, "messages": message})
		if text(accepted, "task_id") != "a task/"+name || text(accepted, "status") != "started" {
			t.Errorf("%s: accepted is %v", name, accepted)
		}
		s.over(base, "a task/"+name)
		stored := s.want(http.StatusOK, http.MethodGet, base+"/tasks/a%20task%2F"+name, nil)
		if text(stored, "status") != "completed" || stored["last_seq"] == nil || stored["turn_id"] == nil {
			t.Errorf("%s: stored is %v", name, stored)
		}
	}
}

// An invalid request is refused with a code and, where it helps, a remedy, on either store. It changes nothing.
func TestInvalidRequestsAreRefused(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		base := s.ask()
		const sessions = "/v1/sessions"
		calls := base + "/tool-calls/x/approve"
		say := func(content string) string { return `{"messages":[{"role":"user","content":` + content + `}]}` }
		for _, wrong := range []struct {
			status           int
			code, path, body string
		}{
			{400, "invalid_request", sessions, `{`}, {400, "invalid_request", sessions, `[]`}, {400, "invalid_request", sessions, `null`},
			{400, "invalid_request", sessions, `{} {}`}, {400, "invalid_request", sessions, `{"runtime":5}`},
			{400, "invalid_request", sessions, `{"permissionMode":"ask","permission_mode":"ask"}`},
			{400, "invalid_request", sessions, `{"permission_mode":"sometimes"}`}, {400, "invalid_request", sessions, `{"title":"x"}`},
			{400, "unknown_runtime", sessions, `{"runtime":"none"}`}, {400, "unknown_runtime", sessions, `{"runtime":"a\u0000b"}`},
			{400, "not_supported", sessions, `{"permission_mode":"auto"}`}, // the scripted agent requests approval for everything
			{403, "yolo_not_allowed", sessions, `{"permission_mode":"yolo"}`},
			{400, "invalid_request", sessions, `{"non_interactive":"yes"}`}, {400, "invalid_request", sessions, `{"native_tools":"some"}`},
			{503, "namespace_unavailable", sessions, `{"credential_namespace":"user:1"}`},
			{400, "not_supported", sessions, `{"isolation_level":"ephemeral"}`}, {400, "invalid_request", sessions, `{"isolation_level":"x"}`},
			{400, "not_supported", sessions, `{"implicit_sources":"home"}`}, {400, "invalid_request", sessions, `{"allow_changed_sources":1}`},
			{400, "not_supported", sessions, `{"env":{"A":"b"}}`},
			{413, "payload_too_large", sessions, `{"cwd":"` + strings.Repeat("x", 1<<20) + `"}`},

			{400, "invalid_request", base + "/tasks", ``}, {400, "invalid_request", base + "/tasks", `{"messages":[]}`},
			{400, "invalid_request", base + "/tasks", `{"messages":{}}`}, {400, "invalid_request", base + "/tasks", say(`""`)},
			{400, "invalid_request", base + "/tasks", say(`" \n"`)}, {400, "invalid_request", base + "/tasks", say(`null`)},
			{400, "invalid_request", base + "/tasks", say(`[]`)}, {400, "invalid_request", base + "/tasks", say(`["x"]`)},
			{400, "invalid_request", base + "/tasks", say(`5`)},
			{400, "invalid_request", base + "/tasks", `{"messages":[{"role":"unknown","content":"x"}]}`},
			{400, "invalid_request", base + "/tasks", `{"messages":[{"role":"user"}]}`},
			{400, "invalid_request", base + "/tasks", strings.TrimSuffix(say(`"x"`), "}") + `,"task_id":5}`},
			{400, "invalid_request", base + "/tasks",
				strings.TrimSuffix(say(`"x"`), "}") + `,"task_id":"` + strings.Repeat("x", 5000) + `"}`},
			{400, "not_supported", base + "/tasks", strings.TrimSuffix(say(`"x"`), "}") + `,"tool_manifest":[{}]}`},
			{403, "yolo_not_allowed", base + "/tasks", strings.TrimSuffix(say(`"x"`), "}") + `,"permission_mode":"yolo"}`},
			{400, "invalid_request", base + "/tasks/x/stop", `{"reason":5}`}, {404, "task_not_found", base + "/tasks/x/stop", ``},

			{400, "invalid_request", calls, ``}, {400, "invalid_request", calls, `{"attempt":1}`},
			{400, "invalid_request", calls, `{"attempt":"1","input_hash":"x"}`},
			{400, "invalid_request", calls, `{"attempt":1.5,"input_hash":"x"}`},
			{400, "invalid_request", calls, `{"attempt":null,"input_hash":null}`},
			{400, "invalid_request", calls, `{"attempt":1,"input_hash":"x","inputHash":"x"}`},
			{400, "invalid_request", calls, `{"attempt":1,"input_hash":"x","answers":[]}`},
			{400, "invalid_request", calls, `{"attempt":1,"input_hash":"x","result":5}`},
			{404, "tool_call_not_pending", calls, `{"attempt":1,"input_hash":"x"}`},
		} {
			s.refused(wrong.status, wrong.code, http.MethodPost, wrong.path, wrong.body)
		}
		for _, id := range []string{"none", "%00", "%01", "%ff", "%E2%80%A8", "a%2Fb", "..%2F..", strings.Repeat("x", 5000)} {
			s.refused(404, "session_not_found", http.MethodGet, sessions+"/"+id, nil)
			for _, rest := range []string{"/events", "/events?stream=1", "/tasks", "/tasks/x"} {
				s.refused(404, "session_not_found", http.MethodGet, sessions+"/"+id+rest, nil)
			}
			s.refused(404, "session_not_found", http.MethodPost, sessions+"/"+id+"/tasks", say(`"x"`))
			s.refused(404, "session_not_found", http.MethodPost, sessions+"/"+id+"/tasks/x/stop", nil)
			s.refused(404, "session_not_found", http.MethodPost, sessions+"/"+id+"/tool-calls/x/deny",
				`{"attempt":1,"input_hash":"x"}`)
			s.refused(404, "task_not_found", http.MethodGet, base+"/tasks/"+id, nil)
			s.refused(404, "task_not_found", http.MethodPost, base+"/tasks/"+id+"/stop", nil)
			s.refused(404, "tool_call_not_pending", http.MethodPost, base+"/tool-calls/"+id+"/approve",
				`{"attempt":1,"input_hash":"x"}`)
		}
		for _, query := range []string{"limit=0", "limit=x", "limit=5001", "limit=1.5", "after_seq=-1", "after_seq=x",
			"from_seq=99999999999999999999"} {
			s.refused(400, "invalid_request", http.MethodGet, base+"/events?"+query, nil)
		}
		s.refused(400, "invalid_request", http.MethodGet, base+"/tasks?limit=501", nil)
		s.refused(400, "invalid_cursor", http.MethodGet, sessions+"?after=x", nil)
		for _, path := range []string{"health", "capabilities", "auth/status"} {
			s.refused(400, "unknown_runtime", http.MethodGet, "/v1/"+path+"?runtime=none", nil)
		}
		if all := s.page(base); len(all) != 1 {
			t.Errorf("what was refused left %v", all)
		}
		if listed := s.want(200, http.MethodGet, sessions, nil)["sessions"].([]any); len(listed) != 1 {
			t.Errorf("there are %d sessions", len(listed))
		}
	})
}
