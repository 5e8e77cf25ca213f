package nodes

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/stream"
	"harness/tests/dbtest"
	"harness/tests/programtest"
)

// nodes is two servers on one Postgres, each with a separate data directory, codex and model. The tests' sessions
// belong to a.
type nodes struct {
	siteA, siteB *programtest.Site
	a, b         *programtest.Server
}

func newNodes(t *testing.T, options ...programtest.SiteOption) *nodes {
	t.Helper()
	n := &nodes{siteA: programtest.New(t, append(options, programtest.WithEngine(database.Postgres))...)}
	n.siteB = programtest.New(t, append(options, programtest.WithDatabaseOf(n.siteA))...)
	n.siteA.RecordCalls()
	n.siteB.RecordCalls()
	n.a, n.b = n.siteA.Start(), n.siteB.Start()
	n.a.WaitRuntime()
	n.b.WaitRuntime()
	return n
}

// nodeID returns the id of the server on this site.
func nodeID(s *programtest.Site) string {
	s.T.Helper()
	raw, err := os.ReadFile(filepath.Join(s.DataDir, "node-id"))
	if err != nil {
		s.T.Fatal(err)
	}
	return strings.TrimSpace(string(raw))
}

// stored returns the events of a session in the journal, by type, without its runtime's output.
func stored(s *programtest.Site, session string) []string {
	s.T.Helper()
	log := journal.New(dbtest.Connect(s.T, s.Store()), journal.Options{})
	var types []string
	for after := int64(0); ; {
		records, err := log.Read(s.T.Context(), journal.Query{After: after, Session: session})
		if err != nil {
			s.T.Fatal(err)
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
func forgetNodeID(s *programtest.Site) {
	s.T.Helper()
	if err := os.Remove(filepath.Join(s.DataDir, "node-id")); err != nil {
		s.T.Fatal(err)
	}
}

// freeze freezes the server at a moment when it holds no lock that others wait for.
func freeze(i *programtest.Server) {
	i.T.Helper()
	db := dbtest.Connect(i.T, i.Store())
	i.Eventually("the server is frozen outside of a transaction", func() bool {
		if err := i.Cmd.Process.Signal(syscall.SIGSTOP); err != nil {
			i.T.Fatal(err)
		}
		err := db.Update(i.T.Context(), func(tx database.Tx) error {
			_, err := tx.ExecContext(i.T.Context(), `select pos from journal_head where id = 1 for update nowait`)
			return err
		})
		if err == nil {
			return true
		}
		if err := i.Cmd.Process.Signal(syscall.SIGCONT); err != nil {
			i.T.Fatal(err)
		}
		return false
	})
}
