package nodes

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"harness/tests/agenttest"
	"harness/tests/dbtest"
	"harness/tests/programtest"
)

// throughGit is two nodes that push their sessions' folders to a remote. Both run on one machine, so the test moves
// away the files of one node for the other.
type throughGit struct {
	*nodes
	t              *testing.T
	remote, folder string
}

func newThroughGit(t *testing.T) *throughGit {
	t.Helper()
	g := &throughGit{t: t, remote: filepath.Join(t.TempDir(), "remote.git"), folder: filepath.Join(t.TempDir(), "folder")}
	g.git("init", "--quiet", "--bare", g.remote)
	g.git("init", "--quiet", "-b", "main", g.folder)
	g.nodes = newNodes(t, movable(), programtest.WithEnv("HARNESS_WORKSPACES=git", "HARNESS_WORKSPACE_REMOTE="+g.remote,
		"PATH="+agenttest.SandboxPath(t)))
	return g
}

func (g *throughGit) git(args ...string) string {
	g.t.Helper()
	command := exec.CommandContext(g.t.Context(), "git", append([]string{"-c", "user.name=A", "-c", "user.email=a@example.org"}, args...)...)
	command.Dir = g.t.TempDir()
	out, err := command.CombinedOutput()
	if err != nil {
		g.t.Fatalf("git %s: %v: %s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

func (g *throughGit) write(name, content string) {
	g.t.Helper()
	if err := os.WriteFile(filepath.Join(g.folder, name), []byte(content), 0o600); err != nil {
		g.t.Fatal(err)
	}
}

// has fails unless the folder has files with these contents. "" means that the file must not exist.
func (g *throughGit) has(files map[string]string) {
	g.t.Helper()
	for name, want := range files {
		if got, err := os.ReadFile(filepath.Join(g.folder, name)); string(got) != want || (err == nil) != (want != "") {
			g.t.Errorf("%s is %q, want %q, %v", name, got, want, err)
		}
	}
}

// move hides the workspace as if it were on another machine, or restores it.
func (g *throughGit) move(from, to string) {
	g.t.Helper()
	if err := os.Rename(from, to); err != nil {
		g.t.Fatal(err)
	}
}

// turn runs a turn on a and waits until the folder and codex's memory are stored.
func (g *throughGit) turn(session, said string) {
	g.t.Helper()
	events := g.b.Follow("threadId=" + session)
	turn := g.a.Send(session, said)
	if status := events.WaitTurn(turn); status != "completed" {
		g.t.Fatalf("the turn ended %s", status)
	}
	g.kept(g.t, session, turn)
	db := dbtest.Connect(g.t, g.siteA.Store())
	g.a.Eventually("the folder is stored", func() bool {
		var found int64
		if err := db.Read().QueryRowContext(g.t.Context(), `select count(*) from session_custody where folder_turn = $1`, turn).Scan(&found); err != nil {
			g.t.Fatal(err)
		}
		return found == 1
	})
}

// goesOn moves a session to b, and returns how its workspace was restored.
func (g *throughGit) goesOn(session string) (folder string) {
	g.t.Helper()
	events := g.b.Follow("threadId=" + session)
	status, answer, _ := g.untilTaken(g.t, session)
	if status != http.StatusAccepted {
		g.t.Fatalf("the message at the other node got %d %v", status, answer)
	}
	if status := events.WaitTurn(programtest.Text(answer, "turnId")); status != "completed" {
		g.t.Errorf("its turn ended %s", status)
	}
	_, answer = g.b.Call(http.MethodGet, "/api/events?type=session.taken&session="+session, nil)
	taken, _ := answer["data"].([]any)
	if len(taken) == 0 {
		g.t.Fatal("it was not taken")
	}
	_, folder, _ = strings.Cut(fmt.Sprint(taken[0]), "folder:")
	folder, _, _ = strings.Cut(folder, " ")
	return strings.TrimSuffix(folder, "]")
}

// swap restarts a and makes it the node that takes over the sessions.
func (g *throughGit) swap() {
	g.t.Helper()
	g.a = g.siteA.Start()
	g.a.WaitRuntime()
	g.a, g.b, g.siteA, g.siteB = g.b, g.a, g.siteB, g.siteA
}

// A node is lost with its disk. Its sessions move to another node with their workspace as of their last turn,
// including uncommitted changes. They can also move back to the first node, which sets its older copy aside.
func TestAFolderGoesOnThroughGit(t *testing.T) {
	t.Parallel()
	g := newThroughGit(t)
	first, second := g.a.CreateSession(programtest.Object{"cwd": g.folder}), g.a.CreateSession(programtest.Object{"cwd": g.folder})
	g.write("a", "committed\n")
	g.git("-C", g.folder, "add", ".")
	g.git("-C", g.folder, "commit", "--quiet", "-m", "made by an agent")
	g.write("a", "changed\n")
	g.turn(first, "MOCK_REPLY[first-answer]")
	g.write("untracked", "by the second\n")
	g.turn(second, "MOCK_REPLY[second-answer]")
	g.write("late", "after the last turn\n")
	g.loseA(t)
	atA := g.folder + "-of-a"
	g.move(g.folder, atA)

	if folder := g.goesOn(first); folder != "restored" {
		t.Errorf("the folder was %q", folder)
	}
	g.has(map[string]string{"a": "changed\n", "untracked": "by the second\n", "late": ""})
	if log, status := g.git("-C", g.folder, "log", "--format=%s"), g.git("-C", g.folder, "status", "--porcelain"); log != "made by an agent\n" ||
		status != " M a\n?? untracked\n" {
		t.Errorf("its history is %q, its status %q", log, status)
	}
	g.requireHistory(t, g.siteB, "first-answer")
	if folder := g.goesOn(second); folder != "same" {
		t.Errorf("the folder that is there was %q", folder)
	}

	// The first node is back with its disk, and the other one is lost.
	g.swap()
	g.write("a", "at the other node\n")
	g.turn(first, "MOCK_REPLY[third-answer]")
	g.loseA(t)
	g.move(g.folder, g.folder+"-of-b")
	g.move(atA, g.folder)
	if folder := g.goesOn(second); folder != "restored" {
		t.Errorf("the folder was %q", folder)
	}
	g.has(map[string]string{"a": "at the other node\n", "untracked": "by the second\n", "late": ""})
	aside, err := filepath.Glob(g.folder + ".before-*/late")
	if err != nil || len(aside) != 1 {
		t.Errorf("what the first node had is in %v, %v", aside, err)
	}

	// The server removes data from the remote that it no longer needs.
	g.swap()
	for _, session := range []string{first, second} {
		g.a.Eventually("the session is deleted", func() bool {
			status, _ := g.a.Call(http.MethodDelete, "/api/sessions/"+session, nil)
			return status == http.StatusOK || status == http.StatusGone
		})
	}
	g.a.Eventually("nothing is left at the remote", func() bool { return g.git("--git-dir", g.remote, "for-each-ref") == "" })
}

// A session waits for its node if its workspace is not stored as of its last turn, or if another folder uses its
// path. The response gives the reason.
func TestAFolderThatCannotGoOnWaits(t *testing.T) {
	t.Parallel()
	g := newThroughGit(t)
	folders := map[string]string{"unstored": "was not stored", "occupied": "there is another folder", "refused": "contains another repository"}
	sessions := map[string]string{}
	at := g.folder
	for name := range folders {
		g.folder = at + "-" + name
		if err := os.Mkdir(g.folder, 0o700); err != nil {
			t.Fatal(err)
		}
		sessions[name] = g.a.CreateSession(programtest.Object{"cwd": g.folder})
		g.turn(sessions[name], "MOCK_REPLY[stored]")
	}
	again := func(name string) {
		events := g.b.Follow("threadId=" + sessions[name])
		turn := g.a.Send(sessions[name], "MOCK_REPLY[again]")
		events.WaitTurn(turn)
		g.kept(t, sessions[name], turn)
	}
	g.git("init", "--quiet", at+"-refused/inner")
	g.git("-C", at+"-refused/inner", "commit", "--quiet", "--allow-empty", "-m", "x")
	again("refused")
	db := dbtest.Connect(t, g.siteA.Store())
	g.a.Eventually("it is noted why the folder is not stored", func() bool {
		var found int64
		if err := db.Read().QueryRowContext(t.Context(), `select count(*) from session_custody where folder_refusal <> ''`).Scan(&found); err != nil {
			t.Fatal(err)
		}
		return found == 1
	})
	g.move(g.remote, g.remote+"-away")
	g.folder = at + "-unstored"
	g.write("a", "changed\n")
	again("unstored")
	g.loseA(t)
	g.move(g.remote+"-away", g.remote)
	for name := range folders {
		g.move(at+"-"+name, at+"-"+name+"-of-a")
	}
	if err := os.MkdirAll(at+"-occupied/theirs", 0o700); err != nil {
		t.Fatal(err)
	}
	for name, why := range folders {
		status, answer, _ := g.untilTaken(t, sessions[name])
		if status != http.StatusConflict || programtest.Text(answer, "code") != "workspace_pinned" ||
			!strings.Contains(programtest.Text(answer, "message"), why) {
			t.Errorf("%s: the answer is %d %v", name, status, answer)
		}
	}
}
