package operations

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"harness/internal/platform/auth"
	"harness/internal/services/session"
	"harness/transcript"
)

// defaultPage is the number of sessions of a page when a client names none, defaultWindow that of a transcript's
// entries.
const (
	defaultPage   = 100
	defaultWindow = 100
)

// Create opens a session. A blank folder or model is none. session.ErrProjectNotFound, *LimitedError,
// *session.ElsewhereError.
func (s *Service) Create(ctx context.Context, in session.Create) (session.Session, error) {
	in, err := s.prepare(ctx, in)
	if err != nil {
		return session.Session{}, err
	}
	return s.opts.Sessions.Create(ctx, in)
}

// CheckNew refuses sessions at a node that makes none: *session.ElsewhereError.
func (s *Service) CheckNew() error { return s.opts.Sessions.CheckNew() }

// CheckRuns refuses what needs an agent at a node that runs none: *session.ElsewhereError.
func (s *Service) CheckRuns() error { return s.opts.Sessions.CheckRuns() }

// prepare checks what a client wants of a new session and fills in the runtime it gets.
func (s *Service) prepare(ctx context.Context, in session.Create) (session.Create, error) {
	if err := s.CheckNew(); err != nil {
		return in, err // who makes it checks it, by what is set there
	}
	var p problems
	p.most("runtime", in.Runtime, MaxRuntimeName)
	p.tools(in.DynamicTools)
	if err := p.err(); err != nil {
		return in, err
	}
	if in.RuntimeNamed = in.Runtime != ""; !in.RuntimeNamed {
		in.Runtime = s.DefaultRuntime()
	}
	in.Cwd, in.Model = strings.TrimSpace(in.Cwd), named(in.Model)
	if err := s.CheckEnabled(in.Runtime); err != nil {
		return in, err
	}
	in, err := s.settle(ctx, in)
	if err == nil {
		in.Cwd, err = s.opts.Sessions.CheckFolder(in.Cwd)
	}
	return in, err
}

// named is a model's name without blanks around it; a blank one is no model.
func named(model *string) *string {
	if model == nil {
		return nil
	}
	name := strings.TrimSpace(*model)
	if name == "" {
		return nil
	}
	return &name
}

// List returns a page of sessions, newest first; a Limit of 0 is 100. session.ErrBadCursor.
func (s *Service) List(ctx context.Context, query session.ListQuery) (session.Page, error) {
	var p problems
	p.count("limit", query.Limit, MaxPage)
	p.most("q", query.Text, MaxSearch)
	if err := p.err(); err != nil {
		return session.Page{}, err
	}
	if query.Limit == 0 {
		query.Limit = defaultPage
	}
	if limit := auth.ProjectsFrom(ctx); limit != nil {
		query.Projects = append([]string{}, limit.IDs()...)
	}
	return s.opts.Sessions.List(ctx, query)
}

// Reading says which part of a session's transcript is wanted, and what the reader has.
type Reading struct {
	// Limit, Before, After, Around and FromStart choose a window of entries, and so do Count, which has it told how many
	// there are, and OmitDetails; all of them empty is the whole transcript. Limit 0 is 100.
	Limit                         int
	Before, After, Around         string
	FromStart, Count, OmitDetails bool
	// Figures has session.Session.Figures filled in, with what Reader has read.
	Figures bool
	Reader  string
	// Has tells whether the reader has a version already; nil: it has none.
	Has func(version string) bool
	// Pieces takes what a whole read shows. nil: the answer has it.
	Pieces session.Pieces
}

// window is the stretch a reading asks for, nil when it asks for the whole.
func (r Reading) window() (*transcript.Window, error) {
	window := &transcript.Window{Limit: r.Limit, Before: r.Before, After: r.After, Around: r.Around, FromStart: r.FromStart}
	if *window == (transcript.Window{}) && !r.Count && !r.OmitDetails {
		return nil, nil
	}
	if r.Before != "" && r.After != "" {
		return nil, invalid("after", "Give before or after, not both")
	}
	if r.Around != "" && (r.Before != "" || r.After != "" || r.FromStart) {
		return nil, invalid("around", "Give around alone")
	}
	if r.FromStart && r.Before+r.After != "" {
		return nil, invalid("from", "Give from alone")
	}
	var p problems
	if p.count("limit", r.Limit, MaxWindow); p != nil {
		return nil, p.err()
	}
	if window.Limit == 0 {
		window.Limit = defaultWindow
	}
	return window, nil
}

// Read reads a session with its transcript or a window of it, which is told. transcript.ErrBadCursor.
func (s *Service) Read(ctx context.Context, sessionID string, want Reading) (session.Detail, bool, error) {
	if err := s.Check(ctx, Read, sessionID); err != nil {
		return session.Detail{}, false, err
	}
	window, err := want.window()
	if err != nil {
		return session.Detail{}, false, err
	}
	detail, err := s.opts.Sessions.Read(ctx, sessionID, session.Reading{Window: window, Has: want.Has, Figures: want.Figures,
		Reader: want.Reader, Count: want.Count, OmitDetails: want.OmitDetails, Pieces: want.Pieces})
	return detail, window != nil, err
}

// MarkRead notes that somebody has read a session up to an entry: session.ErrNoEntry.
func (s *Service) MarkRead(ctx context.Context, reader, sessionID, messageID string) (further bool, err error) {
	if err := s.Check(ctx, Read, sessionID); err != nil {
		return false, err
	}
	return s.opts.Sessions.MarkRead(ctx, reader, sessionID, messageID)
}

// MarkUnread has a session be unread for somebody.
func (s *Service) MarkUnread(ctx context.Context, reader, sessionID string) error {
	if err := s.Check(ctx, Read, sessionID); err != nil {
		return err
	}
	return s.opts.Sessions.MarkUnread(ctx, reader, sessionID)
}

// Rename gives a session a title. *InvalidError.
func (s *Service) Rename(ctx context.Context, sessionID, title string) (session.Session, error) {
	if err := s.Check(ctx, Rename, sessionID); err != nil {
		return session.Session{}, err
	}
	if err := checkText("title", title, MaxTitle); err != nil {
		return session.Session{}, err
	}
	return s.opts.Sessions.Rename(ctx, sessionID, title)
}

// Archive puts a session away: session.ErrNotMaterialized for one that is, or that has nothing to put away.
func (s *Service) Archive(ctx context.Context, sessionID string) (session.Session, error) {
	found, _, err := s.find(ctx, Archive, sessionID)
	if err != nil {
		return session.Session{}, err
	}
	if found.Archived {
		return session.Session{}, session.ErrNotMaterialized // what codex-manager calls it, too
	}
	return s.opts.Sessions.Archive(ctx, sessionID)
}

// Unarchive takes a session back. session.ErrNotMaterialized.
func (s *Service) Unarchive(ctx context.Context, sessionID string) (session.Session, error) {
	if err := s.Check(ctx, Unarchive, sessionID); err != nil {
		return session.Session{}, err
	}
	return s.opts.Sessions.Unarchive(ctx, sessionID)
}

// Resume loads a session in its runtime, so that its events flow. *session.ToolsError, session.ErrNotMaterialized.
func (s *Service) Resume(ctx context.Context, sessionID string, dynamicTools json.RawMessage) (session.Session, error) {
	if err := s.Check(ctx, Resume, sessionID); err != nil {
		return session.Session{}, err
	}
	if err := checkTools(dynamicTools); err != nil {
		return session.Session{}, err
	}
	return s.opts.Sessions.Resume(ctx, sessionID, dynamicTools)
}

// Delete deletes a session for good.
func (s *Service) Delete(ctx context.Context, sessionID string) (session.Deleted, error) {
	asking, cancel := context.WithTimeout(ctx, lookupPatience)
	defer cancel()
	if err := s.Check(asking, Delete, sessionID); err != nil {
		return session.Deleted{}, err
	}
	return s.opts.Sessions.Delete(ctx, sessionID)
}

// AssignProject puts a session into a project, or takes it out (nil), and tells which it was in before.
// *UnknownProjectError.
func (s *Service) AssignProject(ctx context.Context, sessionID string, projectID *string) (assigned session.Session,
	previous *string, err error) {
	found, _, err := s.find(ctx, AssignProject, sessionID)
	if err != nil {
		return session.Session{}, nil, err
	}
	if projectID != nil {
		if err := checkText("projectId", *projectID, MaxProjectID); err != nil {
			return session.Session{}, nil, err
		}
	}
	if projectID != nil && !auth.ProjectsFrom(ctx).Has(*projectID) {
		return session.Session{}, nil, &UnknownProjectError{SessionID: sessionID, ProjectID: *projectID}
	}
	assigned, err = s.opts.Sessions.AssignProject(ctx, sessionID, projectID)
	if errors.Is(err, session.ErrProjectNotFound) && projectID != nil {
		err = &UnknownProjectError{SessionID: sessionID, ProjectID: *projectID}
	}
	return assigned, found.ProjectID, err
}

// Upsert stores entries of a session's transcript, all or none, and returns them as JSON. *InvalidError.
func (s *Service) Upsert(ctx context.Context, sessionID string, entries []transcript.Entry) ([]json.RawMessage, error) {
	if err := checkEntries(entries); err != nil {
		return nil, err
	}
	if err := s.CheckSession(ctx, sessionID); err != nil {
		return nil, err
	}
	stored, err := s.opts.Sessions.UpsertTranscripts(ctx, sessionID, entries)
	if !errors.Is(err, session.ErrNotFound) {
		return stored, err
	}
	// Not stored here: it is looked for at the runtime, too, and taken in.
	if err := s.Check(ctx, Upsert, sessionID); err != nil {
		return nil, err
	}
	return s.opts.Sessions.UpsertTranscripts(ctx, sessionID, entries)
}

// Sources tells which files the agent of a session reads by itself, and which are not what they were when the session
// began.
func (s *Service) Sources(ctx context.Context, sessionID string) (session.Sources, error) {
	if err := s.Check(ctx, ReadSources, sessionID); err != nil {
		return session.Sources{}, err
	}
	return s.opts.Sessions.Sources(ctx, sessionID)
}
