package operations

import (
	"context"

	"harness/internal/services/session"
	"harness/internal/services/workingtree"
)

// OriginStore finds why a turn changed a file.
type OriginStore interface {
	// Origin returns the message that began a turn, and who allowed the change of a path in it.
	Origin(ctx context.Context, sessionID, turnID, path string) (session.Origin, error)
}

// BlamedLines are consecutive lines of a file with their origin.
type BlamedLines struct {
	workingtree.BlamedLines
	session.Origin
}

// Blame has lines of a file with the turns that wrote them.
type Blame struct {
	workingtree.Blame
	Lines []BlamedLines
	// Total is the number of lines of the file, Next the first line of the next page, 0 if this is the last one.
	Total, Next int
}

const (
	// MaxBlamed is the maximum of lines in a page.
	MaxBlamed = 5000
	// defaultBlamed is the default number of lines in a page.
	defaultBlamed = 1000
)

// Blame returns which turns wrote the lines of a file in the folder of a session, from a line on; limit 0 is 1000 lines.
// Turns of sessions that the caller may not see have no name. *workingtree.UnavailableError, *workingtree.FileError,
// workspace.ErrNoFile, *workspace.RefusedError.
func (s *Changes) Blame(ctx context.Context, sessionID, path string, line, limit int) (page Blame, err error) {
	folder, err := s.folder(ctx, sessionID)
	if err != nil {
		return page, err
	}
	if s.files != nil {
		if _, err = s.files.Read(folder, path, 0); err != nil { // the same files are closed
			return page, err
		}
	}
	if page.Blame, err = s.store.Blame(ctx, folder, path); err != nil {
		return page, err
	}
	if limit == 0 {
		limit = defaultBlamed
	}
	end := line + limit // the first line after the page
	origins := map[string]BlamedLines{}
	for _, group := range page.Blame.Lines {
		page.Total += len(group.Text)
		from, to := max(group.From, line), min(group.From+len(group.Text), end)
		if from >= to {
			continue
		}
		group.Text, group.From = group.Text[from-group.From:to-group.From], from
		key := group.SessionID + " " + group.TurnID
		one, known := origins[key]
		if !known {
			if one, err = s.origin(ctx, group, path); err != nil {
				return page, err
			}
			origins[key] = one
		}
		group.Certain = group.Certain && group.SessionID == one.SessionID // without its name, a turn is not "no turn"
		group.SessionID, group.TurnID = one.SessionID, one.TurnID
		page.Lines = append(page.Lines, BlamedLines{group, one.Origin})
	}
	if end <= page.Total {
		page.Next = end
	}
	return page, nil
}

// origin finds the origin of lines. A session that is deleted, or that the caller may not see, is no origin.
func (s *Changes) origin(ctx context.Context, lines workingtree.BlamedLines, path string) (BlamedLines, error) {
	if lines.SessionID == "" {
		return BlamedLines{}, nil
	}
	if _, visible, err := s.seen(ctx, lines.SessionID); err != nil || !visible {
		return BlamedLines{}, err
	}
	origin, err := s.origins.Origin(ctx, lines.SessionID, lines.TurnID, path)
	if session.Absent(err) {
		return BlamedLines{}, nil
	}
	return BlamedLines{lines, origin}, err
}
