package programtest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os/exec"
	"strings"
	"testing"
)

// Command runs another subcommand of the program on this site and returns its exit code and its whole output.
func (s *Site) Command(args ...string) (int, string) {
	s.T.Helper()
	var out bytes.Buffer
	return s.runCommand(&out, &out, args...), out.String()
}

// Run is Command with separate outputs.
func (s *Site) Run(args ...string) (code int, stdout, stderr string) {
	s.T.Helper()
	var out, errOut bytes.Buffer
	code = s.runCommand(&out, &errOut, args...)
	return code, out.String(), errOut.String()
}

func (s *Site) runCommand(stdout, stderr *bytes.Buffer, args ...string) int {
	s.T.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, Program(s.T), args...)
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = s.Environ(), s.Workspace, stdout, stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		s.T.Fatal(err)
	}
	return cmd.ProcessState.ExitCode()
}

// MustRun runs a command that must succeed, and returns its output.
func (s *Site) MustRun(args ...string) string {
	s.T.Helper()
	code, out, errOut := s.Run(args...)
	if code != 0 {
		s.T.Fatalf("harness %s ended with %d: %s%s", strings.Join(args, " "), code, out, errOut)
	}
	return out
}

// Get reads a JSON response with status 200 into a value of T.
func Get[T any](i *Server, path string) T {
	i.T.Helper()
	status, answer, err := i.Try(http.MethodGet, path, nil)
	if err != nil || status != http.StatusOK {
		i.T.Fatalf("GET %s: %d %s %v", path, status, answer, err)
	}
	return Decode[T](i.T, answer)
}

// Decode reads JSON into a value of T.
func Decode[T any](t testing.TB, text []byte) (value T) {
	t.Helper()
	if err := json.Unmarshal(text, &value); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return value
}
