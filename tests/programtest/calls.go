package programtest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"harness/tests/codextest"
)

// RecordCalls puts a wrapper in front of the real codex that records every line it gets.
func (s *Site) RecordCalls() {
	s.T.Helper()
	program := filepath.Join(filepath.Dir(s.DataDir), "codex-recorded")
	script := fmt.Sprintf("#!/bin/sh\ntee -a '%s' | '%s' \"$@\"\n", s.callsFile(),
		codextest.Binary(s.T, codextest.Default))
	if err := os.WriteFile(program, []byte(script), 0o755); err != nil { //nolint:gosec // it is a program
		s.T.Fatal(err)
	}
	s.Env = append(s.Env, "CODEX_BIN="+program)
}

func (s *Site) callsFile() string { return filepath.Join(filepath.Dir(s.DataDir), "calls.jsonl") }

// Calls returns the lines sent to codex that name the session.
func (s *Site) Calls(session string) []string {
	s.T.Helper()
	raw, err := os.ReadFile(s.callsFile())
	if err != nil {
		s.T.Fatal(err)
	}
	var lines []string
	for line := range strings.Lines(string(raw)) {
		if strings.Contains(line, session) {
			lines = append(lines, line)
		}
	}
	return lines
}

// LastOutput returns the last tool output that the model got.
func (s *Site) LastOutput() string {
	s.T.Helper()
	outputs := s.Model.Outputs()
	if len(outputs) == 0 {
		s.T.Fatal("the model got no tool output")
	}
	return outputs[len(outputs)-1].Text
}

// OwnedTool returns a message that makes the model call a tool of the server.
func OwnedTool(tool, input string) string { return "MOCK_CALL[harness/" + tool + "|" + input + "]END" }
