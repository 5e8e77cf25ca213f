package operations_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"harness/internal/operations"
	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/internal/services/session/manager"
	"harness/queue"
	"harness/queue/jobs"
	"harness/tests/lifecycletest"
	"harness/tests/sessiontest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience limits every wait; only a bug reaches it
const patience = time.Minute

// site has the operations over real sessions, a real queue and one runtime.
type site struct {
	*operations.Service
	t        *testing.T
	journal  *journal.Journal
	sessions *manager.Service
	dir      string
}

// open starts a site; adapter creates its runtime, which starts and stops with it. Its jobs run until they are
// canceled.
func open(t *testing.T, db *database.DB, adapter func(sink func(name string) runtime.Sink) runtime.Adapter,
	edit ...func(*operations.Options)) *site {
	t.Helper()
	s := &site{t: t, dir: t.TempDir(), journal: journal.New(db, journal.Options{Logger: zerolog.Nop()})}
	lifecycletest.Run(t, s.journal)
	s.sessions = manager.New(manager.Options{Journal: s.journal, DB: db, NodeOptions: manager.NodeOptions{NodeID: "node"}, WorkspaceRoot: s.dir,
		Logger: zerolog.Nop(), Defaults: session.Controls{ApprovalPolicy: "untrusted", NetworkAccess: "restricted",
			FilesystemSandbox: "read-only"}})
	lifecycletest.Run(t, s.sessions)
	one := adapter(s.sessions.Sink)
	s.sessions.Registry.Attach(one)
	lifecycletest.Run(t, one)
	waiting := queue.New(queue.Options{Journal: s.journal, DB: db, NodeID: "node", Logger: zerolog.Nop(),
		Definitions: []queue.Definition{{
			Type: jobs.TypeSuggestRequest, Run: func(ctx context.Context, _ *queue.Run) (json.RawMessage, error) {
				<-ctx.Done()
				return nil, context.Cause(ctx)
			}}}})
	lifecycletest.Run(t, waiting)
	suggestions := jobs.NewSuggestions(db, s.journal, s.sessions.Upserter, nil)
	options := operations.Options{Sessions: sessiontest.Parts(s.sessions), Controls: manager.PartsOf(s.sessions).Controls, Jobs: waiting,
		Suggestions: suggestions,
		Suggester:   jobs.NewSuggester(suggestions, waiting, time.Second)}
	for _, change := range edit {
		change(&options)
	}
	s.Service = operations.New(options)
	return s
}

func (s *site) do(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// until waits for an effect of the journal.
func (s *site) until(what string, holds func() bool) {
	s.t.Helper()
	news := make(chan struct{}, 1)
	_, cancel := s.journal.Subscribe(func([]journal.Record) {
		select {
		case news <- struct{}{}:
		default:
		}
	})
	defer cancel()
	limit := time.After(patience)
	for !holds() {
		select {
		case <-news:
		case <-limit:
			s.t.Fatalf("never: %s", what)
		}
	}
}

// ended waits for the end of a turn.
func (s *site) ended(sessionID, turnID string) {
	s.t.Helper()
	s.until("the end of turn "+turnID, func() bool {
		state, known, err := s.sessions.Reader.Turn(s.t.Context(), sessionID, turnID)
		s.do(err)
		return known && state.Status != runtime.TurnInProgress
	})
}

// send sends a message without waiting for its turn.
func (s *site) send(sessionID, text string) (turnID string) {
	s.t.Helper()
	sent, err := s.Send(s.t.Context(), sessionID, session.Message{Text: text})
	s.do(err)
	return sent.TurnID
}

// asked sends a message and waits for the request of its turn.
func (s *site) asked(sessionID, text string, kind runtime.RequestKind) (turnID string, request session.Request) {
	s.t.Helper()
	turnID = s.send(sessionID, text)
	s.until("a "+string(kind)+" of turn "+turnID, func() bool {
		pending, err := s.Requests(s.t.Context(), sessionID, kind)
		s.do(err)
		i := slices.IndexFunc(pending, func(r session.Request) bool { return r.TurnID == turnID })
		if i >= 0 {
			request = pending[i]
		}
		return i >= 0
	})
	return turnID, request
}

// read reads a complete session.
func (s *site) read(sessionID string) session.Detail {
	s.t.Helper()
	detail, _, err := s.Read(s.t.Context(), sessionID, operations.Reading{})
	s.do(err)
	return detail
}
