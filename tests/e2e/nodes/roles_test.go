package nodes

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"harness/internal/platform/database"
	"harness/tests/programtest"
)

// newRoles starts two nodes. a runs agents and serves no clients. b serves clients and has neither agents nor codex.
func newRoles(t *testing.T) *nodes {
	t.Helper()
	n := &nodes{siteA: programtest.New(t, programtest.WithEngine(database.Postgres), withPort(), programtest.WithRaceDetector(),
		programtest.WithEnv("HARNESS_ROLES=runner"))}
	n.siteB = programtest.New(t, programtest.WithDatabaseOf(n.siteA), withPort(), programtest.WithRaceDetector(),
		programtest.WithEnv("HARNESS_ROLES=api", "CODEX_BIN=/nowhere/codex"))
	n.siteA.RecordCalls()
	n.a, n.b = n.siteA.Start(), n.siteB.Start()
	return n
}

// A node without agents forwards everything that needs one to a runner, from every API, and a runner serves only that
// node.
func TestRolesOfNodes(t *testing.T) {
	t.Parallel()
	n := newRoles(t)
	n.b.Eventually("the runner's codex is there", func() bool {
		status, _ := n.b.Call(http.MethodGet, "/api/models", nil)
		return status == http.StatusOK
	})

	space := programtest.Text(n.b.Want(http.StatusOK, http.MethodPost, "/api/projects",
		programtest.Object{"name": "p", "workingDirectory": n.siteA.Workspace}), "project", "projectId")
	start := programtest.Object{"jsonrpc": "2.0", "id": 7, "method": "session/start", "params": programtest.Object{
		"workspace_id": space, "mode": "new"}}
	session := programtest.Text(n.b.Want(http.StatusOK, http.MethodPost, "/api/sessions", untrusted), "session", "sessionId")
	for how, made := range map[string]string{
		"REST":         session,
		"the task API": programtest.Text(n.b.Want(http.StatusCreated, http.MethodPost, "/v1/sessions", nil), "session_id"),
		"JSON-RPC":     programtest.Text(n.b.Want(http.StatusOK, http.MethodPost, "/rpc", start), "result", "session_id"),
	} {
		if owner := n.ownerOf(t, made); owner != nodeID(n.siteA) {
			t.Errorf("asked by %s session %s was made at %s", how, made, owner)
		}
	}
	events := n.b.Follow("threadId=" + session)
	turn := n.b.Send(session, "MOCK_CMD[echo granted]")
	n.b.Decide(programtest.Text(events.WaitType("approval").Decoded(), "approvalId"))
	if status := events.WaitTurn(turn); status != "completed" {
		t.Errorf("a turn ended %s", status)
	}
	job := programtest.Text(n.b.Want(http.StatusAccepted, http.MethodPost, "/api/sessions/"+session+"/suggested-request/jobs",
		programtest.Object{}), "jobId")
	n.b.Eventually("a job of the session is over", func() bool {
		return programtest.Text(n.b.Want(http.StatusOK, http.MethodGet, "/api/orchestrator/jobs/"+job, nil), "job", "completedAt") != ""
	})

	runtimes, _ := n.b.Want(http.StatusOK, http.MethodGet, "/api/runtimes", nil)["data"].([]any)
	if len(runtimes) == 0 || programtest.Text(runtimes[0], "name") != "codex" || programtest.Text(runtimes[0], "state") != "ready" {
		t.Errorf("the runtimes are %v", runtimes)
	}
	n.b.Want(http.StatusOK, http.MethodGet, "/v1/capabilities", nil)
	for _, node := range []*programtest.Server{n.a, n.b} {
		for _, path := range []string{"/api/ready", "/readyz", "/healthz", "/api/health"} {
			if status, answer := node.Call(http.MethodGet, path, nil); status != http.StatusOK {
				t.Errorf("%s answers %d %v", path, status, answer)
			}
		}
		if node.Metric("harness_node_lease_sure") != 1 {
			t.Error("a lease is not sure")
		}
	}
	for _, path := range []string{"/", "/api/sessions", "/api/sessions/" + session, "/v1/sessions", "/api/stream", "/rpc/openrpc.json"} {
		status, answer := n.a.Call(http.MethodGet, path, nil)
		if status != http.StatusMisdirectedRequest || programtest.Text(answer, "code") != "no_api" ||
			!strings.Contains(programtest.Text(answer, "message"), nodeID(n.siteA)) {
			t.Errorf("the runner answers %s with %d %v", path, status, answer)
		}
	}
	list := n.siteA.MustRun("nodes", "list")
	for _, roles := range []string{nodeID(n.siteA) + ` .* runner `, nodeID(n.siteB) + ` .* api `} {
		if !regexp.MustCompile(roles).MatchString(list) {
			t.Errorf("%s is not in the list:\n%s", roles, list)
		}
	}

	n.a.Stop()
	status, answer := n.b.Call(http.MethodPost, "/api/sessions", untrusted)
	if status != http.StatusServiceUnavailable || !strings.Contains(programtest.Text(answer, "message"), "HARNESS_ROLES") {
		t.Errorf("without a runner it is answered %d %v", status, answer)
	}
}

// Roles that would serve no client are refused at startup, with a remedy.
func TestRolesThatMakeNoSense(t *testing.T) {
	t.Parallel()
	lite := programtest.New(t, programtest.WithEngine(database.SQLite))
	postgres := programtest.New(t, programtest.WithEngine(database.Postgres))
	for _, test := range []struct {
		site      *programtest.Site
		env, says string
	}{
		{lite, "HARNESS_ROLES=,", "names no role"},
		{lite, "HARNESS_ROLES=worker", "api, runner, or both"},
		{lite, "HARNESS_ROLES=api", "set DATABASE_URL"},
		{lite, "HARNESS_ROLES=runner", "set DATABASE_URL"},
		{postgres, "HARNESS_ROLES=api", "set HARNESS_NODE_ADDRESS"},
		{postgres, "HARNESS_ROLES=runner", "set HARNESS_NODE_ADDRESS"},
	} {
		env := test.site.Env
		test.site.Env = append(append([]string{}, env...), test.env)
		code, _, output := test.site.Run("serve")
		test.site.Env = env
		if code != 2 || !strings.Contains(output, test.says) {
			t.Errorf("%s on %s ended with %d: %s", test.env, test.site.Store().URL, code, output)
		}
	}
}
