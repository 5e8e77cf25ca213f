package api

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"

	"harness/api/schema"
	"harness/session"
	"harness/transcript"
)

// The sizes of a window of a transcript, in entries.
const (
	defaultWindow = 100
	largestWindow = 1000
)

var readSessionQuery = schema.Struct(
	optional("limit", schema.Integer().Coerce().Min(1).Max(largestWindow)), optional("before", cursorField), optional("after", cursorField))

// windowOf is the window a query asks for, nil when it asks for none: that is how codex-manager's clients read.
func windowOf(query schema.Value) (*transcript.Window, error) {
	limit, before, after := query.Get("limit"), query.Get("before"), query.Get("after")
	if !limit.Defined() && !before.Defined() && !after.Defined() {
		return nil, nil
	}
	if before.Defined() && after.Defined() {
		return nil, &validationError{[]schema.Issue{schema.Custom("Give before or after, not both", "after")}}
	}
	window := &transcript.Window{Limit: defaultWindow, Before: before.Text(), After: after.Text()}
	if limit.Defined() {
		window.Limit = int(limit.Int())
	}
	return window, nil
}

type sessionDetail struct {
	Session    sessionView     `json:"session"`
	Thread     json.RawMessage `json:"thread"`
	Transcript [0]struct{}     `json:"transcript"` // in encodeDetail
	Window     *windowView     `json:"window,omitempty"`
	// HistoryPending says that older turns of the conversation, from elsewhere, are still being taken in.
	HistoryPending bool `json:"historyPending,omitempty"`
	// Pos is the cursor of the event stream (?after=) at which all of this is true.
	Pos int64 `json:"pos"`
	// Capabilities is what can be done in this session.
	Capabilities json.RawMessage `json:"capabilities,omitempty"`
}

// encodeDetail encodes everything but the transcript, which may be long and is JSON already for the most part.
func encodeDetail(body sessionDetail, detail *session.Detail) (encoded, error) {
	rest, err := encodeJSON(body)
	if err != nil {
		return nil, err
	}
	const member = `"transcript":`
	at := bytes.LastIndex(rest, []byte(member+"[]")) + len(member) // what is behind it has texts only, in which a quote is escaped
	size := len(rest)
	for i := range detail.Transcript {
		size += detail.Transcript[i].Size()
	}
	out := detail.AppendTranscript(append(make([]byte, 0, size), rest[:at]...))
	return plainSeparators(append(out, rest[at+len("[]"):]...)), nil
}

// windowView tells where to go on: the values of `before` and `after` that read the next window, null where there is nothing more for now.
type windowView struct {
	Before *string `json:"before"`
	After  *string `json:"after"`
}

func (s *server) readSession(ctx context.Context, in *input) (reply, error) {
	window, err := windowOf(in.query)
	if err != nil {
		return reply{}, err
	}
	want := session.Reading{Window: window}
	if in.ifNoneMatch != "" {
		want.Has = in.has
	}
	detail, err := s.Sessions.Read(ctx, in.sessionID(), want)
	if err != nil {
		return reply{}, err
	}
	if detail.Unchanged {
		return reply{status: http.StatusNotModified, version: detail.Version}, nil
	}
	body := sessionDetail{Session: viewSession(detail.Session), Thread: thread(detail.Session), Pos: detail.Pos,
		HistoryPending: detail.HistoryPending, Capabilities: detail.Session.Capabilities}
	if window != nil {
		body.Window = &windowView{Before: textOrNull(detail.Older), After: textOrNull(detail.Newer)}
	}
	whole, err := encodeDetail(body, &detail)
	return reply{body: whole, version: detail.Version}, err
}

func textOrNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
