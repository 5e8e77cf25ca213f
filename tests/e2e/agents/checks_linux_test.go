package agents

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"harness/internal/runtime/process"
	"harness/tests/programtest"
)

// everyRuntimeAndCodex returns all runtimes of a server, with the levels that let their models work.
func everyRuntimeAndCodex() []driven {
	codexToo := driven{name: "codex", levels: programtest.Object{"approvalPolicy": "never", "filesystemSandbox": "danger-full-access"}}
	return append([]driven{codexToo}, everyDoor()...)
}

// body returns the request body that opens a session of a runtime.
func (d driven) body(more programtest.Object) programtest.Object {
	body := programtest.Object{"runtime": d.name}
	maps.Copy(body, d.levels)
	maps.Copy(body, more)
	return body
}

// The layers above the adapters behave the same for every runtime. This covers its folder, its network in full
// access, errors of its provider, and a message to a busy session.
func TestChecksAreTheSameForEveryRuntime(t *testing.T) {
	t.Parallel()
	s := andOpenCodeOverACP(withEveryRuntime(t))
	server := s.Start("HARNESS_LOG_LEVEL=warn")
	server.WaitRuntime()
	events := server.Follow("after=0")
	if ready := fmt.Sprint(server.Want(http.StatusOK, http.MethodGet, "/api/setup", nil)); strings.Contains(ready, "notInstalled") ||
		strings.Count(ready, "state:ready") == 0 { // CO-23
		t.Errorf("set up is %s", ready)
	}
	for _, one := range everyRuntimeAndCodex() {
		t.Run(one.name, func(t *testing.T) {
			t.Run("folder", func(t *testing.T) { one.checkFolder(t, server, events) })
			t.Run("start", func(t *testing.T) { one.checkStart(t, server, events) })
			t.Run("network", func(t *testing.T) { one.checkNetwork(t, server) })
			t.Run("provider", func(t *testing.T) { one.checkProvider(t, server, events) })
			t.Run("queue", func(t *testing.T) { one.checkQueue(t, s, server, events) })
		})
	}
	server.Stop()
}

// checkFolder: an unusable folder opens no session. A session with a missing folder refuses messages until the folder
// is back.
func (d driven) checkFolder(t *testing.T, server *programtest.Server, events *programtest.Follower) {
	file := filepath.Join(server.Workspace, d.name+"-file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, cwd := range []string{"/no/such", file, "missing", "../" + filepath.Base(server.Workspace)} {
		body := programtest.Object{"runtime": d.name, "cwd": cwd, "native_tools": "on"}
		if said := fmt.Sprint(server.Want(http.StatusBadRequest, http.MethodPost, "/v1/sessions", body)); !strings.Contains(said, "invalid_cwd") {
			t.Errorf("/v1/sessions with the folder %q: %s", cwd, said)
		}
		status, code := http.StatusBadRequest, "invalid_cwd"
		if strings.HasSuffix(cwd, "such") || cwd == "missing" { // CO-21
			status, code = http.StatusUnprocessableEntity, "folder_missing"
		}
		if said := fmt.Sprint(server.Want(status, http.MethodPost, "/api/sessions", d.body(programtest.Object{"cwd": cwd}))); !strings.
			Contains(said, code) {
			t.Errorf("/api/sessions with the folder %q: %s", cwd, said)
		}
	}
	folder := filepath.Join(server.Workspace, d.name+"-work")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	session := server.CreateSession(d.body(programtest.Object{"cwd": d.name + "-work"})) // below the workspace
	suggested := fmt.Sprint(server.Want(http.StatusOK, http.MethodGet, "/api/folders?q="+d.name+"-", nil))
	if strings.Count(suggested, "path:"+folder) != 2 || strings.Contains(suggested, "-file") { // recent, and a match
		t.Errorf("suggested are %s", suggested)
	}
	if err := os.Rename(folder, folder+".away"); err != nil {
		t.Fatal(err)
	}
	for path, body := range map[string]any{"/messages": programtest.Object{"text": "MOCK_REPLY[a]"},
		"/queue": programtest.Object{"text": "MOCK_REPLY[a]"}, "/resume": nil} {
		refused := server.Want(http.StatusConflict, http.MethodPost, "/api/sessions/"+session+path, body)
		if programtest.Text(refused, "code") != "workspace_missing" || programtest.Text(refused, "details", "cwd") != folder {
			t.Errorf("%s: %v", path, refused)
		}
	}
	can := server.Want(http.StatusOK, http.MethodGet, "/api/sessions/"+session, nil)
	for _, able := range []string{"fork", "compact", "review"} {
		if programtest.Text(can, "capabilities", able) != "true" {
			continue
		}
		refused := server.Want(http.StatusConflict, http.MethodPost, "/api/sessions/"+session+"/"+able, nil)
		if programtest.Text(refused, "code") != "workspace_missing" {
			t.Errorf("%s: %v", able, refused)
		}
	}
	if err := os.Rename(folder+".away", folder); err != nil {
		t.Fatal(err)
	}
	if status := events.FindTurn(server.Send(session, "MOCK_REPLY[back]")); status != "completed" {
		t.Errorf("with its folder back the turn ended %s", status)
	}
}

// checkStart: one request opens a session and sends its first message, once for a key. An invalid message opens none.
// CO-22
func (d driven) checkStart(t *testing.T, server *programtest.Server, events *programtest.Follower) {
	count := func() int { return len(programtest.List(t, server, "/api/sessions?runtime="+d.name)) }
	before := count()
	server.Want(http.StatusBadRequest, http.MethodPost, "/api/sessions", d.body(programtest.Object{"message": programtest.Object{
		"text": "a", "images": []string{"https://example.org/a.png"}}}))
	body, err := json.Marshal(d.body(programtest.Object{"message": programtest.Object{"text": "MOCK_REPLY[begun]"}}))
	if err != nil {
		t.Fatal(err)
	}
	var first string
	for range 2 {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+"/api/sessions", bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Idempotency-Key", "start-"+d.name)
		_, answer, _ := strings.Cut(server.Show(request), "\r\n\r\n")
		started := programtest.Decode[programtest.Object](t, []byte(answer))
		if first == "" {
			first = answer
			if turn := programtest.Text(started, "turn", "turnId"); turn == "" || events.FindTurn(turn) != "completed" {
				t.Errorf("started is %s", answer)
			}
		}
		said := 0
		for _, entry := range server.Transcript(programtest.Text(started, "session", "sessionId")) {
			if programtest.Text(entry, "content") == "MOCK_REPLY[begun]" {
				said++
			}
		}
		if answer != first || said != 1 {
			t.Errorf("the message was sent %d times; answered\n%s, before\n%s", said, answer, first)
		}
	}
	if now := count(); now != before+1 {
		t.Errorf("%d sessions were opened", now-before)
	}
}

// checkNetwork: full access includes the network, and a client that names the runtime cannot restrict it.
func (d driven) checkNetwork(t *testing.T, server *programtest.Server) {
	body := programtest.Object{"runtime": d.name, "approvalPolicy": "untrusted", "filesystemSandbox": "danger-full-access"}
	session := server.CreateSession(body)
	controls := server.Want(http.StatusOK, http.MethodGet, "/api/sessions/"+session, nil)
	if network := programtest.Text(controls, "session", "sessionControls", "networkAccess"); network != "enabled" {
		t.Errorf("the network is %s", network)
	}
	body["networkAccess"] = "restricted"
	refused := server.Want(http.StatusBadRequest, http.MethodPost, "/api/sessions", body)
	if programtest.Text(refused, "code") != "unsupported_control" || programtest.Text(refused, "details", "field") != "networkAccess" {
		t.Errorf("restricted is %v", refused)
	}
}

// triesLong reports whether the agent retries a refused request for minutes.
func (d driven) triesLong() bool {
	return slices.Contains([]string{"gemini", "opencode", "opencode-acp"}, d.name)
}

// refusal is a model provider's error, and a part of the message that a person gets.
type refusal struct {
	status            int
	words, read, ends string
}

// unnamed is a part of the remedy for a provider's failure when the agent does not pass on its status.
const unnamed = "does not pass on its status"

// refusals returns a provider's errors and the resulting messages. Some agents pass on no status. The message then
// uses the provider's text where it is known, otherwise a remedy that applies to all errors.
func (d driven) refusals() []refusal {
	all := []refusal{{status: 402, read: "credit"}, {status: 404, read: "knows no such model"}, {status: 413, read: "too large"}}
	if !d.triesLong() {
		for _, status := range []int{502, 503, 529} {
			all = append(all, refusal{status: status, read: fmt.Sprintf("(%d)", status)})
		}
		return append(all, refusal{status: 429, read: "limit"})
	}
	switch d.name {
	case "gemini":
		all[1].read = unnamed // Gemini CLI reports 500 instead, with the provider's text
		all = append(all, refusal{404, "models/m is not found for API version v1beta.", "knows no such model", ""})
	case "opencode":
		all[2].read = "too long for the model" // OpenCode has one error for it and for a full context
	case "opencode-acp": // its protocol passes on the provider's text but not the status
		all[0].read, all[1].read = unnamed, unnamed
		all[2].read, all[2].ends = "", "completed" // OpenCode compacts the conversation and continues
		all = append(all, refusal{402, "Insufficient Balance", "has no credit left", ""},
			refusal{404, "The model `m` does not exist or you do not have access to it.", "knows no such model", ""})
	}
	return all
}

// checkProvider: each error of a model provider has a specific remedy.
func (d driven) checkProvider(t *testing.T, server *programtest.Server, events *programtest.Follower) {
	for _, one := range d.refusals() {
		text := fmt.Sprintf("MOCK_HTTP_%d", one.status)
		if one.words != "" {
			text += "[" + one.words + "]"
		}
		session := server.CreateSession(d.body(nil))
		if ended := events.FindTurn(server.Send(session, text)); ended != cmp.Or(one.ends, "failed") {
			t.Errorf("refused with %d the turn ended %s", one.status, ended)
			continue
		}
		if one.read == "" {
			continue
		}
		entry := programtest.Entry(t, server.Transcript(session), "turn.error")
		said := programtest.Text(entry, "content")
		if !strings.Contains(said, one.read) || strings.Contains(said, "network") {
			t.Errorf("refused with %d %s: %q, want %q in it", one.status, one.words, said, one.read)
		}
	}
}

// checkQueue: a message to a busy session gets an immediate response. It is steered into the turn, or queued and sent
// after the turn.
func (d driven) checkQueue(t *testing.T, s *programtest.Site, server *programtest.Server, events *programtest.Follower) {
	session, hold := server.CreateSession(d.body(nil)), "queue-"+d.name
	first := server.Send(session, "MOCK_HOLD["+hold+"]")
	if err := s.Model.WaitHeld(t.Context(), hold); err != nil {
		t.Fatal(err)
	}
	defer s.Model.Release(hold)
	begun := time.Now()
	answer := server.Want(http.StatusAccepted, http.MethodPost, "/api/sessions/"+session+"/messages",
		programtest.Object{"text": "MOCK_REPLY[next]"})
	if took := time.Since(begun); took > 3*time.Second {
		t.Errorf("it was answered after %s", took)
	}
	capabilities := server.Want(http.StatusOK, http.MethodGet, "/api/runtimes/"+d.name, nil)
	if programtest.Text(capabilities, "capabilities", "steer") == "true" {
		if programtest.Text(answer, "status") != "accepted" {
			t.Errorf("a runtime that steers answered %v", answer)
		}
		return
	}
	if programtest.Text(answer, "status") != "queued" || programtest.Text(answer, "position") != "1" {
		t.Fatalf("it was answered %v", answer)
	}
	s.Model.Release(hold)
	id, turn := programtest.Text(answer, "messageId"), ""
	events.Find("the message is sent", func(f programtest.Frame) bool {
		if f.Type != "message_queue_updated" || programtest.Text(f.Decoded(), "sent", "id") != id {
			return false
		}
		turn = programtest.Text(f.Decoded(), "sent", "turnId")
		return true
	})
	if ended := events.FindTurn(first); ended != "completed" {
		t.Errorf("the turn before ended %s", ended)
	}
	if ended := events.FindTurn(turn); ended != "completed" {
		t.Errorf("the turn of the queued message ended %s", ended)
	}
}

// The server never starts or queries a runtime that the operator disabled, through any interface.
func TestADisabledRuntimeIsNeverStarted(t *testing.T) {
	t.Parallel()
	s := withEveryRuntime(t)
	names := slices.DeleteFunc(allRuntimes(), func(name string) bool { return name == "codex" })
	server := s.Start("HARNESS_RUNTIME_STATUS=" + strings.Join(names, "=disabled,") + "=disabled")
	server.WaitRuntime()
	begun := time.Now()
	if unknown := server.Want(http.StatusNotFound, http.MethodGet, unknownSession, nil); time.Since(begun) > time.Second {
		t.Errorf("an unknown session took %s: %v", time.Since(begun), unknown)
	}
	for _, name := range names {
		for _, try := range []struct {
			method, path string
			body         any
		}{
			{http.MethodGet, "/api/models?runtime=" + name, nil},
			{http.MethodPost, "/api/sessions", programtest.Object{"runtime": name}},
			{http.MethodPost, "/v1/sessions", programtest.Object{"runtime": name, "native_tools": "on"}},
			{http.MethodPost, "/api/runtimes/" + name + "/login", programtest.Object{}},
		} {
			refused := server.Want(http.StatusConflict, try.method, try.path, try.body)
			if said := fmt.Sprint(refused); !strings.Contains(said, "runtime_disabled") || !strings.Contains(said, "HARNESS_RUNTIME_STATUS") {
				t.Errorf("%s %s: %s", try.method, try.path, said)
			}
		}
		now := server.Want(http.StatusOK, http.MethodGet, "/api/runtimes/"+name, nil)
		if programtest.Text(now, "status") != "disabled" || now["pid"] != nil {
			t.Errorf("%s is %v", name, now)
		}
		if running, err := process.Carrying(process.MarkVariable + "=" + process.Marker(s.DataDir, name)); err != nil || len(running) != 0 {
			t.Errorf("%s runs as %v, %v", name, running, err)
		}
	}
	server.Stop()
}
