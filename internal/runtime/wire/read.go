package wire

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"harness/internal/runtime"
	"harness/internal/runtime/jsonobject"
)

// LayoutOf finds the members of a line; false when it is not a JSON object with a method. For repeated names the last
// member counts.
func LayoutOf(line []byte) (method string, at runtime.Layout, ok bool) {
	if !json.Valid(line) {
		return "", at, false
	}
	jsonobject.Each(line, 0, func(name []byte, start, end int) {
		switch string(name) {
		case "method":
			at.Method = runtime.Span{start, end}
		case "params":
			at.Params = runtime.Span{start, end}
		case "id":
			at.ID = runtime.Span{start, end}
		}
	})
	raw := at.Method.Of(line)
	if len(raw) == 0 || raw[0] != '"' {
		return "", at, false
	}
	return Text(raw), at, true
}

// Text returns the value of a JSON string, "" for any other value.
func Text(raw []byte) string {
	if len(raw) < 2 || raw[0] != '"' {
		return ""
	}
	if inner := raw[1 : len(raw)-1]; bytes.IndexByte(inner, '\\') < 0 && utf8.Valid(inner) {
		return string(inner)
	}
	var text string
	_ = json.Unmarshal(raw, &text) // the parsed value is a string
	return text
}

// Clean removes NUL characters from texts to store: Postgres rejects them.
func Clean(text string) string {
	if strings.IndexByte(text, 0) < 0 {
		return text
	}
	return strings.ReplaceAll(text, "\x00", "\uFFFD")
}

// Millis reads a time in ms, 0 for none. Some members are in seconds, others in milliseconds; numbers up to 1e10 are
// seconds.
func Millis(raw []byte) int64 {
	value, err := strconv.ParseFloat(string(bytes.Trim(raw, `"`)), 64)
	if err != nil || value <= 0 || value > 1e17 {
		return 0
	}
	if value <= 1e10 {
		value *= 1000
	}
	return int64(value)
}

// params are the places of the ids in the parameters of frames.
type params struct {
	line                      []byte
	threadID, turnID, itemID  runtime.Span
	callID                    runtime.Span
	thread, turn, item        runtime.Span
	startedAt, completedAt    runtime.Span
	requestID, name           runtime.Span
	delta, content, summaries runtime.Span
}

func paramsOf(line []byte, at runtime.Span) params {
	p := params{line: line}
	if at == (runtime.Span{}) {
		return p
	}
	jsonobject.Each(line, at[0], func(name []byte, start, end int) {
		var into *runtime.Span
		switch string(name) {
		case "threadId":
			into = &p.threadID
		case "turnId":
			into = &p.turnID
		case "itemId":
			into = &p.itemID
		case "callId":
			into = &p.callID
		case "thread":
			into = &p.thread
		case "turn":
			into = &p.turn
		case "item":
			into = &p.item
		case "startedAtMs":
			into = &p.startedAt
		case "completedAtMs":
			into = &p.completedAt
		case "requestId":
			into = &p.requestID
		case "threadName":
			into = &p.name
		case "delta":
			into = &p.delta
		case "contentIndex":
			into = &p.content
		case "summaryIndex":
			into = &p.summaries
		default:
			return
		}
		*into = runtime.Span{start, end}
	})
	return p
}

func (p *params) text(at runtime.Span) string { return Text(at.Of(p.line)) }

// named returns the id in a member of a frame, or in that member's object.
func (p *params) named(id, object runtime.Span) string {
	if text := p.text(id); text != "" {
		return text
	}
	var within runtime.Span
	if object != (runtime.Span{}) {
		jsonobject.Each(p.line, object[0], func(name []byte, start, end int) {
			if string(name) == "id" {
				within = runtime.Span{start, end}
			}
		})
	}
	return p.text(within)
}

// Read returns the meaning of a line of the vocabulary: its ids (by runtime.KnownID), and its effect on the stored
// state. The line must be valid JSON in UTF-8 with this method and layout. Read sets Kind and, for a request,
// RequestID. The caller adds the data of the process.
func Read(line []byte, method string, at runtime.Layout) runtime.Signal {
	s := runtime.Signal{Kind: runtime.SignalNotification, Method: method, Raw: line, Layout: at,
		Params: at.Params.Of(line)}
	if bytes.Equal(s.Params, []byte("null")) {
		s.Params = nil
	}
	p := paramsOf(line, at.Params)
	s.ThreadID, s.TurnID = runtime.KnownID(p.named(p.threadID, p.thread)), runtime.KnownID(p.named(p.turnID, p.turn))
	s.ItemID = runtime.KnownID(cmp.Or(p.named(p.itemID, p.item), p.text(p.callID)))
	if id := at.ID.Of(line); len(id) > 0 && !bytes.Equal(id, []byte("null")) {
		s.Kind, s.RequestID = runtime.SignalRequest, bytes.Clone(id)
		if asked, ok := Requested(method, s.Params); ok {
			s.Change = asked
		}
		return s
	}
	if s.Change = p.change(method, s.TurnID); s.Change == nil {
		s.Change = retryOf(method, s.TurnID, s.Params)
	}
	if text := Lookup(method).text; text.known && s.ThreadID != "" && s.ItemID != "" {
		s.Change = p.textDelta(method, text)
	}
	return s
}

// change returns the effect of a notification on the stored state, nil for none.
func (p *params) change(method, turnID string) runtime.Change {
	switch method {
	case MethodTurnStarted, MethodTurnCompleted:
		turn := ReadTurn(p.turn.Of(p.line))
		switch {
		case turn.ID == "":
			return nil
		case method == MethodTurnStarted:
			return runtime.TurnStarted{TurnID: turn.ID, StartedAt: turn.StartedAt, Native: turn.Native}
		case turn.Status == "" || turn.Status == runtime.TurnInProgress:
			turn.Status = runtime.TurnDone // it has ended in any case
		}
		return runtime.TurnCompleted{TurnID: turn.ID, Status: turn.Status, Error: turn.Error, Kind: turn.Kind,
			Remedy: turn.Remedy, ProviderStatus: turn.ProviderStatus, StartedAt: turn.StartedAt, CompletedAt: turn.CompletedAt, Native: turn.Native}
	case MethodItemStarted, MethodItemCompleted:
		item, ok := ReadItem(p.item.Of(p.line))
		if !ok {
			return nil
		}
		if item.StartedAt == 0 {
			item.StartedAt = Millis(p.startedAt.Of(p.line))
		}
		if item.CompletedAt == 0 {
			item.CompletedAt = Millis(p.completedAt.Of(p.line))
		}
		return runtime.ItemChanged{TurnID: turnID, Item: item, Done: method == MethodItemCompleted}
	case MethodRequestResolved:
		if id := p.requestID.Of(p.line); len(id) > 0 {
			return runtime.RequestResolved{RequestID: bytes.Clone(id)}
		}
	case MethodThreadNamed:
		if name := p.name.Of(p.line); len(name) > 0 && name[0] == '"' {
			return runtime.ThreadNamed{Name: Clean(Text(name))}
		}
	}
	return nil
}

// textDelta returns the text of a delta, nil when it has none.
func (p *params) textDelta(method string, known text) runtime.Change {
	if added := p.delta.Of(p.line); len(added) == 0 || added[0] != '"' {
		return nil
	}
	key, into, index := method, known.into, runtime.Span{}
	switch known.index {
	case "contentIndex":
		index = p.content
	case "summaryIndex":
		index = p.summaries
	}
	if at := index.Of(p.line); at != nil {
		suffix := "/" + string(at)
		key, into = key+suffix, into+suffix
	}
	return runtime.TextDelta{Key: key, Into: into, Start: p.delta[0], End: p.delta[1], Outlives: known.outlives}
}

func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
