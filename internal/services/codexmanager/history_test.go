package codexmanager_test

import (
	"math"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"harness/tests/codextest"
	"harness/tests/mockmodel"
	"harness/tests/polling"
	"harness/tests/programtest"
)

// await reads a session until it has the expected state.
func await(t *testing.T, server *programtest.Server, path, what string, done func(object) bool) (got object) {
	t.Helper()
	if !polling.Until(programtest.Patience, func() bool {
		status, _, err := server.Try(http.MethodGet, path, nil)
		if err != nil || status != http.StatusOK {
			return false
		}
		got = programtest.Get[object](server, path)
		return done(got)
	}) {
		t.Fatalf("%s: not %s\n%s", path, what, server.Log())
	}
	return got
}

func entries(got object) (all []object) {
	list, _ := got["transcript"].([]any)
	for _, one := range list {
		all = append(all, one.(object))
	}
	return all
}

// The conversation of an imported session is codex's. With the same CODEX_HOME its items keep their order, including
// what other clients added to its turns; folder, model and times are codex's.
func TestTheHistoryOfAnImportedSessionIsCodexs(t *testing.T) {
	t.Parallel()
	model := mockmodel.Start(t)
	home := codextest.Home(t, model.URL())
	env := []string{"CODEX_HOME=" + home, "CODEX_BIN=" + codextest.Binary(t, codextest.Default), "HARNESS_DETACH_GRACE_MS=0",
		"DEFAULT_SANDBOX_MODE=danger-full-access"}
	before := programtest.New(t, programtest.WithoutAgent(), programtest.WithEnv(env...))
	server := before.Start()
	await(t, server, "/readyz", "ready", func(object) bool { return true })
	call := func(path string, body object) object {
		t.Helper()
		status, answer, err := server.Try(http.MethodPost, path, body)
		if err != nil || status/100 != 2 {
			t.Fatalf("POST %s: %d %s %v", path, status, answer, err)
		}
		return programtest.Decode[object](t, answer)
	}
	id := call("/api/sessions", object{})["session"].(object)["sessionId"].(string)
	turn := call("/api/sessions/"+id+"/messages", object{"text": "Reply with exactly IMPORTED"})["turnId"].(string)
	path := "/api/sessions/" + id
	await(t, server, path, "answered", func(got object) bool {
		all := entries(got)
		return len(all) > 1 && all[len(all)-1]["role"] == "assistant" && all[len(all)-1]["status"] == "complete" &&
			got["session"].(object)["state"] == "idle"
	})
	for _, one := range []object{{"messageId": "inside", "turnId": turn}, {"messageId": "behind", "turnId": "ci"}} {
		one["role"], one["type"], one["content"], one["status"] = "system", "note", "a note", "complete"
		call(path+"/transcript/upsert", one)
	}
	want := programtest.Get[object](server, path)
	server.Stop()

	// A codex-manager would store this: the items in the order of their events, and the notes in the order of arrival.
	var items, notes []object
	for _, entry := range entries(want) {
		if entry["type"] == "note" {
			notes = append(notes, entry)
		} else {
			items = append(items, entry)
		}
	}
	stored := []object{}
	for n, entry := range append(items, notes...) {
		stored = append(stored, object{"sequence": n + 1, "entry": entry})
	}
	folder := t.TempDir()
	for name, content := range map[string]object{
		"session-metadata.json":        {"titles": object{id: "New chat"}, "projects": object{}},
		"supplemental-transcript.json": {"version": 1, "sequence": len(stored), "byThreadId": object{id: stored}},
	} {
		if err := os.WriteFile(filepath.Join(folder, name), encode(t, content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	after := programtest.New(t, programtest.WithoutAgent(), programtest.WithEnv(env...))
	after.MustRun("import", "codex-manager", folder)
	server = after.Start()
	got := await(t, server, path, "codex's history", func(got object) bool {
		thread, _ := got["thread"].(object)
		return got["historyPending"] == nil && thread["preview"] == "Reply with exactly IMPORTED"
	})
	for _, key := range []string{"title", "cwd", "source", "modelProvider", "projectId"} {
		same(t, key, got["session"].(object)[key], want["session"].(object)[key])
	}
	// Codex reads the clock once for its answer and once for its file, both in whole seconds.
	if created, answered := got["session"].(object)["createdAt"].(float64), want["session"].(object)["createdAt"].(float64); math.Abs(created-answered) > 1 {
		t.Errorf("createdAt is %v, want %v, within the second codex rounds", created, answered)
	}
	shape := func(got object) (all [][]any) {
		for _, entry := range entries(got) {
			all = append(all, []any{entry["messageId"], entry["turnId"], entry["role"], entry["content"], entry["status"]})
		}
		return all
	}
	same(t, "the transcript", shape(got), shape(want))
}
