package api

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"

	"harness/api/rest"
	"harness/api/schema"
	"harness/internal/javascript"
	"harness/operations"
	"harness/session"
)

var readSessionQuery = schema.Struct(
	rest.Optional("limit", schema.Integer().Coerce().Min(1).Max(operations.MaxWindow)),
	rest.Optional("before", rest.Cursor), rest.Optional("after", rest.Cursor), rest.Optional("around", rest.Cursor),
	rest.Optional("from", schema.Enum("start")), rest.Optional("count", schema.Enum("true", "false")),
	rest.Optional("details", schema.Enum("omit")), viewField)

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
	// what is behind it has texts only, in which a quote is escaped
	at := bytes.LastIndex(rest, []byte(member+"[]")) + len(member)
	size := len(rest)
	for i := range detail.Transcript {
		size += detail.Transcript[i].Size()
	}
	out := detail.AppendTranscript(append(make([]byte, 0, size), rest[:at]...))
	return javascript.PlainSeparators(append(out, rest[at+len("[]"):]...)), nil
}

// windowView tells where to go on: the values of `before` and `after` that read the next window, null where there is
// nothing more for now.
type windowView struct {
	Before *string `json:"before"`
	After  *string `json:"after"`
	// Count is how many entries there are in all, where that was asked for.
	Count *int64 `json:"count,omitempty"`
}

func (s *server) readSession(ctx context.Context, in *rest.Input) (rest.Reply, error) {
	want := operations.Reading{
		Limit: int(in.Query.Get("limit").Int()), Before: in.Query.Get("before").Text(), After: in.Query.Get("after").Text(),
		Around: in.Query.Get("around").Text(), FromStart: in.Query.Get("from").Text() == "start",
		Count: in.Query.Get("count").Text() == "true", OmitDetails: in.Query.Get("details").Text() == "omit",
		Figures: figures(in), Reader: in.Actor,
	}
	if in.IfNoneMatch != "" {
		want.Has = in.Has
	}
	detail, windowed, err := s.Operations.Read(ctx, in.SessionID(), want)
	if err != nil {
		return rest.Reply{}, err
	}
	if detail.Unchanged {
		return rest.Reply{Status: http.StatusNotModified, Version: detail.Version}, nil
	}
	body := sessionDetail{Session: viewSession(detail.Session), Thread: thread(detail.Session), Pos: detail.Pos,
		HistoryPending: detail.HistoryPending, Capabilities: detail.Session.Capabilities}
	if windowed {
		body.Window = &windowView{Before: textOrNull(detail.Older), After: textOrNull(detail.Newer)}
		if want.Count {
			body.Window.Count = &detail.Count
		}
	}
	whole, err := encodeDetail(body, &detail)
	return rest.Reply{Body: whole, Version: detail.Version}, err
}

func textOrNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
