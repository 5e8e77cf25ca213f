package tasks_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/internal/services/tasks"
	"harness/tests/runtimetest/scripted"
)

// RA-25: real agents failed because their model's server limited them, broke, got too much input or refused the login.
// Each failure has a code, whether a retry helps, the runtime, its text, and its raw output.
func TestFailuresOfRealAgents(t *testing.T) {
	t.Parallel()
	codes := map[string]string{"err-429": tasks.CodeRate, "err-500": tasks.CodeModel, "err-drop": tasks.CodeModel,
		"err-ctx": tasks.CodeContext, "auth-bad-key": tasks.CodeAuth, "auth-missing": tasks.CodeAuth}
	found, seen := 0, map[string]bool{}
	for _, pattern := range []string{"claude/testdata/*.golden.jsonl", "opencode/testdata/golden/*", "acp/testdata/*.golden"} {
		files, err := filepath.Glob(filepath.Join("..", "..", "runtime", filepath.FromSlash(pattern)))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, recording := range bytes.Split(content, []byte("\n== ")) { // a file may hold several, with their names
				name, _, _ := bytes.Cut(recording, []byte("\n"))
				for scenario, code := range codes {
					if !strings.Contains(filepath.Base(file)+" "+string(name), scenario) {
						continue
					}
					for _, failure := range failuresIn(t, recording) {
						found++
						seen[failure.Code] = true
						retryable := code == tasks.CodeRate || code == tasks.CodeModel
						if failure.Code != code || failure.Retryable != retryable || failure.Runtime != "recorded" ||
							failure.Message == "" || !bytes.Contains(failure.Raw, []byte("codexErrorInfo")) || failure.Recovery == "" {
							t.Errorf("%s %s: %+v", file, name, failure)
						}
					}
				}
			}
		}
	}
	if found < 15 || len(seen) != 4 {
		t.Errorf("only %d failures with the codes %v", found, seen)
	}
}

// failuresIn returns the failures in the events of a recording.
func failuresIn(t *testing.T, recording []byte) (all []tasks.Failure) {
	t.Helper()
	var records []journal.Record
	for line := range bytes.Lines(recording) {
		if one, ok := record(line, int64(len(records)+1)); ok {
			records = append(records, one)
		}
	}
	for _, e := range tasks.Events(tasks.About{SessionID: "s", Runtime: "recorded", CreatedAt: 1}, records) {
		if e.Type != tasks.TaskFailed {
			continue
		}
		var failure tasks.Failure
		if err := json.Unmarshal(e.Payload, &failure); err != nil {
			t.Fatalf("%s: %v", e.Payload, err)
		}
		all = append(all, failure)
	}
	return all
}

// RA-26: the modes ask, auto and yolo are levels of approval with a mode of each runtime. A session is opened with that
// level, or refused if its runtime has no such mode; yolo also requires that the operator allows it.
func TestModesAreTheLevelsOfRuntimes(t *testing.T) {
	t.Parallel()
	s := open(t, database.SQLite)
	open := func(mode tasks.Mode, allowed bool) (session.Session, error) {
		service := s.service(func(o *tasks.Options) { o.Yolo = allowed })
		return service.CreateSession(t.Context(), tasks.Create{Runtime: scripted.Name, Cwd: s.Agent.Dir, Mode: mode})
	}
	made, err := open(tasks.ModeAsk, false)
	if err != nil {
		t.Fatal(err)
	}
	if controls, _, err := s.Controls(t.Context(), made.ID); err != nil || controls.ApprovalPolicy != "untrusted" {
		t.Errorf("in mode ask its controls are %+v, %v", controls, err)
	}
	if _, err := open(tasks.ModeYolo, false); !errors.Is(err, tasks.ErrYolo) {
		t.Errorf("yolo that is not allowed: %v", err)
	}
	for mode, level := range map[tasks.Mode]string{tasks.ModeAuto: "on-request", tasks.ModeYolo: "never"} {
		var refused *runtime.ControlError // the scripted agent asks about everything
		if _, err := open(mode, true); !errors.As(err, &refused) || refused.Value != level || len(refused.Enforced) != 1 {
			t.Errorf("mode %s: %v", mode, err)
		}
	}
}
