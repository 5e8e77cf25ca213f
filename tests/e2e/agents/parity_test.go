package agents

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"harness/tests/programtest"
)

// unknownSession has the format of a codex id but does not exist.
const unknownSession = "/api/sessions/01a00000-0000-7000-8000-000000000000"

// TestOldBugsAreGone checks, with a real codex and as clients would, that the original server's bugs are fixed.
func TestOldBugsAreGone(t *testing.T) {
	programtest.EachSite(t, func(t *testing.T, s *programtest.Site) {
		server := s.Start()
		t.Log("a policy newer codex has dropped is taken, kept as it was given, and turns run with it")
		session := server.CreateSession(programtest.Object{"approvalPolicy": "on-failure"})
		one := "/api/sessions/" + session
		events := server.Follow("threadId=" + session)
		answer := server.Want(http.StatusAccepted, http.MethodPost, one+"/messages",
			programtest.Object{"text": "Reply with exactly OK", "approvalPolicy": "on-failure"})
		if status := events.WaitTurn(programtest.Text(answer, "turnId")); status != "completed" {
			t.Errorf("the turn ended %s", status)
		}
		if policy := programtest.Text(server.Want(http.StatusOK, http.MethodGet, one, nil), "session",
			"approvalPolicy"); policy != "on-failure" {
			t.Errorf("the policy is %s", policy)
		}

		t.Log("a client's mistake is a client error")
		server.Want(http.StatusNotFound, http.MethodGet, unknownSession, nil)
		server.Want(http.StatusNotFound, http.MethodGet, "/api/sessions/not-a-uuid", nil)
		for _, act := range []string{"archive", "unarchive", "resume"} {
			server.Want(http.StatusNotFound, http.MethodPost, unknownSession+"/"+act, nil)
		}
		server.Want(http.StatusNotFound, http.MethodDelete, "/api/sessions/not-a-uuid", nil)
		server.Want(http.StatusBadRequest, http.MethodGet, "/api/sessions?cursor=bogus", nil)
		server.Want(http.StatusBadRequest, http.MethodGet, "/api/models?cursor=bogus", nil)
		server.Want(http.StatusConflict, http.MethodPost, one+"/interrupt", programtest.Object{"turnId": "nope"})
		server.Want(http.StatusNotFound, http.MethodPost, "/api/projects/__proto__/rename",
			programtest.Object{"name": "x", "workingDirectory": "/tmp"})

		t.Log("a title for a session that is not there is not kept")
		server.Want(http.StatusNotFound, http.MethodPost, unknownSession+"/rename", programtest.Object{"title": "x"})
		server.Want(http.StatusNotFound, http.MethodGet, unknownSession, nil)

		t.Log("what can be written can be deleted")
		key := strings.Repeat("k", 239) + "/"
		server.Want(http.StatusOK, http.MethodPost, one+"/settings",
			programtest.Object{"scope": "session", "key": key, "value": programtest.Object{"b": 1, "a": "<>"}})
		got := server.Want(http.StatusOK, http.MethodGet, one+"/settings?key="+url.QueryEscape(key), nil)
		if got["found"] != true || programtest.Text(got, "value", "a") != "<>" {
			t.Errorf("read %v", got)
		}
		if got := server.Want(http.StatusOK, http.MethodDelete, one+"/settings/"+url.PathEscape(key),
			nil); got["removed"] != true {
			t.Errorf("deleted %v", got)
		}

		t.Log("deleted stays deleted")
		server.Want(http.StatusOK, http.MethodDelete, one, nil)
		server.Stop()
		server = s.Start()
		server.WaitRuntime()
		server.Want(http.StatusGone, http.MethodGet, one, nil)
		server.Want(http.StatusGone, http.MethodPost, one+"/messages", programtest.Object{"text": "x"})
		server.Want(http.StatusGone, http.MethodPost, one+"/approval-policy", programtest.Object{"approvalPolicy": "never"})
		server.Want(http.StatusGone, http.MethodPost, one+"/transcript/upsert",
			programtest.Object{"messageId": "m", "turnId": "t", "role": "user", "type": "note", "content": "c", "status": "complete"})
		server.Stop()
	})
}

// TestControlsAreLockedByConfiguration: SESSION_DEFAULTS_LOCKED makes the configured defaults the only ones, even if
// others are stored.
func TestControlsAreLockedByConfiguration(t *testing.T) {
	t.Parallel()
	s := programtest.New(t)
	server := s.Start()
	one := "/api/sessions/" + server.CreateSession(nil)
	controls := programtest.Object{"model": nil, "approvalPolicy": "never", "networkAccess": "restricted",
		"filesystemSandbox": "read-only"}
	server.Want(http.StatusOK, http.MethodPost, one+"/session-controls", programtest.Object{"scope": "default", "controls": controls})
	server.Stop()
	server = s.Start("SESSION_DEFAULTS_LOCKED=true", "DEFAULT_APPROVAL_POLICY=on-request")
	got := server.Want(http.StatusLocked, http.MethodPost, one+"/session-controls",
		programtest.Object{"scope": "default", "controls": controls})
	if programtest.Text(got, "message") != "Managed by harness configuration" ||
		programtest.Text(got, "defaults", "approvalPolicy") != "on-request" || got["defaultsEditable"] != false {
		t.Errorf("locked: %v", got)
	}
	server.Want(http.StatusLocked, http.MethodPost, one+"/settings", programtest.Object{"scope": "default", "key": "a", "value": 1})
	server.Want(http.StatusOK, http.MethodPost, one+"/session-controls", programtest.Object{"scope": "session", "controls": controls})
	audit := programtest.Entry(t, server.Transcript(strings.TrimPrefix(one, "/api/sessions/")), "session.controls.updated")
	if programtest.Text(audit, "turnId") != "session-controls" {
		t.Errorf("audit %v", audit)
	}
	server.Stop()
}

// TestChatsOfAProject: moving, archiving and deleting all chats with a real codex, reported in the order in which
// they joined the project.
func TestChatsOfAProject(t *testing.T) {
	programtest.EachSite(t, func(t *testing.T, s *programtest.Site) {
		server := s.Start()
		project := programtest.Text(server.Want(http.StatusOK, http.MethodPost, "/api/projects", programtest.Object{"name": "P"}), "project",
			"projectId")
		chats := "/api/projects/" + project + "/chats"
		assign := func(session string) {
			server.Want(http.StatusOK, http.MethodPost, "/api/sessions/"+session+"/project", programtest.Object{"projectId": project})
		}
		used, fresh := server.CreateSession(nil), server.CreateSession(nil)
		events := server.Follow("threadId=" + used)
		events.WaitTurn(server.Send(used, "Reply with exactly OK"))
		assign(fresh)
		assign(used)
		refused := server.Want(http.StatusConflict, http.MethodPost, chats+"/move-all", programtest.Object{"destination": "archive"})
		if ids, isList := refused["sessionIds"].([]any); !isList || len(ids) != 1 || ids[0] != fresh {
			t.Errorf("a chat without messages: %v", refused)
		}
		server.Want(http.StatusConflict, http.MethodDelete, "/api/projects/"+project, nil)
		moved := server.Want(http.StatusOK, http.MethodPost, chats+"/move-all", programtest.Object{"destination": "unassigned"})
		if programtest.Text(moved, "movedSessionCount") != "2" {
			t.Errorf("moved %v", moved)
		}
		assign(used)
		moved = server.Want(http.StatusOK, http.MethodPost, chats+"/move-all", programtest.Object{"destination": "archive"})
		if programtest.Text(moved, "movedSessionCount")+programtest.Text(moved, "archivedSessionCount") != "11" {
			t.Errorf("archived %v", moved)
		}
		assign(fresh)
		assign(used)
		deleted := server.Want(http.StatusOK, http.MethodPost, chats+"/delete-all", nil)
		if programtest.Text(deleted, "deletedSessionCount")+programtest.Text(deleted, "skippedSessionCount") != "20" {
			t.Errorf("deleted %v", deleted)
		}
		server.Want(http.StatusGone, http.MethodGet, "/api/sessions/"+used, nil)
		if none := server.Want(http.StatusOK, http.MethodGet, "/api/projects/"+project+"/agent-sessions", nil); len(
			none["data"].([]any)) != 0 {
			t.Errorf("workers %v", none)
		}
		server.Want(http.StatusOK, http.MethodDelete, "/api/projects/"+project, nil)
		server.Stop()
	})
}
