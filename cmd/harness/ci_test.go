package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TE-11: the CI script runs the linter and the README's test command, and fails with its first failing step. That
// command vets, type-checks and tests everything.
func TestCIRunsTheLinterAndEveryTest(t *testing.T) {
	t.Parallel()
	steps := []string{"make lint", "make test", "make mutants", "scripts/first-hour.sh", "make cluster", "make fuzz"}
	for fails := 0; fails <= len(steps); fails++ {
		failing := ""
		if fails < len(steps) {
			failing = steps[fails]
		}
		ran, err := runCI(t, failing)
		want := steps[:min(fails+1, len(steps))]
		if !slices.Equal(ran, want) || (err != nil) != (failing != "") {
			t.Errorf("when %q fails CI runs %q and ends with %v, want %q", failing, ran, err, want)
		}
	}

	root := filepath.Join("..", "..")
	command := exec.CommandContext(t.Context(), "make", "-n", "-C", root, "test")
	command.Env = slices.DeleteFunc(os.Environ(), func(set string) bool {
		return strings.HasPrefix(set, "MAKE") || strings.HasPrefix(set, "TEST_")
	})
	would, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, would)
	}
	prepare, err := os.ReadFile(filepath.Join(root, "scripts", "prepare-test.sh"))
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"scripts/prepare-test.sh", "go test -race", " ./..."} {
		if !strings.Contains(string(would), part) {
			t.Errorf("make test does not run %q:\n%s", part, would)
		}
	}
	for _, part := range []string{"go vet", "set -e"} {
		if !strings.Contains(string(prepare), part) {
			t.Errorf("scripts/prepare-test.sh does not have %q", part)
		}
	}
}

// runCI runs .ci/run with steps that only print their names; one of them fails.
func runCI(t *testing.T, failing string) (ran []string, err error) {
	t.Helper()
	root := t.TempDir()
	run, err := os.ReadFile(filepath.Join("..", "..", ".ci", "run"))
	if err != nil {
		t.Fatal(err)
	}
	step := "#!/bin/sh\nsaid=\"${0##*/}${1:+ $1}\"\ncase $said in *.sh) said=scripts/$said ;; esac\n" +
		"echo \"$said\" >> \"$STEPS\"\n[ \"$said\" != \"$FAILING\" ]\n"
	for name, text := range map[string]string{".ci/run": string(run), "scripts/first-hour.sh": step, "bin/make": step} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil { //nolint:gosec // it is run
			t.Fatal(err)
		}
	}
	steps := filepath.Join(root, "steps")
	command := exec.CommandContext(t.Context(), "sh", filepath.Join(root, ".ci", "run"))
	command.Env = []string{"PATH=" + filepath.Join(root, "bin") + ":" + os.Getenv("PATH"), "STEPS=" + steps, "FAILING=" + failing}
	said, err := command.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatalf("%v: %s", err, said)
	}
	written, readErr := os.ReadFile(steps)
	if readErr != nil {
		t.Fatalf("%v: %s", readErr, said)
	}
	return strings.Split(strings.TrimSpace(string(written)), "\n"), err
}
