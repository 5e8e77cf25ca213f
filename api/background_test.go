package api_test

import (
	"net/http"
	"testing"

	"harness/internal/services/session"
)

// The routes list and end the background work of a session. A stop reports the work that it ended and the work that
// continues.
func TestBackgroundWorkOverREST(t *testing.T) {
	t.Parallel()
	b := setup(t)
	tasks := []session.BackgroundTask{{ID: "7", Kind: "command", Command: "sleep 9", CanEnd: true, TurnID: "t", StartedAt: 1000}}
	b.sessions.background = tasks
	const (
		path = "/api/sessions/" + knownID
		task = `{"id":"7","kind":"command","command":"sleep 9","turnId":"t","startedAt":"1970-01-01T00:00:01.000Z","canEnd":true}`
		said = `{"status":"ok","sessionId":"` + knownID + `","background":[`
	)
	expect(t, b.send(http.MethodGet, path+"/background", "", ""), http.StatusOK, said+task+`]}`)
	b.sessions.next.turnID = "t"
	expect(t, b.post(path+"/interrupt", `{}`), http.StatusOK,
		`{"status":"ok","sessionId":"`+knownID+`","turnId":"t","endedBackground":[`+task+`]}`)
	expect(t, b.post(path+"/interrupt", `{"keepBackground":true}`), http.StatusOK,
		`{"status":"ok","sessionId":"`+knownID+`","turnId":"t","background":[`+task+`]}`)
	expect(t, b.post(path+"/background/7/stop", `{}`), http.StatusOK, said+`]}`)
	expect(t, b.post(path+"/background/7/stop", `{}`), http.StatusNotFound,
		`{"status":"error","code":"background_not_found","message":"no such background work runs"}`)
	b.sessions.fail = &session.BackgroundError{SessionID: knownID, Wish: "the model cannot change", Tasks: tasks}
	expect(t, b.send(http.MethodGet, path+"/background", "", ""), http.StatusConflict,
		`{"status":"error","code":"background_work","message":"`+b.sessions.fail.Error()+`","details":{"sessionId":"`+knownID+
			`","background":[`+task+`]}}`)
}
