package nodes

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"harness/internal/platform/auth"
	"harness/internal/platform/cluster"
	"harness/internal/platform/cluster/forward"
	"harness/tests/certtest"
	"harness/tests/dbtest"
	"harness/tests/programtest"
)

// withPort opens a node port.
func withPort() programtest.SiteOption {
	return programtest.WithEnv("HARNESS_NODE_ADDRESS=127.0.0.1:0")
}

// The owner handles requests that need its runtime. Any node forwards them, with the same result as a direct request.
func TestAnyNodeIsAskedForWhatTheOwnerMustDo(t *testing.T) {
	t.Parallel()
	n := newNodes(t, withPort(), programtest.WithRaceDetector())
	session := n.a.CreateSession(untrusted)
	one := "/api/sessions/" + session
	events := n.b.Follow("threadId=" + session)

	if status := events.WaitTurn(n.b.Send(session, "MOCK_REPLY[first]")); status != "completed" {
		t.Errorf("a turn begun at the other node ended %s", status)
	}

	for _, way := range []struct{ hold, path, ends string }{
		{"steered", "/turns/%s/steer", "completed"}, {"stopped", "/interrupt", "interrupted"},
	} {
		turn := n.b.Send(session, "MOCK_HOLD["+way.hold+"]")
		if err := n.siteA.Model.WaitHeld(t.Context(), way.hold); err != nil {
			t.Fatal(err)
		}
		path, body := one+way.path, programtest.Object{"turnId": turn}
		if way.hold == "steered" {
			path, body = one+fmt.Sprintf(way.path, turn), programtest.Object{"input": "faster"}
		}
		n.b.Want(http.StatusOK, http.MethodPost, path, body)
		n.siteA.Model.Release(way.hold)
		if status := events.WaitTurn(turn); status != way.ends {
			t.Errorf("a turn that is %s ended %s", way.hold, status)
		}
	}

	turn := n.b.Send(session, "MOCK_CMD[echo granted]")
	n.b.Decide(programtest.Text(events.WaitType("approval").Decoded(), "approvalId"))
	if status := events.WaitTurn(turn); status != "completed" {
		t.Errorf("an approved turn ended %s", status)
	}

	n.b.Want(http.StatusOK, http.MethodPost, one+"/settings", programtest.Object{"scope": "session", "key": "k", "value": 1})
	n.b.Want(http.StatusOK, http.MethodPost, one+"/rename", programtest.Object{"title": "renamed elsewhere"})
	if title := programtest.Text(n.a.Want(http.StatusOK, http.MethodGet, one, nil), "session", "title"); title != "renamed elsewhere" {
		t.Errorf("the title is %q", title)
	}
	// Refusals come from the owner too: 404 and 409 are the same as there.
	n.b.Want(http.StatusNotFound, http.MethodPost, "/api/sessions/no-such-session/messages", programtest.Object{"text": "hi"})
	for _, body := range []any{programtest.Object{}, programtest.Object{"turnId": "none"}} {
		hereStatus, here := n.a.Call(http.MethodPost, one+"/interrupt", body)
		thereStatus, there := n.b.Call(http.MethodPost, one+"/interrupt", body)
		if hereStatus != thereStatus || fmt.Sprint(here) != fmt.Sprint(there) {
			t.Errorf("interrupt %v answers %d %v, at the other node %d %v", body, hereStatus, here, thereStatus, there)
		}
	}
	n.b.Want(http.StatusOK, http.MethodDelete, one, nil)
	n.a.Want(http.StatusGone, http.MethodPost, one+"/messages", programtest.Object{"text": "hi"})
	if calls := n.siteB.Calls(session); len(calls) > 0 {
		t.Errorf("the codex of the other node got %v", calls)
	}
	const asked = "harness_nodes_asked_total"
	if ofA, ofB := n.a.Metric(asked), n.b.Metric(asked+`{outcome="answered"}`); ofA != 0 || ofB < 8 || ofB != n.b.Metric(asked) {
		t.Errorf("the owner has asked others %v times, the other node was answered %v times", ofA, ofB)
	}
	nodes, err := cluster.List(t.Context(), dbtest.Connect(t, n.siteA.Store()))
	if err != nil || len(nodes) != 2 || !strings.HasPrefix(nodes[0].Address, "127.0.0.1:") || nodes[0].Address == nodes[1].Address {
		t.Errorf("the nodes are %+v, %v", nodes, err)
	}
	n.siteA.FoldJournal("")
}

// A request with a key is executed once, on whichever node.
func TestAKeyCountsAtEveryNode(t *testing.T) {
	t.Parallel()
	n := newNodes(t, withPort())
	session := n.a.CreateSession(nil)
	events := n.b.Follow("threadId=" + session)
	var turns []string
	for _, node := range []*programtest.Server{n.b, n.a, n.b} {
		node.Headers = map[string]string{"Idempotency-Key": "key-1"}
		turns = append(turns, node.Send(session, "MOCK_REPLY[once]"))
		node.Headers = nil
	}
	events.WaitTurn(turns[0])
	if turns = slices.Compact(turns); len(turns) != 1 {
		t.Errorf("the turns are %q", turns)
	}
	if replies := n.a.Entries(session, "agentMessage"); len(replies) != 1 {
		t.Errorf("the agent has said %v", replies)
	}
}

// The owner is killed. Until other nodes may end its work, they respond with a retry time. Then its turns are ended,
// and its sessions wait for it.
func TestAnOwnerThatWasKilled(t *testing.T) {
	t.Parallel()
	n := newNodes(t, withPort(), programtest.WithEnv("HARNESS_NODE_GRACE_MS=5000"))
	session := n.a.CreateSession(nil)
	events := n.b.Follow("threadId=" + session)
	turn := n.b.Send(session, "MOCK_HOLD[on]")
	if err := n.siteA.Model.WaitHeld(t.Context(), "on"); err != nil {
		t.Fatal(err)
	}
	n.awaitGuarded(t)
	n.a.Kill()
	n.siteA.EndRuntimes()
	path := "/api/sessions/" + session + "/messages"
	status, after, answer := n.message(t, path)
	if status != http.StatusServiceUnavailable || programtest.Text(answer, "code") != "owner_unreachable" ||
		!strings.Contains(programtest.Text(answer, "message"), nodeID(n.siteA)) || after < 1 || after > 10 {
		t.Errorf("asked for a dead node's session it answers %d %v, again in %d s", status, answer, after)
	}
	if count := n.b.Metric(`harness_nodes_asked_total{outcome="unreachable"}`); count != 1 {
		t.Errorf("%v owners were counted as unreachable", count)
	}
	if status := events.WaitTurn(turn); status != "interrupted" {
		t.Errorf("the dead node's turn ended %s", status)
	}
	status, _, answer = n.message(t, path)
	if status != http.StatusMisdirectedRequest || programtest.Text(answer, "owner", "nodeId") != nodeID(n.siteA) {
		t.Errorf("once its turns were ended it answers %d %v", status, answer)
	}
	n.a = n.siteA.Start()
	n.a.WaitRuntime()
	if status := events.WaitTurn(n.b.Send(session, "MOCK_REPLY[back]")); status != "completed" {
		t.Errorf("the next turn ended %s", status)
	}
}

// awaitGuarded waits until a has noticed the other node.
func (n *nodes) awaitGuarded(t *testing.T) {
	t.Helper()
	db := dbtest.Connect(t, n.siteA.Store())
	n.a.Eventually("the other node may end it", func() bool {
		var guarded int64
		if err := db.Read().QueryRowContext(t.Context(), `select guarded from nodes where node_id = $1`, nodeID(n.siteA)).
			Scan(&guarded); err != nil {
			t.Fatal(err)
		}
		return guarded == 1
	})
}

// message sends a message to b, and returns the number of seconds until it may be sent again.
func (n *nodes) message(t *testing.T, path string) (status, after int, answer programtest.Object) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, n.b.URL+path, strings.NewReader(`{"text":"hi"}`))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := n.b.Client().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		t.Fatal(err)
	}
	after, _ = strconv.Atoi(response.Header.Get("Retry-After"))
	return response.StatusCode, after, answer
}

// A server accepts requests only from nodes with a certificate of its CA, and sends requests only to such nodes. It
// does not forward a forwarded request again. MC-42: see stolen.
func TestNodesWithCertificatesThatAreGiven(t *testing.T) {
	t.Parallel()
	ours, theirs := certtest.New(t), certtest.New(t)
	given := func(ca *certtest.Authority, name string) ([]string, certtest.Files) {
		files := ca.Issue(name, time.Now().Add(time.Hour))
		dir := t.TempDir()
		for name, file := range map[string]string{"tls.crt": files.Certificate, "tls.key": files.Key, "ca.crt": files.CA} {
			if err := os.Symlink(file, filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
		return []string{"HARNESS_NODE_TLS_DIR=" + dir}, files
	}
	n := newNodes(t, withPort(), programtest.WithEnv("HARNESS_CONTROL_AGENTS=write"))
	n.b.Stop()
	n.a.Stop()
	envA, _ := given(ours, "a")
	envB, filesB := given(ours, "b")
	n.a, n.b = n.siteA.Start(envA...), n.siteB.Start(envB...)
	n.a.WaitRuntime()
	n.b.WaitRuntime()
	session, ofB := n.a.CreateSession(nil), n.b.CreateSession(nil)
	n.b.Want(http.StatusOK, http.MethodPost, "/api/sessions/"+session+"/rename", programtest.Object{"title": "from b"})

	// b forwards a request to a for a session that b owns, as happens when the owner changes. a does not forward it.
	db := dbtest.Connect(t, n.siteA.Store())
	identity, err := forward.NewIdentity(nodeID(n.siteB), forward.Files(filesB))
	if err != nil {
		t.Fatal(err)
	}
	client := &forward.Client{Identity: identity, DB: db}
	defer client.Close()
	for role, want := range map[auth.Role]int{auth.RoleOperator: http.StatusMisdirectedRequest, auth.RoleMember: http.StatusForbidden,
		auth.RoleCI: http.StatusForbidden} {
		request := httptest.NewRequestWithContext(auth.WithPrincipal(t.Context(), auth.Principal{Actor: "ann", Role: role}),
			http.MethodPost, "/api/sessions/"+ofB+"/rename", nil)
		request.Header.Set("Content-Type", "application/json")
		answer, err := client.Ask(request, nodeID(n.siteA), `{"title":"again"}`)
		if err != nil {
			t.Fatal(err)
		}
		if answer.StatusCode != want {
			t.Errorf("as %s it is answered %d, want %d", role, answer.StatusCode, want)
		}
		answer.Body.Close()
	}

	n.stolen(t, client, ofB, session)
	n.b.Want(http.StatusOK, http.MethodPost, "/api/sessions/"+session+"/rename", programtest.Object{"title": "from b"})

	n.b.Stop()
	envB, _ = given(theirs, "b")
	for name, env := range map[string][]string{"another CA": envB, "no CA": nil} {
		n.b = n.siteB.Start(env...)
		status, answer := n.b.Call(http.MethodPost, "/api/sessions/"+session+"/rename", programtest.Object{"title": "from a stranger"})
		if status != http.StatusServiceUnavailable || programtest.Text(answer, "code") != "owner_unreachable" {
			t.Errorf("a node with %s is answered %d %v", name, status, answer)
		}
		n.b.Stop()
	}
	title := programtest.Text(n.a.Want(http.StatusOK, http.MethodGet, "/api/sessions/"+session, nil), "session", "title")
	if title != "from b" {
		t.Errorf("the title is %q", title)
	}
}
