package agents

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"harness/tests/polling"
	"harness/tests/programtest"
)

// backgrounded returns the prompt that makes a runtime's model leave a command running after its turn.
func backgrounded(runtime, command string) string {
	switch runtime {
	case "claude", "claude-acp":
		return fmt.Sprintf(`MOCK_CALL[Bash|{"command":%q,"run_in_background":true,"description":"d"}]END`, command)
	case "codex", "codex-acp":
		// Its commands outlive their turns; the model waits for them only as long as codex requires.
		return fmt.Sprintf(`MOCK_CALL[exec_command|{"cmd":%q,"sandbox_permissions":"require_escalated","justification":"d",`+
			`"yield_time_ms":250}]END`, command)
	default:
		// Gemini sends SIGHUP to the processes that its shell leaves behind; nohup may be too late to ignore it.
		return "MOCK_CMD[trap '' HUP; " + command + " >/dev/null 2>&1 &]"
	}
}

// behind is a session of a runtime with commands that outlive their turns.
type behind struct {
	driven
	server  *programtest.Server
	session string
	number  int // of the next command
}

// commandRuns reports whether a process with a text in its command line runs.
func commandRuns(text string) bool {
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, name := range lines {
		line, err := os.ReadFile(name)
		if err == nil && strings.Contains(strings.ReplaceAll(string(line), "\x00", " "), text) {
			return true
		}
	}
	return false
}

// command returns a command that is unique in the test.
func (b *behind) command() string {
	b.number++
	return fmt.Sprintf("sleep %d", 300_000+b.number)
}

// approve accepts the session's approvals until a condition holds.
func (b *behind) approve(t *testing.T, what string, until func() bool) {
	t.Helper()
	if !polling.Until(programtest.Patience, func() bool {
		for _, one := range b.server.Approvals(b.session) {
			b.server.Call(http.MethodPost, "/api/approvals/"+programtest.Text(one, "approvalId")+"/decision",
				programtest.Object{"decision": "accept"}) // an earlier poll may have approved it
		}
		return until()
	}) {
		tasks, turn := b.tasks()
		t.Fatalf("never: %s; turn %v runs, and in the background %v", what, turn, tasks)
	}
}

// tasks returns the background tasks and the turn that the session shows.
func (b *behind) tasks() (list []any, turn any) {
	read, _ := b.server.Want(http.StatusOK, http.MethodGet, "/api/sessions/"+b.session, nil)["session"].(programtest.Object)
	doing, _ := read["activity"].(programtest.Object)
	list, _ = doing["background"].([]any)
	return list, doing["turn"]
}

// task returns the background task of a command, nil if the session does not show it.
func (b *behind) task(command string) any {
	list, _ := b.tasks()
	for _, one := range list {
		if strings.Contains(programtest.Text(one, "command"), command) {
			return one
		}
	}
	return nil
}

// leave runs a turn that leaves a command running, and returns the turn.
func (b *behind) leave(t *testing.T, command string) (turn string) {
	t.Helper()
	turn = b.server.Send(b.session, backgrounded(b.name, command))
	b.approve(t, "the command shows in the background of its session", func() bool {
		_, active := b.tasks()
		return active == nil && b.task(command) != nil
	})
	return turn
}

// turns counts the turns of the transcript.
func (b *behind) turns() int {
	turns := map[string]bool{}
	for _, entry := range b.server.Transcript(b.session) {
		turns[programtest.Text(entry, "turnId")] = true
	}
	return len(turns)
}

func (b *behind) path(parts ...string) string {
	return "/api/sessions/" + b.session + "/" + strings.Join(parts, "/")
}

// For every runtime, a session shows the work that a turn leaves running, with the turn and the command: in the
// session, in the stream and after a kill of the server. Clients can end it individually or all at once, and its end
// starts no turn.
func TestBackgroundWorkOfEveryRuntime(t *testing.T) {
	t.Parallel()
	s := andOpenCodeOverACP(withEveryRuntime(t))
	server := s.Start()
	server.WaitRuntime()
	events := server.Follow("after=0")
	var all []*behind
	open := programtest.Object{"approvalPolicy": "untrusted", "filesystemSandbox": "danger-full-access", "networkAccess": "enabled"}
	for i, one := range append([]driven{{name: "codex", levels: open}}, everyDoor()...) {
		b := &behind{driven: one, server: server, number: 1000*os.Getpid()%100_000 + 100*i}
		body := programtest.Object{"runtime": b.name}
		for name, level := range b.levels {
			body[name] = level
		}
		b.session = server.CreateSession(body)
		all = append(all, b)
	}
	kept := map[string]string{}
	for _, b := range all {
		t.Run(b.name, func(t *testing.T) {
			b.endsOne(t, events)
			b.endsAll(t)
			kept[b.name] = b.isStopped(t)
			if b.name == "codex" || b.name == "claude" {
				b.keeps(t)
			}
		})
	}
	server.Kill()
	server = s.Start()
	server.WaitRuntime()
	for _, b := range all { // right after the start, before the server has attached to every process
		b.server = server
		if b.task(kept[b.name]) == nil {
			t.Errorf("%s: the command does not show again", b.name)
		}
		server.Want(http.StatusOK, http.MethodPost, b.path("background-terminals", "clean"), nil)
	}
	for _, b := range all {
		t.Run(b.name+" over a kill", func(t *testing.T) {
			server.Eventually("it is ended", func() bool { return !commandRuns(kept[b.name]) && b.task(kept[b.name]) == nil })
		})
	}
}

// keeps stops a turn that has left a command running, with keepBackground. The command keeps running, and the
// response to the stop reports it.
func (b *behind) keeps(t *testing.T) {
	t.Helper()
	command, hold := b.command(), b.name+"-kept"
	turn := b.server.Send(b.session, backgrounded(b.name, command)+" MOCK_SLOW[1,1] MOCK_HOLD["+hold+"]")
	b.approve(t, "the command of the turn runs", func() bool { return commandRuns(command) })
	if err := b.server.Model.WaitHeld(t.Context(), hold); err != nil {
		t.Fatal(err)
	}
	stopped := b.server.Want(http.StatusOK, http.MethodPost, b.path("interrupt"),
		programtest.Object{"turnId": turn, "keepBackground": true})
	if !strings.Contains(fmt.Sprint(stopped["background"]), command) || !commandRuns(command) || b.task(command) == nil {
		t.Errorf("the stop that keeps %s says %v", command, stopped)
	}
}

// endsOne leaves a command running and ends it by its id.
func (b *behind) endsOne(t *testing.T, events *programtest.Follower) {
	t.Helper()
	command := b.command()
	turn := b.leave(t, command)
	task := b.task(command)
	if programtest.Text(task, "turnId") != turn || programtest.Text(task, "startedAt") == "" || !commandRuns(command) {
		t.Errorf("the task of turn %s is %v", turn, task)
	}
	events.Find("a frame about the background work", func(f programtest.Frame) bool {
		return f.Type == "session_background_updated" && *f.ThreadID == b.session && strings.Contains(f.Raw, command)
	})
	id := programtest.Text(task, "id")
	left := b.server.Want(http.StatusOK, http.MethodPost, b.path("background", id, "stop"), nil)
	if list, _ := left["background"].([]any); len(list) != 0 {
		t.Errorf("after its end: %v", left)
	}
	b.server.Eventually("its process ends", func() bool { return !commandRuns(command) }) // codex answers before it has killed it
	b.server.Want(http.StatusNotFound, http.MethodPost, b.path("background", id, "stop"), nil)
}

// endsAll leaves a command running and ends all commands of the session.
func (b *behind) endsAll(t *testing.T) {
	t.Helper()
	command := b.command()
	b.leave(t, command)
	b.server.Want(http.StatusOK, http.MethodPost, b.path("background-terminals", "clean"), nil)
	b.server.Eventually("all is ended", func() bool { return !commandRuns(command) && b.task(command) == nil })
	if list, ok := b.server.Want(http.StatusOK, http.MethodGet, b.path("background"), nil)["background"].([]any); !ok || len(list) != 0 {
		t.Errorf("%v is left", list)
	}
}

// isStopped stops a turn that has left a command running. The command ends with the turn. The previous turn's command
// and a kept one keep running. It returns the running command.
func (b *behind) isStopped(t *testing.T) (kept string) {
	t.Helper()
	kept = b.command()
	b.leave(t, kept)
	command := b.command()
	hold := b.name + "-held"
	turn := b.server.Send(b.session, backgrounded(b.name, command)+" MOCK_SLOW[1,1] MOCK_HOLD["+hold+"]")
	b.approve(t, "the command of the turn runs", func() bool { return commandRuns(command) })
	if err := b.server.Model.WaitHeld(t.Context(), hold); err != nil {
		t.Fatal(err)
	}
	stopped := b.server.Want(http.StatusOK, http.MethodPost, b.path("interrupt"), programtest.Object{"turnId": turn})
	goesOn := fmt.Sprint(stopped["background"])
	if !strings.Contains(goesOn, kept) || strings.Contains(goesOn, command) || commandRuns(command) || !commandRuns(kept) {
		t.Errorf("the stop of a turn with %s says %v; of the turn before %s", command, stopped, kept)
	}
	if _, active := b.tasks(); active != nil || b.turns() != 4 {
		t.Errorf("after the stop turn %v runs, and there were %d turns: %v", active, b.turns(), b.server.Entries(b.session, "userMessage"))
	}
	return kept
}
