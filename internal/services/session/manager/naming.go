package manager

import (
	"cmp"
	"context"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/internal/services/session/store"
	"harness/stream"
)

// nameAfter names a session without a name after its first message. The message of this call is not the first one in
// a session that is older than automatic names.
func (s *Service) nameAfter(ctx context.Context, tx database.Tx, sess session.Session, turnID string, message session.Message, at int64) (
	[]journal.Event, error) {
	if sess.Name != "" {
		return nil, nil
	}
	stored, err := store.ReadSession(ctx, tx, sess.ID)
	if err != nil || stored.Name != "" {
		return nil, err
	}
	name := message.Title()
	first, there, err := s.entries.First(ctx, tx, sess.ID)
	if err != nil {
		return nil, err
	}
	if there && first.Role == "user" && first.TurnID != turnID {
		name = cmp.Or(session.TitleOf(first.Content), name)
	}
	if name == "" {
		return nil, nil
	}
	if err := store.NameSession(ctx, tx, sess.ID, name); err != nil {
		return nil, err
	}
	return []journal.Event{session.NewEvent(sess.ID, stream.ConsoleEvents+"session_titled", at, stored.SystemOwned, encode(struct {
		SessionID string              `json:"sessionId"`
		Title     string              `json:"title"`
		Source    session.TitleSource `json:"titleSource"`
	}{sess.ID, name, session.TitleAuto}))}, nil
}

// overruled reports whether a runtime names a session that a user named. A runtime that stores names has the user's
// name, so a different one is a later rename.
func (s *Service) overruled(runtimeName string, signal runtime.Signal) bool {
	named, is := signal.Change.(runtime.ThreadNamed)
	if !is {
		return false
	}
	known, _ := s.index.Peek(signal.ThreadID)
	if !known.NamedByUser || known.Title == named.Name {
		return false
	}
	adapter, err := s.Registry.Adapter(runtimeName)
	if err != nil {
		return false
	}
	_, stores := runtime.Has[runtime.Archiver](adapter, runtime.OpArchive)
	return !stores
}
