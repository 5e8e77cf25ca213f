package workspace_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"harness/internal/services/tools"
	"harness/internal/services/tools/workspace"
)

// The tools are valid. Those that the upstream daemon has, too, have the same inputs and outputs.
func TestTheToolsAreRegistered(t *testing.T) {
	t.Parallel()
	registry, err := tools.NewRegistry(tools.RegistryOptions{}, workspace.Tools(workspace.Limits{})...)
	if err != nil {
		t.Fatal(err)
	}
	hashes := map[string][2]string{}
	for _, entry := range registry.Manifest().Tools {
		hashes[entry.Name] = [2]string{entry.SchemaHash, entry.OutputSchemaHash}
	}
	file, err := os.ReadFile("../testdata/codesdk-vectors.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var vector struct {
		Manifest tools.Manifest `json:"manifest"`
	}
	for line := range bytes.Lines(file) {
		if bytes.Contains(line, []byte(`"tool_manifest"`)) {
			if err := json.Unmarshal(line, &vector); err != nil {
				t.Fatal(err)
			}
		}
	}
	if len(hashes) != 4 || len(vector.Manifest.Tools) != 2 {
		t.Fatalf("registered are %v, recorded %v", hashes, vector.Manifest)
	}
	for _, entry := range vector.Manifest.Tools {
		if want := [2]string{entry.SchemaHash, entry.OutputSchemaHash}; hashes[entry.Name] != want {
			t.Errorf("%s has the schemas %v, want %v", entry.Name, hashes[entry.Name], want)
		}
	}
}

func TestFilesAreReadListedAndWritten(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.put("sub/one.txt", "één\n")
	s.link("sub/one.txt", "link")
	if out := s.must("workspace.read", object{"path": "sub/one.txt"}); out["content"] != "één\n" ||
		out["truncated"] != false || out["encoding"] != "utf8" {
		t.Errorf("read %v", out)
	}
	if out := s.must("workspace.read", object{"path": "link", "max_bytes": 4}); out["content"] != "éé"[:2]+"é"[:0] &&
		out["content"] != "éé" || out["truncated"] != true {
		t.Errorf("read by a link, in part: %v", out)
	}
	if out := s.must("workspace.read", object{"path": "sub/one.txt", "max_bytes": 3}); out["content"] != "éé"[:2] ||
		out["bytes_read"] != float64(2) {
		t.Errorf("half a character: %v", out)
	}
	s.put("bin", "\xff\x00")
	if out := s.must("workspace.read", object{"path": "bin", "encoding": "base64"}); out["content"] != "/wA=" {
		t.Errorf("read %v", out)
	}
	for input, says := range map[string]object{
		"base64":  {"path": "bin"},
		"unknown": {"path": "bin", "encoding": "latin1"},
		"no such": {"path": "none"},
		"0 or":    {"path": "bin", "max_bytes": -1},
	} {
		if _, err := s.call("workspace.read", says); err == nil || !strings.Contains(err.Error(), input) {
			t.Errorf("%v: %v", says, err)
		}
	}
	if out := s.must("workspace.write", object{"path": "new/deep/two.txt", "content": "two"}); out["created"] != true ||
		s.content("new/deep/two.txt") != "two" {
		t.Errorf("written %v", out)
	}
	if err := os.Chmod(filepath.Join(s.folder, "bin"), 0o750); err != nil {
		t.Fatal(err)
	}
	out := s.must("workspace.write", object{"path": "bin", "content": "AAE=", "encoding": "base64"})
	if info, err := os.Stat(filepath.Join(s.folder, "bin")); err != nil || info.Mode().Perm() != 0o750 ||
		out["created"] != false || s.content("bin") != "\x00\x01" {
		t.Errorf("written %v with %v (%v)", out, info, err)
	}
	for _, wrong := range []object{{"path": "x"}, {"path": "x", "content": "", "artifact_id": "a"},
		{"path": "x", "artifact_id": "a", "encoding": "utf8"}} {
		if _, err := s.call("workspace.write", wrong); err == nil {
			t.Errorf("written by %v", wrong)
		}
	}
	var listed []string
	for _, one := range s.must("workspace.list", object{"recursive": true})["entries"].([]any) {
		listed = append(listed, fmt.Sprint(one.(object)["type"], " ", one.(object)["path"]))
	}
	want := []string{"file bin", "link link", "folder new", "folder new/deep", "file new/deep/two.txt", "folder sub",
		"file sub/one.txt"}
	if !slices.Equal(listed, want) {
		t.Errorf("listed are %v", listed)
	}
	if flat := s.must("workspace.list", object{}); len(flat["entries"].([]any)) != 4 {
		t.Errorf("listed flat: %v", flat)
	}
}

func TestPatchesAreApplied(t *testing.T) {
	t.Parallel()
	const before, after = "1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\nthree\n4\n5\n6\n7\n8\n9\nten\n"
	const patch = "--- a/f\n+++ b/f\n@@ -2,3 +2,3 @@\n 2\n-3\n+three\n 4\n@@ -8,2 +8,3 @@\n 8\n 9\n+ten\n"
	for name, c := range map[string]struct {
		before, patch, after string
		with                 object
	}{
		"as it stands":     {before, patch, after, nil},
		"checked only":     {before, patch, before, object{"check": true}},
		"in reverse":       {after, patch, before, object{"reverse": true}},
		"moved down":       {"a\nb\nc\n" + before, patch, "a\nb\nc\n" + after, nil},
		"without prefixes": {before, strings.NewReplacer("a/f", "f", "b/f", "f").Replace(patch), after, nil},
		"stripped by hand": {before, strings.NewReplacer("a/f", "x/y/f", "b/f", "x/y/f").Replace(patch), after,
			object{"strip": 2}},
		"git's own":      {before, "diff --git a/f b/f\nindex 1..2 100644\n" + patch, after, nil},
		"only additions": {"1\n2\n3\n", "--- a/f\n+++ b/f\n@@ -2,0 +3 @@\n+x\n", "1\n2\nx\n3\n", nil},
		"no end of line": {"a",
			"--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file", "b", nil},
		"the nearest place": {"x\ny\nx\ny\nx\ny\n", "--- a/f\n+++ b/f\n@@ -5 +5 @@\n-x\n+z\n", "x\ny\nx\ny\nz\ny\n", nil},
	} {
		s := newSite(t)
		s.put("f", c.before)
		input := object{"patch": c.patch}
		for key, value := range c.with {
			input[key] = value
		}
		if out := s.must("patch.apply", input); out["ok"] != true || s.content("f") != c.after {
			t.Errorf("%s: %v, the file reads %q", name, out, s.content("f"))
		}
	}
	s := newSite(t)
	s.put("old", "x\n")
	s.put("gone", "y\n")
	out := s.must("patch.apply",
		object{"patch": "diff --git a/old b/new/place\nsimilarity index 50%\nrename from old\nrename to new/place\n--- a/old\n+++ b/new/place\n" +
			"@@ -1 +1,2 @@\n x\n+z\n" +
			"diff --git a/gone b/gone\ndeleted file mode 100644\n--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-y\n" +
			"diff --git a/run b/run\nnew file mode 100755\n--- /dev/null\n+++ b/run\n@@ -0,0 +1 @@\n+#!/bin/sh\n"})
	left := s.must("workspace.list", object{"recursive": true})
	if info, err := os.Stat(filepath.Join(s.folder, "run")); err != nil || info.Mode().Perm() != 0o755 ||
		s.content("new/place") != "x\nz\n" ||
		len(left["entries"].([]any)) != 3 || out["stdout"] != "R old -> new/place\nD gone\nA run\n" {
		t.Errorf("%v left %v (%v)", out, left, err)
	}
}

// A patch that git makes of two versions of a file leads from one to the other and, reversed, back.
func TestGitsPatchesRoundTrip(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	rapid.Check(t, func(r *rapid.T) {
		text := rapid.Custom(func(r *rapid.T) string {
			lines := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", ""}), 0, 12).Draw(r, "lines")
			return strings.Join(lines, "\n") + rapid.SampledFrom([]string{"", "\n"}).Draw(r, "end")
		})
		before, after := text.Draw(r, "before"), text.Draw(r, "after")
		context := rapid.IntRange(0, 3).Draw(r, "context")
		if before == after {
			return
		}
		scratch := t.TempDir()
		for name, content := range map[string]string{"x": before, "y": after} {
			if err := os.WriteFile(filepath.Join(scratch, name), []byte(content), 0o600); err != nil {
				r.Fatal(err)
			}
		}
		diff := exec.Command("git", "diff", "--no-index", "--no-color", fmt.Sprintf("-U%d", context), "x", "y")
		diff.Dir = scratch
		patch, _ := diff.Output() // exit code 1 means that they differ
		renamed := strings.NewReplacer("a/x", "a/f", "b/y", "b/f", "a/y", "a/f", "b/x", "b/f").Replace(string(patch))
		s.put("f", before)
		if _, err := s.call("patch.apply", object{"patch": renamed}); err != nil || s.content("f") != after {
			r.Fatalf("%v: %q became %q, want %q by\n%s", err, before, s.content("f"), after, renamed)
		}
		if _, err := s.call("patch.apply", object{"patch": renamed, "reverse": true}); err != nil ||
			s.content("f") != before {
			r.Fatalf("%v: back it became %q, want %q by\n%s", err, s.content("f"), before, renamed)
		}
	})
}
