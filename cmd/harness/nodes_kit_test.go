package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"harness/database"
	"harness/internal/codextest"
	"harness/internal/dbtest"
	"harness/journal"
	"harness/stream"
)

// nodes are two servers on one Postgres, each with its own data directory, codex and model. Sessions of the tests
// belong to a.
type nodes struct {
	siteA, siteB *site
	a, b         *instance
}

func newNodes(t *testing.T, options ...siteOption) *nodes {
	t.Helper()
	n := &nodes{siteA: newSite(t, append(options, withEngine(database.Postgres))...)}
	n.siteB = newSite(t, append(options, withDatabaseOf(n.siteA))...)
	n.siteA.recordCalls()
	n.siteB.recordCalls()
	n.a, n.b = n.siteA.start(), n.siteB.start()
	n.a.waitRuntime()
	n.b.waitRuntime()
	return n
}

// recordCalls puts a codex in front of the real one that keeps every line it is told.
func (s *site) recordCalls() {
	s.t.Helper()
	program := filepath.Join(filepath.Dir(s.dataDir), "codex-recorded")
	script := fmt.Sprintf("#!/bin/sh\ntee -a '%s' | '%s' \"$@\"\n", s.callsFile(),
		codextest.Binary(s.t, codextest.Default))
	if err := os.WriteFile(program, []byte(script), 0o755); err != nil { //nolint:gosec // it is a program
		s.t.Fatal(err)
	}
	s.env = append(s.env, "CODEX_BIN="+program)
}

func (s *site) callsFile() string { return filepath.Join(filepath.Dir(s.dataDir), "calls.jsonl") }

// calls are the lines codex was told that name the session.
func (s *site) calls(session string) []string {
	s.t.Helper()
	raw, err := os.ReadFile(s.callsFile())
	if err != nil {
		s.t.Fatal(err)
	}
	var lines []string
	for line := range strings.Lines(string(raw)) {
		if strings.Contains(line, session) {
			lines = append(lines, line)
		}
	}
	return lines
}

// nodeID is the id of the server on this site.
func (s *site) nodeID() string {
	s.t.Helper()
	raw, err := os.ReadFile(filepath.Join(s.dataDir, "node-id"))
	if err != nil {
		s.t.Fatal(err)
	}
	return strings.TrimSpace(string(raw))
}

// stored are the events of a session in the journal, by type, without what its runtime said.
func (s *site) stored(session string) []string {
	s.t.Helper()
	log := journal.New(dbtest.Connect(s.t, s.store()), journal.Options{})
	var types []string
	for after := int64(0); ; {
		records, err := log.Read(s.t.Context(), journal.Query{After: after, Session: session})
		if err != nil {
			s.t.Fatal(err)
		}
		if len(records) == 0 {
			return types
		}
		for _, r := range records {
			after = r.Pos
			if r.Type != stream.EventNotification {
				types = append(types, r.Type)
			}
		}
	}
}

// forgetNodeID makes the next server on this site another node.
func (s *site) forgetNodeID() {
	s.t.Helper()
	if err := os.Remove(filepath.Join(s.dataDir, "node-id")); err != nil {
		s.t.Fatal(err)
	}
}

// freeze stops the server where it is, at a moment when it holds no lock that others wait for.
func (i *instance) freeze() {
	i.t.Helper()
	db := dbtest.Connect(i.t, i.store())
	i.eventually("the server is frozen outside of a transaction", func() bool {
		if err := i.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
			i.t.Fatal(err)
		}
		err := db.Update(i.t.Context(), func(tx database.Tx) error {
			_, err := tx.ExecContext(i.t.Context(), `select pos from journal_head where id = 1 for update nowait`)
			return err
		})
		if err == nil {
			return true
		}
		if err := i.cmd.Process.Signal(syscall.SIGCONT); err != nil {
			i.t.Fatal(err)
		}
		return false
	})
}
