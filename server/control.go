package server

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"

	"github.com/google/uuid"

	"harness/api/mcp"
	"harness/internal/content/artifact"
	"harness/internal/lib/version"
	"harness/internal/operations"
	"harness/internal/platform/journal"
)

// startControl makes the tools that control sessions over MCP.
func (s *Server) startControl() (err error) {
	s.control, err = mcp.New(mcp.Options{
		Operations: operations.New(s.operations()), Journal: controlJournal{sessionRecords{s.core}}, Artifacts: longTexts{s},
		Answers: s.answers, Version: version.Program(), Rate: s.cfg.Limits.RPCRate, Reads: s.journal, Context: s.patient, Clock: s.now,
	})
	return err
}

// controlHandler returns the handler of the control, nil without it.
func (s *Server) controlHandler() http.Handler {
	if s.control == nil {
		return nil // not a nil *mcp.Server
	}
	return s.control
}

// controlJournal is the journal for the control.
type controlJournal struct{ sessionRecords }

// Subscribe implements mcp.Journal.
func (j controlJournal) Subscribe(fn journal.Subscriber) (head int64, cancel func()) {
	return j.journal.Subscribe(fn)
}

// longTexts stores texts that are too long for an answer of the control.
type longTexts struct{ *Server }

// Keep implements mcp.Artifacts. The same text of a session has one artifact.
func (l longTexts) Keep(ctx context.Context, sessionID, name, text string) (string, error) {
	content := l.redactArtifact([]byte(text))
	sum := sha256.Sum256(content)
	hash := "sha256:" + hex.EncodeToString(sum[:])
	ref := artifact.Ref{ID: uuid.NewSHA1(uuid.NameSpaceOID, []byte(sessionID+"\x00"+name+"\x00"+hash)).String(), Name: name + ".txt",
		ContentType: "text/plain; charset=utf-8", Size: int64(len(content)), Hash: hash, SessionID: sessionID}
	return ref.ID, l.artifacts.PutAs(ctx, ref, content)
}
