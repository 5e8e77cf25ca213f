package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"harness/tests/codextest"
	"harness/tests/programtest"
)

// composeLine returns a command of the comment at the top of a compose file, by its first words.
func composeLine(t *testing.T, file, begin string) string {
	t.Helper()
	text, err := os.ReadFile("../../" + file)
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`(?m)^#.*?(` + regexp.QuoteMeta(begin) + `.*)$`).FindSubmatch(text)
	if line == nil {
		t.Fatalf("%s has no line with %s", file, begin)
	}
	return string(line[1])
}

// The secrets of the containers are created once: the database keeps the password with which its volume was created,
// and people can look up the token.
func TestTheSecretsOfTheContainersAreKept(t *testing.T) {
	t.Parallel()
	for file, others := range map[string][]string{
		"docker-compose.yml": {"POSTGRES_PASSWORD"}, "deploy/postgres/compose.yml": {"POSTGRES_PASSWORD", "PATRONI_PASSWORD"},
	} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			secretsAreKept(t, file, others)
		})
	}
}

func secretsAreKept(t *testing.T, file string, others []string) {
	t.Helper()
	dir := t.TempDir()
	sh := func(line string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "sh", "-ec", line)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", line, err, out)
		}
		return string(out)
	}
	makes, shows := composeLine(t, file, "[ -e compose.env ]"), composeLine(t, file, "grep HARNESS_AUTH_TOKEN")
	sh(makes)
	token := sh(shows)
	if !regexp.MustCompile(`^HARNESS_AUTH_TOKEN=[0-9a-f]{48}\n$`).MatchString(token) {
		t.Errorf("the token is shown as %q", token)
	}
	secrets := filepath.Join(dir, "compose.env")
	before, err := os.ReadFile(secrets)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range others {
		if !regexp.MustCompile(`(?m)^` + name + `=[0-9a-f]{48}$`).Match(before) {
			t.Errorf("the secrets are %q, without %s", before, name)
		}
	}
	if info, err := os.Stat(secrets); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("who may read them: %v, %v", info, err)
	}
	sh(makes)
	if after, err := os.ReadFile(secrets); err != nil || string(after) != string(before) {
		t.Errorf("the second start has others: %v", err)
	}
}

// Inside the container, codex logs in as the agents' user, which cannot read the server's files.
func TestTheContainersCodexIsLoggedIn(t *testing.T) {
	t.Parallel()
	login := composeLine(t, "docker-compose.yml", "docker compose --env-file compose.env exec")
	if !strings.Contains(login, " exec --user agent harness harness login -- ") {
		t.Errorf("the login is %s", login)
	}
	s := programtest.New(t)
	home, data := t.TempDir(), t.TempDir()
	cmd := exec.CommandContext(t.Context(), s.Program, "login", "--", "--with-api-key")
	if os.Geteuid() == 0 { // the rest applies to any user
		s.Become(programtest.Unprivileged)
		s.Own(home)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: programtest.Unprivileged, Gid: programtest.Unprivileged}}
	}
	if err := os.Chmod(data, 0); err != nil {
		t.Fatal(err)
	}
	cmd.Dir, cmd.Stdin = "/", strings.NewReader("sk-of-the-test")
	cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=/nonexistent", "XDG_RUNTIME_DIR=" + t.TempDir(), "HOST=0.0.0.0", "DATA_DIR=" + data, "CODEX_HOME=" + home,
		"CODEX_BIN=" + codextest.Binary(t, codextest.Default), "HARNESS_AUTH_TOKEN=the-token-of-this-very-test",
		"HARNESS_RUNTIME_USER=agent", "HARNESS_WORKSPACE=/workspace", "DATABASE_URL=postgres://a:b@postgres:5432/x"}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if text, err := os.ReadFile(filepath.Join(home, "auth.json")); err != nil || !strings.Contains(string(text), "sk-of-the-test") {
		t.Errorf("no login is kept: %v", err)
	}
}
