package workspace_test

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"testing"

	"harness/internal/services/tools"
	"harness/internal/services/tools/workspace"
)

type object = map[string]any

// site is a workspace next to a private file.
type site struct {
	t               *testing.T
	folder, outside string
	tools           map[string]tools.Tool
}

const secret = "a private text"

func newSite(t *testing.T) *site {
	t.Helper()
	above := t.TempDir()
	s := &site{t: t, folder: filepath.Join(above, "workspace"), outside: filepath.Join(above, "secret.txt"),
		tools: map[string]tools.Tool{}}
	if err := os.Mkdir(s.folder, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.outside, []byte(secret), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, one := range workspace.Tools(workspace.Limits{}) {
		s.tools[one.Name] = one
	}
	return s
}

func (s *site) put(name, content string) {
	s.t.Helper()
	at := filepath.Join(s.folder, name)
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(at, []byte(content), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) link(to, name string) {
	s.t.Helper()
	if err := os.Symlink(to, filepath.Join(s.folder, name)); err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) content(name string) string {
	s.t.Helper()
	content, err := os.ReadFile(filepath.Join(s.folder, name))
	if err != nil {
		s.t.Fatal(err)
	}
	return string(content)
}

// call runs a tool as the executor would.
func (s *site) call(name string, input object) (object, error) {
	s.t.Helper()
	raw, err := json.Marshal(input)
	if err != nil {
		s.t.Fatal(err)
	}
	out, err := s.tools[name].Run(s.t.Context(), tools.Job{Tool: name, Input: raw, Workspace: s.folder, Stdout: io.Discard,
		Stderr: io.Discard})
	var answer object
	if err == nil {
		err = json.Unmarshal(out, &answer)
	}
	return answer, err
}

// must is call for calls that must succeed.
func (s *site) must(name string, input object) object {
	s.t.Helper()
	out, err := s.call(name, input)
	if err != nil {
		s.t.Fatalf("%s %v: %v", name, input, err)
	}
	return out
}

// untouched fails if anything outside was changed, or if the calls left unexpected files in the workspace.
func (s *site) untouched() {
	s.t.Helper()
	content, err := os.ReadFile(s.outside)
	if err != nil || string(content) != secret {
		s.t.Errorf("outside stands %q (%v)", content, err)
	}
	above, err := os.ReadDir(filepath.Dir(s.outside))
	if err != nil || len(above) != 2 {
		s.t.Errorf("beside the workspace there are %v (%v)", above, err)
	}
}

// ways makes links that lead out of the folder, and returns spellings of paths that do.
func (s *site) ways() []string {
	s.t.Helper()
	s.put("inside/a.txt", "a\n")
	for name, to := range map[string]string{"absolute": s.outside, "upward": "../secret.txt", "parent": "..",
		"winding": "inside/../../secret.txt", "loop": "loop"} {
		s.link(to, name)
	}
	return []string{s.outside, "../secret.txt", "inside/../../secret.txt", "..", "/", "./../secret.txt", "a\x00b", "absolute", "upward",
		"parent/secret.txt", "winding", "loop", "inside/a.txt/../../../secret.txt", "parent/workspace/inside/a.txt"}
}
