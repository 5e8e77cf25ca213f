package main

import (
	"bufio"
	"bytes"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// The script that runs the steps of `make test` prints progress while it waits, and keeps the step's output and exit
// code.
func TestTheScriptOfProgressKeepsWhatItRuns(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), "../../scripts/progress.sh", "a step", "sh", "-c", "cat; echo trouble >&2; exit 7")
	cmd.Env = append(os.Environ(), "PROGRESS_EVERY=1")
	var notes bytes.Buffer
	cmd.Stderr = &notes
	input, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for scanner := bufio.NewScanner(output); scanner.Scan(); {
		lines = append(lines, scanner.Text())
		if len(lines) == 2 { // it has printed its progress
			if _, err := input.Write([]byte("what it prints\n")); err != nil {
				t.Error(err)
			}
			if err := input.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 7 || notes.String() != "trouble\n" {
		t.Errorf("it ended with %v and printed %q", err, notes.String())
	}
	if len(lines) < 3 || lines[0] != "== a step" || !strings.HasPrefix(lines[1], "== a step: ") || !slices.Contains(lines, "what it prints") {
		t.Errorf("it printed %q", lines)
	}
}
