package sessions

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"harness/api/rest"
	"harness/api/schema"
	"harness/internal/operations"
	"harness/internal/services/session"
)

var readSessionQuery = schema.Struct(
	rest.Optional("limit", schema.Integer().Coerce().Min(1).Max(operations.MaxWindow)),
	rest.Optional("before", rest.Cursor), rest.Optional("after", rest.Cursor), rest.Optional("around", rest.Cursor),
	rest.Optional("from", schema.Enum("start")), rest.Optional("count", schema.Enum("true", "false")),
	rest.Optional("details", schema.Enum("omit")), viewField)

type sessionDetail struct {
	Session    sessionView     `json:"session"`
	Thread     json.RawMessage `json:"thread"`
	Transcript [0]struct{}     `json:"transcript"` // filled in by wholeRead.parts
	Window     *windowView     `json:"window,omitempty"`
	// Authors are the authors of entries by message id, with ?view=console.
	Authors map[string]session.Author `json:"authors,omitempty"`
	// HistoryPending reports that the server is still importing older turns of a conversation from elsewhere.
	HistoryPending bool `json:"historyPending,omitempty"`
	// Pos is the cursor of the event stream (?after=) that matches the response.
	Pos int64 `json:"pos"`
	// Capabilities describe what this session supports.
	Capabilities json.RawMessage `json:"capabilities,omitempty"`
}

// windowView has the cursors to continue: the values of `before` and `after` for the next window. A cursor is null if
// there are currently no more entries in its direction.
type windowView struct {
	Before *string `json:"before"`
	After  *string `json:"after"`
	// Count is the total number of entries, if the request asks for it.
	Count *int64 `json:"count,omitempty"`
}

func (s *sessions) readSession(ctx context.Context, in *rest.Input) (rest.Reply, error) {
	want := operations.Reading{
		Limit: int(in.Query.Get("limit").Int()), Before: in.Query.Get("before").Text(), After: in.Query.Get("after").Text(),
		Around: in.Query.Get("around").Text(), FromStart: in.Query.Get("from").Text() == "start",
		Count: in.Query.Get("count").Text() == "true", OmitDetails: in.Query.Get("details").Text() == "omit",
		Figures: figures(in), Reader: in.Actor,
	}
	if in.IfNoneMatch != "" {
		want.Has = in.Has
	}
	if s.long.making.TryAcquire(1) {
		defer s.long.making.Release(1)
		return s.readLong(ctx, in, want)
	}
	short := &memory{}
	parts, version, err := s.readParts(ctx, in, want, short)
	if errors.Is(err, errLong) {
		leave, err := acquire(ctx, s.long.making, 1, makingWait)
		if err != nil {
			return rest.Reply{}, err
		}
		defer leave()
		return s.readLong(ctx, in, want)
	}
	if err != nil {
		return rest.Reply{}, err
	}
	if parts == nil {
		return rest.Reply{Status: http.StatusNotModified, Version: version}, nil
	}
	whole, err := inMemory(parts, short)
	return rest.Reply{Body: whole, Version: version}, err
}

// readLong is readSession for a transcript that may be too long for memory. It copies one snapshot of the store into
// a file at the store's pace, so that a slow reader holds no snapshot. Concurrent requests for the same version share
// the file.
func (s *sessions) readLong(ctx context.Context, in *rest.Input, want operations.Reading) (rest.Reply, error) {
	var same *LongAnswer
	has, coding := want.Has, s.coder.Wanted(in.Request)
	want.Has = func(version string) bool {
		if has != nil && has(version) {
			return true
		}
		same = s.long.join(coding.Name(version))
		return same != nil
	}
	file := s.long.folder.New()
	parts, version, err := s.readParts(ctx, in, want, file)
	switch {
	case err != nil && same != nil:
		s.long.leave(same)
		fallthrough
	case err != nil:
		file.Close()
		return rest.Reply{}, err
	case same != nil:
		file.Close()
		return rest.Reply{Body: same, Version: version}, nil
	case parts == nil:
		file.Close()
		return rest.Reply{Status: http.StatusNotModified, Version: version}, nil
	}
	if sizeOfParts(parts) <= longestInMemory {
		defer file.Close()
		whole, err := inMemory(parts, file)
		return rest.Reply{Body: whole, Version: version}, err
	}
	answer, err := s.finish(coding, parts, file)
	if err != nil {
		return rest.Reply{}, err
	}
	s.long.share(coding.Name(version), answer)
	return rest.Reply{Body: answer, Version: version}, nil
}

// readParts reads a session as parts and puts the longest ones into `into`. The parts are nil if the reader already
// has this version.
func (s *sessions) readParts(ctx context.Context, in *rest.Input, want operations.Reading, into kept) (
	parts []part, version string, err error) {
	read := &wholeRead{into: into, items: map[int][]part{}}
	want.Chunks = read
	detail, windowed, err := s.reader.Read(ctx, in.SessionID(), want)
	if err != nil || detail.Unchanged {
		return nil, detail.Version, err
	}
	body := sessionDetail{Session: viewSession(detail.Session), Thread: thread(detail.Session), Pos: detail.Pos,
		Authors: detail.Authors, HistoryPending: detail.HistoryPending, Capabilities: detail.Session.Capabilities}
	if windowed {
		body.Window = &windowView{Before: rest.TextOrNull(detail.Older), After: rest.TextOrNull(detail.Newer)}
		if want.Count {
			body.Window.Count = &detail.Count
		}
	}
	parts, err = read.parts(body, &detail)
	return parts, detail.Version, err
}
