// Package lost tests, on whole servers, that sessions survive the loss of their runtimes' memory.
package lost

import (
	"bufio"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"harness/tests/programtest"
)

func TestMain(m *testing.M) { programtest.Main(m) }

// task runs a task and returns its events as one text.
func task(t *testing.T, server *programtest.Server, session, id, text string) (events string) {
	t.Helper()
	status, answer := server.Call(http.MethodPost, "/v1/sessions/"+session+"/tasks", map[string]any{"task_id": id,
		"messages": []any{map[string]string{"role": "user", "content": text}}})
	if status != http.StatusAccepted {
		t.Fatalf("ask for task %s: %d %v", id, status, answer)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet,
		server.URL+"/v1/sessions/"+session+"/events?stream=1", nil)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Body.Close()
	lines := bufio.NewScanner(stream.Body)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		data, is := strings.CutPrefix(lines.Text(), "data: ")
		if !is || !strings.Contains(data, fmt.Sprintf(`"task_id":%q`, id)) {
			continue
		}
		events += data + "\n"
		switch {
		case strings.Contains(data, `"type":"task.completed"`):
			return events
		case strings.Contains(data, `"type":"task.failed"`), strings.Contains(data, `"type":"task.stopped"`):
			t.Fatalf("task %s ended: %s", id, data)
		}
	}
	t.Fatalf("the stream ended without the end of task %s: %v\n%s", id, lines.Err(), events)
	return ""
}

// remove removes the files below a folder with names that contain a part.
func remove(t *testing.T, dir, part string) {
	t.Helper()
	removed := 0
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() && strings.Contains(entry.Name(), part) &&
			strings.HasSuffix(entry.Name(), ".jsonl") {
			removed++
			err = os.Remove(path)
		}
		return err
	})
	if err != nil || removed == 0 {
		t.Fatalf("removed %d files of %s: %v", removed, part, err)
	}
}

// SE-02, SE-03, SE-04: the conversations that codex and Claude Code stored are removed between two runs of the
// server. The next task has the earlier history. Its events report this and refer to the agent's input, and an
// earlier command does not run a second time.
func TestSessionsOutliveTheMemoryOfTheirRuntimes(t *testing.T) {
	t.Parallel()
	s := programtest.WithClaude(t, programtest.WithEnv("HARNESS_DETACH_GRACE_MS=0",
		"DEFAULT_NETWORK_ACCESS=enabled"))
	ran := filepath.Join(t.TempDir(), "ran")
	server := s.Start()
	sessions := map[string]string{}
	for _, name := range []string{"codex", "claude"} {
		status, answer := server.Call(http.MethodPost, "/v1/sessions",
			map[string]any{"runtime": name, "cwd": s.Workspace, "permission_mode": "auto", "native_tools": "on"})
		if status != http.StatusCreated {
			t.Fatalf("open a session of %s: %d %v", name, status, answer)
		}
		sessions[name] = programtest.Text(answer, "session_id")
		task(t, server, sessions[name], "one", "The word is PERIWINKLE. MOCK_REPLY[I see]")
	}
	task(t, server, sessions["codex"], "ran", "MOCK_CMD[echo once >> "+ran+"]")
	server.Stop()
	home := ""
	for _, set := range s.Env {
		if value, is := strings.CutPrefix(set, "HOME="); is {
			home = value
		}
	}
	remove(t, home, sessions["codex"])
	remove(t, s.DataDir, sessions["claude"])

	server = s.Start()
	for name, id := range sessions {
		events := task(t, server, id, "two", "MOCK_REPLY[back with "+name+"]")
		asked := s.Model.Asked("MOCK_REPLY[back with " + name + "]")
		if !strings.Contains(asked, "PERIWINKLE") || !strings.Contains(asked, "earlier_conversation") {
			t.Errorf("the model of %s was asked %.3000s", name, asked)
		}
		if strings.Count(events, `"reconstructed":true`) != 1 || strings.Count(events, `"input_ref"`) != 2 {
			t.Errorf("the events of %s are\n%s", name, events)
		}
		if again := task(t, server, id, "three", "MOCK_REPLY[and again]"); strings.Contains(again, `"reconstructed"`) {
			t.Errorf("%s got it a second time:\n%s", name, again)
		}
	}
	server.Stop()
	if said, err := os.ReadFile(ran); err != nil || string(said) != "once\n" {
		t.Errorf("the command of before left %q, %v", said, err)
	}
}
