package sandbox_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"harness/internal/services/tools"
	"harness/internal/services/tools/sandbox"
)

// client is a stub of Docker's client: it records its arguments and runs the program without a container. Confinement
// is Docker's part; the arguments, the messages and the end are ours.
func client(t *testing.T, program string) (path string, asked func() string) {
	t.Helper()
	dir := t.TempDir()
	path, log := filepath.Join(dir, "docker"), filepath.Join(dir, "log")
	script := "#!/bin/sh\necho \"$*${DOCKER_HOST:+ at $DOCKER_HOST}\" >> " + log +
		"\n[ \"$1\" = run ] || exit 0\nfor last; do :; done\n[ \"$last\" = hang ] && exec sleep 1000\nexec " + program + " " +
		childArgument + "\n"
	if err := os.WriteFile(path, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return path, func() string {
		text, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
}

// Version control in a workspace is mounted read-only into a container, and no name in a workspace becomes an option.
func TestDockerIsGivenVersionControlReadOnly(t *testing.T) {
	t.Parallel()
	own, folder := program(t), t.TempDir()
	bin, asked := client(t, own[0])
	for _, name := range []string{".git/config", "x,source=/home/u/.git/config"} {
		at := filepath.Join(folder, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, nil, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	_, err := sandbox.NewDocker(bin, "debian:stable", own...).Run(t.Context(), tools.Tool{}, tools.Job{Tool: "test.attack",
		Input: json.RawMessage(`{}`), Workspace: folder, Stdout: &bytes.Buffer{}, Stderr: &bytes.Buffer{}}, tools.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"--mount type=bind,source=" + folder + "/.git,target=/workspace/.git,readonly ",
		`--mount type=bind,"source=` + folder + `/x,source=/home/u/.git","target=/workspace/x,source=/home/u/.git",readonly `} {
		if !strings.Contains(asked(), want) {
			t.Errorf("not asked for %s:\n%s", want, asked())
		}
	}
}

// TL-12, TL-16, TL-18: the arguments for Docker: no network, no capabilities, limits, and the workspace read-only or
// writable.
func TestDockerArguments(t *testing.T) {
	t.Parallel()
	own := program(t)
	bin, asked := client(t, own[0])
	box := sandbox.NewDocker(bin, "debian:stable", own...)
	job := tools.Job{Tool: "test.attack", Input: json.RawMessage(`{}`), Workspace: t.TempDir(), Stdout: &bytes.Buffer{},
		Stderr: &bytes.Buffer{}}
	for _, limits := range []tools.Limits{{MemoryBytes: 1 << 20, Processes: 7}, {ReadOnly: true, Network: true}} {
		if out, err := box.Run(t.Context(), tools.Tool{}, job, limits); err != nil ||
			!strings.Contains(string(out), "environment") {
			t.Fatalf("%s, %v", out, err)
		}
	}
	lines := slices.DeleteFunc(strings.Split(strings.TrimSpace(asked()), "\n"), func(line string) bool {
		return !strings.HasPrefix(line, "run ")
	})
	mount := "--mount type=bind,source=" + job.Workspace + ",target=/workspace"
	for _, want := range []string{"--network none", "--cap-drop ALL", "--security-opt no-new-privileges",
		"--read-only --tmpfs /tmp", "--memory 1048576 --memory-swap 1048576",
		"--pids-limit 7", "--cpus 1", "--pull never", mount + " ", "target=/run/harness-tool,readonly",
		"--entrypoint /run/harness-tool debian:stable " + childArgument} {
		if !strings.Contains(lines[1], want) {
			t.Errorf("asked for %s, want %s in it", lines[1], want)
		}
	}
	if len(lines) != 3 || strings.Contains(lines[2], "--network") || !strings.Contains(lines[2], mount+",readonly") {
		t.Errorf("asked for %q", lines)
	}
}

// The client of an engine with an unusual address gets the address with each call; the container does not.
func TestDockersClientFindsItsEngine(t *testing.T) {
	t.Setenv("DOCKER_HOST", "unix:///elsewhere")
	own := program(t)
	bin, asked := client(t, own[0])
	job := tools.Job{Tool: "test.attack", Input: json.RawMessage(`{}`), Workspace: t.TempDir(), Stdout: &bytes.Buffer{},
		Stderr: &bytes.Buffer{}}
	hidden := filepath.Join(job.Workspace, "hidden")
	if err := os.Mkdir(hidden, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := sandbox.NewDocker(bin, "debian:stable", own...).Run(t.Context(), tools.Tool{}, job,
		tools.Limits{Hidden: []string{hidden}}); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(asked()), "\n")
	for _, line := range lines {
		if !strings.HasSuffix(line, " at unix:///elsewhere") || strings.Contains(line, "--env") {
			t.Errorf("it was asked %s", line)
		}
	}
	// Podman mounts a tmpfs before the workspace, which would then cover the hiding mount.
	if last := lines[len(lines)-1]; !strings.Contains(last, "target=/workspace/hidden,readonly") ||
		strings.Contains(last, "type=tmpfs") {
		t.Errorf("what is hidden is asked for as %s", last)
	}
}

// TL-17: a container outlives its client, so it is killed by name when its time is over.
func TestAContainerIsKilledByItsName(t *testing.T) {
	t.Parallel()
	own := program(t)
	bin, asked := client(t, own[0])
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if err := sandbox.NewDocker(bin, "debian:stable", own[0], "hang").Check(ctx); err == nil {
		t.Fatal("a container that says nothing works")
	}
	lines := strings.Split(strings.TrimSpace(asked()), "\n")
	_, rest, _ := strings.Cut(lines[1], "--name ")
	name, _, _ := strings.Cut(rest, " ")
	if len(lines) != 3 || name == "" || lines[2] != "kill "+name {
		t.Errorf("asked for %q", lines)
	}
}
