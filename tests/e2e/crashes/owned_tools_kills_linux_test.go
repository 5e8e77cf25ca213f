package crashes

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"harness/tests/dbtest"
	"harness/tests/programtest"
)

// toolKillsEnv is how many tasks with tools the test kills on each engine (make histories: 100).
const toolKillsEnv = "HARNESS_TOOL_KILLS"

// toolKills runs tasks whose agent calls a tool that logs each run, and kills the server or the agent.
type toolKills struct {
	*programtest.Site
	server  *programtest.Server
	port    string
	random  *rand.Rand
	session string
}

// counted is the file to which the tool appends a line.
const counted = "counted"

// TL-28, EV-06, OB-01: the server or the agent is killed at random moments of tasks with tools. No tool runs more
// often than it was approved, each task has one end, and the audit log is complete.
func TestKillsRunNoToolTwice(t *testing.T) {
	t.Parallel()
	rounds, seed := number(t, toolKillsEnv, 3), number(t, historiesSeed, 14)
	for n, engine := range dbtest.Engines() {
		t.Run(string(engine), func(t *testing.T) {
			t.Parallel()
			k := &toolKills{Site: programtest.New(t, programtest.WithEngine(engine), programtest.WithEnv("HARNESS_TOOLS=patch.apply")),
				random: rand.New(rand.NewPCG(uint64(seed), uint64(n)))}
			// The agent keeps running, and calls the next server at the same address.
			free, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			k.port = fmt.Sprintf("PORT=%d", free.Addr().(*net.TCPAddr).Port)
			if err := free.Close(); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(k.Workspace, counted), []byte("top\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			k.server = k.Start(k.port)
			k.server.AwaitRuntime()
			made := k.server.Want(http.StatusCreated, http.MethodPost, "/v1/sessions",
				programtest.Object{"runtime": "codex", "permissionMode": "ask", "cwd": k.Workspace})
			k.session = programtest.Text(made, "session_id")
			var ran int
			for round := range rounds {
				ran += k.round(fmt.Sprintf("task%d", round))
			}
			k.server.Stop()
			if ran == 0 {
				t.Error("no tool ran")
			}
			if code, said := k.Command("audit", "verify"); code != 0 || !strings.Contains(said, "the audit log is whole") {
				t.Errorf("%d %s", code, said)
			}
			t.Logf("%d kills of seed %d: %d runs", rounds, seed, ran)
		})
	}
}

// round runs one task with a kill. It returns how often its tool ran.
func (k *toolKills) round(task string) (ran int) {
	k.T.Helper()
	base := "/v1/sessions/" + k.session
	patch := fmt.Sprintf("--- a/%s\n+++ b/%s\n@@ -1 +1,2 @@\n top\n+%s.\n", counted, counted, task)
	input, err := json.Marshal(programtest.Object{"patch": patch})
	if err != nil {
		k.T.Fatal(err)
	}
	k.server.Want(http.StatusAccepted, http.MethodPost, base+"/tasks", programtest.Object{"task_id": task,
		"messages": []programtest.Object{{"role": "user", "content": programtest.OwnedTool("patch_apply", string(input))}}})
	moment := "before it was approved"
	if k.random.IntN(3) > 0 {
		moment = "after it was approved"
		k.server.Eventually("the call is asked about or over", func() bool { return k.approve() || k.ended(task) })
	}
	<-time.After(time.Duration(k.random.IntN([]int{8, 60, 400}[k.random.IntN(3)])) * time.Millisecond)
	victim := "server"
	if pid := k.server.RuntimePID(); k.random.IntN(4) == 0 && pid > 1 { // 0 would be this process's group
		victim = "agent"
		_ = syscall.Kill(pid, syscall.SIGKILL) // it may have just ended
	} else {
		k.server.Kill()
		k.server = k.Start(k.port)
	}
	k.server.AwaitRuntime()
	k.server.Eventually("the task ends", func() bool {
		k.approve()
		return k.ended(task)
	})
	approved, ended := 0, 0
	started := map[string]int{}
	for _, event := range k.events(base) {
		if programtest.Text(event, "trace", "task_id") != task {
			continue
		}
		switch kind := programtest.Text(event, "type"); kind {
		case "tool.call.approved":
			approved++
		case "tool.call.started":
			started[programtest.Text(event, "payload", "tool_call_id")+" "+programtest.Text(event, "payload", "attempt")]++
		case "task.completed", "task.failed", "task.stopped":
			ended++
		}
	}
	content, err := os.ReadFile(filepath.Join(k.Workspace, counted))
	if err != nil {
		k.T.Fatal(err)
	}
	ran = strings.Count(string(content), task+".\n")
	k.T.Logf("%s: %s killed %s: approved %d, ran %d", task, victim, moment, approved, ran)
	for call, times := range started {
		if times > 1 {
			k.T.Errorf("%s: call %s started %d times", task, call, times)
		}
	}
	if ran > approved || len(started) > approved || ended != 1 {
		k.T.Errorf("%s: approved %d, started %v, ran %d, ended %d", task, approved, started, ran, ended)
	}
	return ran
}

// approve accepts the open approvals. asked reports whether there were any.
func (k *toolKills) approve() (asked bool) {
	k.T.Helper()
	status, pending := k.server.Call(http.MethodGet, "/api/sessions/"+k.session+"/approvals", nil)
	if status != http.StatusOK {
		return false
	}
	for _, one := range pending["data"].([]any) {
		status, _ := k.server.Call(http.MethodPost, "/api/approvals/"+programtest.Text(one, "approvalId")+"/decision",
			programtest.Object{"decision": "accept"})
		asked = asked || status == http.StatusOK
	}
	return asked
}

func (k *toolKills) ended(task string) bool {
	k.T.Helper()
	status, answer := k.server.Call(http.MethodGet, "/v1/sessions/"+k.session+"/tasks/"+task, nil)
	switch programtest.Text(answer, "status") {
	case "completed", "failed", "stopped":
		return status == http.StatusOK
	}
	return false
}

// events returns all events of the session.
func (k *toolKills) events(base string) (all []any) {
	k.T.Helper()
	for after := 0; ; {
		page := k.server.Want(http.StatusOK, http.MethodGet, fmt.Sprintf("%s/events?after_seq=%d", base, after), nil)
		events := page["events"].([]any)
		if len(events) == 0 {
			return all
		}
		all = append(all, events...)
		after = int(events[len(events)-1].(programtest.Object)["seq"].(float64))
	}
}
