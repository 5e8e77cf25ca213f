package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"harness/tests/codextest"
	"harness/tests/programtest"
)

// The codex of `make run` is not on PATH: it is beside the program, which finds it, and logs in with the home that
// servers use.
func TestTheCodexBesideTheProgramIsFound(t *testing.T) {
	t.Parallel()
	folder, home := t.TempDir(), t.TempDir()
	own := filepath.Join(folder, "harness")
	copyProgram(t, programtest.Program(t), own)
	harness := func(input string, args ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), own, args...)
		cmd.Dir, cmd.Stdin = t.TempDir(), strings.NewReader(input)
		cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + t.TempDir(), "CODEX_HOME=" + home}
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := harness("", "codex", "--", "--version"); err == nil || !strings.Contains(out, "CODEX_BIN") ||
		strings.Count(out, "\n") != 1 {
		t.Errorf("without codex it says %q, %v", out, err)
	}
	if err := os.Symlink(codextest.Binary(t, codextest.Default), filepath.Join(folder, "codex")); err != nil {
		t.Fatal(err)
	}
	if out, err := harness("", "codex", "--", "--version"); err != nil ||
		!strings.Contains(out, codextest.Number(t, codextest.Default)) {
		t.Errorf("harness codex: %q, %v", out, err)
	}
	if out, err := harness("sk-a-key-of-the-test", "login", "--", "--with-api-key"); err != nil {
		t.Errorf("harness login: %q, %v", out, err)
	}
	if text, err := os.ReadFile(filepath.Join(home, "auth.json")); err != nil ||
		!strings.Contains(string(text), "sk-a-key-of-the-test") {
		t.Errorf("no login is kept: %v", err)
	}
}

// copyProgram copies the program, because a link would resolve to its original location.
func copyProgram(t *testing.T, from, to string) {
	t.Helper()
	in, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = in.Close() }()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.Copy(out, in)
	if closed := out.Close(); err != nil || closed != nil {
		t.Fatal(err, closed)
	}
}
