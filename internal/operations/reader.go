package operations

import (
	"context"

	"harness/internal/platform/auth"
	"harness/internal/services/session"
	"harness/transcript"
)

// ReaderStore has the methods of sessions that Reader needs.
type ReaderStore interface {
	List(ctx context.Context, query session.ListQuery) (session.Page, error)
	// Read returns the session, its native thread (with turns) and the assembled transcript, or a window of it
	// (without turns).
	Read(ctx context.Context, sessionID string, want session.Reading) (session.Detail, error)
	// TranscriptPage reads a range of a transcript by number; MessageCounts returns the lengths of transcripts, by
	// session.
	TranscriptPage(ctx context.Context, sessionID string, offset, limit int, newestFirst bool) (
		session.TranscriptPage, error)
	MessageCounts(ctx context.Context, sessionIDs []string) (map[string]int64, error)
	// Text reads a range of an entry's content.
	Text(ctx context.Context, sessionID, messageID string, offset int64, bytes int) (transcript.Text, error)
	// Sources lists the files that the session's agent reads on its own.
	Sources(ctx context.Context, sessionID string) (session.Sources, error)
	// MarkRead and MarkUnread set a reader's marker in a session.
	MarkRead(ctx context.Context, reader, sessionID, messageID string) (further bool, err error)
	MarkUnread(ctx context.Context, reader, sessionID string) error
}

// Reader reads sessions and their transcripts.
type Reader struct {
	access *Access
	store  ReaderStore
}

// defaultPage is the default number of sessions in a page, defaultWindow that of entries in a window.
const (
	defaultPage   = 100
	defaultWindow = 100
)

// Find returns a session by id for any purpose: errors as for Check with Read. Its Activity is not set.
func (s *Reader) Find(ctx context.Context, sessionID string) (session.Session, error) {
	found, _, err := s.access.find(ctx, Read, sessionID)
	return found, err
}

// List returns a page of sessions, newest first; a Limit of 0 is 100. session.ErrBadCursor.
func (s *Reader) List(ctx context.Context, query session.ListQuery) (session.Page, error) {
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
	return s.store.List(ctx, query)
}

// Reading selects the part of a session's transcript, and describes what the reader already has.
type Reading struct {
	// Limit, Before, After, Around and FromStart select a window of entries. So do Count, which adds the total, and
	// OmitDetails. All empty means the whole transcript. Limit 0 is 100.
	Limit                         int
	Before, After, Around         string
	FromStart, Count, OmitDetails bool
	// Beginning, if set, cuts the content of long entries in a window (transcript.Window.Beginning). Text reads the rest.
	Beginning int
	// Figures sets session.Session.Figures, including the markers of Reader.
	Figures bool
	Reader  string
	// Has reports whether the reader already has a version; nil: it has none.
	Has func(version string) bool
	// Chunks receives the transcript of a full read. nil: the result contains it.
	Chunks session.Chunks
}

// window returns the requested range, nil for the full transcript.
func (r Reading) window() (*transcript.Window, error) {
	window := &transcript.Window{Limit: r.Limit, Before: r.Before, After: r.After, Around: r.Around, FromStart: r.FromStart,
		Beginning: r.Beginning}
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

// Read returns a session with its transcript, or a window of it (true). transcript.ErrBadCursor.
func (s *Reader) Read(ctx context.Context, sessionID string, want Reading) (session.Detail, bool, error) {
	if err := s.access.Check(ctx, Read, sessionID); err != nil {
		return session.Detail{}, false, err
	}
	window, err := want.window()
	if err != nil {
		return session.Detail{}, false, err
	}
	detail, err := s.store.Read(ctx, sessionID, session.Reading{Window: window, Has: want.Has, Figures: want.Figures,
		Reader: want.Reader, Count: want.Count, OmitDetails: want.OmitDetails, Chunks: want.Chunks})
	return detail, window != nil, err
}

// Text reads at most the given number of bytes of an entry's content, from an offset: session.ErrNoEntry.
func (s *Reader) Text(ctx context.Context, sessionID, messageID string, offset int64, bytes int) (transcript.Text, error) {
	return after(s.access.Check(ctx, Read, sessionID), func() (transcript.Text, error) {
		return s.store.Text(ctx, sessionID, messageID, offset, bytes)
	})
}

// MarkRead records that a reader has read a session up to an entry: session.ErrNoEntry.
func (s *Reader) MarkRead(ctx context.Context, reader, sessionID, messageID string) (further bool, err error) {
	return after(s.access.Check(ctx, Read, sessionID), func() (bool, error) {
		return s.store.MarkRead(ctx, reader, sessionID, messageID)
	})
}

// MarkUnread marks a session as unread for a reader.
func (s *Reader) MarkUnread(ctx context.Context, reader, sessionID string) error {
	if err := s.access.Check(ctx, Read, sessionID); err != nil {
		return err
	}
	return s.store.MarkUnread(ctx, reader, sessionID)
}

// TranscriptPage returns at most limit entries of a session's transcript and the total. It skips the first offset
// entries, counted from the beginning or, newest first, from the end.
func (s *Reader) TranscriptPage(ctx context.Context, sessionID string, offset, limit int, newestFirst bool) (
	session.TranscriptPage, error) {
	if err := s.access.Check(ctx, Read, sessionID); err != nil {
		return session.TranscriptPage{}, err
	}
	var p problems
	if p.count("limit", limit, MaxWindow); p != nil {
		return session.TranscriptPage{}, p.err()
	}
	return s.store.TranscriptPage(ctx, sessionID, offset, limit, newestFirst)
}

// MessageCounts returns the number of entries in the transcripts of sessions, by session.
func (s *Reader) MessageCounts(ctx context.Context, sessionIDs []string) (map[string]int64, error) {
	return s.store.MessageCounts(ctx, sessionIDs)
}

// Sources lists the files that the agent of a session reads on its own, and their changes since the session began.
func (s *Reader) Sources(ctx context.Context, sessionID string) (session.Sources, error) {
	return after(s.access.Check(ctx, ReadSources, sessionID), func() (session.Sources, error) {
		return s.store.Sources(ctx, sessionID)
	})
}
