package main

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// unknownSession has the form of an id of codex's and is none.
const unknownSession = "/api/sessions/01a00000-0000-7000-8000-000000000000"

// TestOldBugsAreGone walks a real codex through what the original server got wrong, as its clients would.
func TestOldBugsAreGone(t *testing.T) {
	eachSite(t, func(t *testing.T, s *site) {
		server := s.start()
		t.Log("a policy newer codex has dropped is taken, kept as it was given, and turns run with it")
		session := server.createSession(object{"approvalPolicy": "on-failure"})
		one := "/api/sessions/" + session
		events := server.follow("threadId=" + session)
		answer := server.want(http.StatusAccepted, http.MethodPost, one+"/messages",
			object{"text": "Reply with exactly OK", "approvalPolicy": "on-failure"})
		if status := events.waitTurn(text(answer, "turnId")); status != "completed" {
			t.Errorf("the turn ended %s", status)
		}
		if policy := text(server.want(http.StatusOK, http.MethodGet, one, nil), "session",
			"approvalPolicy"); policy != "on-failure" {
			t.Errorf("the policy is %s", policy)
		}

		t.Log("a client's mistake is a client error")
		server.want(http.StatusNotFound, http.MethodGet, unknownSession, nil)
		server.want(http.StatusNotFound, http.MethodGet, "/api/sessions/not-a-uuid", nil)
		for _, act := range []string{"archive", "unarchive", "resume"} {
			server.want(http.StatusNotFound, http.MethodPost, unknownSession+"/"+act, nil)
		}
		server.want(http.StatusNotFound, http.MethodDelete, "/api/sessions/not-a-uuid", nil)
		server.want(http.StatusBadRequest, http.MethodGet, "/api/sessions?cursor=bogus", nil)
		server.want(http.StatusBadRequest, http.MethodGet, "/api/models?cursor=bogus", nil)
		server.want(http.StatusConflict, http.MethodPost, one+"/interrupt", object{"turnId": "nope"})
		server.want(http.StatusNotFound, http.MethodPost, "/api/projects/__proto__/rename",
			object{"name": "x", "workingDirectory": "/tmp"})

		t.Log("a title for a session that is not there is not kept")
		server.want(http.StatusNotFound, http.MethodPost, unknownSession+"/rename", object{"title": "x"})
		server.want(http.StatusNotFound, http.MethodGet, unknownSession, nil)

		t.Log("what can be written can be deleted")
		key := strings.Repeat("k", 239) + "/"
		server.want(http.StatusOK, http.MethodPost, one+"/settings",
			object{"scope": "session", "key": key, "value": object{"b": 1, "a": "<>"}})
		got := server.want(http.StatusOK, http.MethodGet, one+"/settings?key="+url.QueryEscape(key), nil)
		if got["found"] != true || text(got, "value", "a") != "<>" {
			t.Errorf("read %v", got)
		}
		if got := server.want(http.StatusOK, http.MethodDelete, one+"/settings/"+url.PathEscape(key),
			nil); got["removed"] != true {
			t.Errorf("deleted %v", got)
		}

		t.Log("deleted stays deleted")
		server.want(http.StatusOK, http.MethodDelete, one, nil)
		server.stop()
		server = s.start()
		server.waitRuntime()
		server.want(http.StatusGone, http.MethodGet, one, nil)
		server.want(http.StatusGone, http.MethodPost, one+"/messages", object{"text": "x"})
		server.want(http.StatusGone, http.MethodPost, one+"/approval-policy", object{"approvalPolicy": "never"})
		server.want(http.StatusGone, http.MethodPost, one+"/transcript/upsert",
			object{"messageId": "m", "turnId": "t", "role": "user", "type": "note", "content": "c", "status": "complete"})
		server.stop()
	})
}

// TestControlsAreLockedByConfiguration: SESSION_DEFAULTS_LOCKED makes the configured defaults the only ones, also over
// stored ones.
func TestControlsAreLockedByConfiguration(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	server := s.start()
	one := "/api/sessions/" + server.createSession(nil)
	controls := object{"model": nil, "approvalPolicy": "never", "networkAccess": "restricted",
		"filesystemSandbox": "read-only"}
	server.want(http.StatusOK, http.MethodPost, one+"/session-controls", object{"scope": "default", "controls": controls})
	server.stop()
	server = s.start("SESSION_DEFAULTS_LOCKED=true", "DEFAULT_APPROVAL_POLICY=on-request")
	got := server.want(http.StatusLocked, http.MethodPost, one+"/session-controls",
		object{"scope": "default", "controls": controls})
	if text(got, "message") != "Managed by harness configuration" ||
		text(got, "defaults", "approvalPolicy") != "on-request" || got["defaultsEditable"] != false {
		t.Errorf("locked: %v", got)
	}
	server.want(http.StatusLocked, http.MethodPost, one+"/settings", object{"scope": "default", "key": "a", "value": 1})
	server.want(http.StatusOK, http.MethodPost, one+"/session-controls", object{"scope": "session", "controls": controls})
	audit := entry(t, server.transcript(strings.TrimPrefix(one, "/api/sessions/")), "session.controls.updated")
	if text(audit, "turnId") != "session-controls" {
		t.Errorf("audit %v", audit)
	}
	server.stop()
}

// TestChatsOfAProject: moving, archiving and deleting all chats with a real codex, told in the order they came into the
// project.
func TestChatsOfAProject(t *testing.T) {
	eachSite(t, func(t *testing.T, s *site) {
		server := s.start()
		project := text(server.want(http.StatusOK, http.MethodPost, "/api/projects", object{"name": "P"}), "project",
			"projectId")
		chats := "/api/projects/" + project + "/chats"
		assign := func(session string) {
			server.want(http.StatusOK, http.MethodPost, "/api/sessions/"+session+"/project", object{"projectId": project})
		}
		used, fresh := server.createSession(nil), server.createSession(nil)
		events := server.follow("threadId=" + used)
		events.waitTurn(server.send(used, "Reply with exactly OK"))
		assign(fresh)
		assign(used)
		refused := server.want(http.StatusConflict, http.MethodPost, chats+"/move-all", object{"destination": "archive"})
		if ids, isList := refused["sessionIds"].([]any); !isList || len(ids) != 1 || ids[0] != fresh {
			t.Errorf("a chat nobody wrote to: %v", refused)
		}
		server.want(http.StatusConflict, http.MethodDelete, "/api/projects/"+project, nil)
		moved := server.want(http.StatusOK, http.MethodPost, chats+"/move-all", object{"destination": "unassigned"})
		if text(moved, "movedSessionCount") != "2" {
			t.Errorf("moved %v", moved)
		}
		assign(used)
		moved = server.want(http.StatusOK, http.MethodPost, chats+"/move-all", object{"destination": "archive"})
		if text(moved, "movedSessionCount")+text(moved, "archivedSessionCount") != "11" {
			t.Errorf("archived %v", moved)
		}
		assign(fresh)
		assign(used)
		deleted := server.want(http.StatusOK, http.MethodPost, chats+"/delete-all", nil)
		if text(deleted, "deletedSessionCount")+text(deleted, "skippedSessionCount") != "20" {
			t.Errorf("deleted %v", deleted)
		}
		server.want(http.StatusGone, http.MethodGet, "/api/sessions/"+used, nil)
		if none := server.want(http.StatusOK, http.MethodGet, "/api/projects/"+project+"/agent-sessions", nil); len(
			none["data"].([]any)) != 0 {
			t.Errorf("workers %v", none)
		}
		server.want(http.StatusOK, http.MethodDelete, "/api/projects/"+project, nil)
		server.stop()
	})
}
