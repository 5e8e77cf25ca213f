package api_test

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"testing"

	"harness/internal/services/session"
)

// fakeChats returns preset results for a project's chats.
type fakeChats struct {
	moved            session.MovedChats
	deleted, skipped int
	workers          []session.AgentSession
	chatsFail        error
	archived         bool // the request of the last move
}

func (f *fakeChats) MoveChats(_ context.Context, _ string, archive bool) (session.MovedChats, error) {
	f.archived = archive
	return f.moved, f.chatsFail
}

func (f *fakeChats) DeleteChats(context.Context, string) (deleted, skipped int, err error) {
	return f.deleted, f.skipped, f.chatsFail
}

func (f *fakeChats) AgentSessions(context.Context, string) ([]session.AgentSession, error) {
	return f.workers, f.chatsFail
}

// primeChats prepares the state behind a recorded response.
func (f *fakeChats) primeChats(t *testing.T, reply string) {
	t.Helper()
	var r struct {
		Status, ProjectID                                                                                              string
		MovedSessionCount, ArchivedSessionCount, AlreadyArchivedSessionCount, DeletedSessionCount, SkippedSessionCount int
		SessionIDs                                                                                                     []string
		Data                                                                                                           []session.AgentSession
	}
	if err := json.Unmarshal([]byte(reply), &r); err != nil {
		t.Fatal(err)
	}
	*f = fakeChats{moved: session.MovedChats{Moved: r.MovedSessionCount, Archived: r.ArchivedSessionCount,
		AlreadyArchived: r.AlreadyArchivedSessionCount},
		deleted: r.DeletedSessionCount, skipped: r.SkippedSessionCount, workers: r.Data}
	switch r.Status {
	case "not_found":
		f.chatsFail = session.ErrProjectNotFound
	case "not_materialized_sessions":
		f.chatsFail = &session.NotMaterializedError{ProjectID: r.ProjectID, SessionIDs: r.SessionIDs}
	}
}

// TestRecordedChats replays the recorded exchanges about all chats of a project and its workers, byte for byte.
func TestRecordedChats(t *testing.T) {
	t.Parallel()
	file, err := os.Open("testdata/project_chats.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	b := setup(t)
	lines, replayed := bufio.NewScanner(file), 0
	for lines.Scan() {
		var e exchange
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			t.Fatal(err)
		}
		b.sessions.primeChats(t, e.Reply)
		body := ""
		if e.Body != nil {
			body = *e.Body
		}
		got := b.send(e.Method, e.Path, e.Type, body)
		if got.Code != e.Status || got.Body.String() != e.Reply || got.Header().Get("Content-Type") != e.ReplyType {
			t.Errorf("%s: %s %s %s\ngot  %d %s\nwant %d %s", e.Name, e.Method, e.Path, body, got.Code, got.Body,
				e.Status, e.Reply)
		}
		if archive := body == `{"destination":"archive"}`; archive != b.sessions.archived {
			t.Errorf("%s: archived %v", e.Name, b.sessions.archived)
		}
		replayed++
	}
	if err := lines.Err(); err != nil || replayed != 20 {
		t.Errorf("%d exchanges, %v", replayed, err)
	}
}
