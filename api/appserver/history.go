package appserver

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"

	"harness/internal/lib/javascript"
	"harness/internal/operations"
	"harness/internal/runtime"
	"harness/internal/runtime/wire"
	"harness/stream"
	"harness/transcript"
)

func encode(value any) json.RawMessage { return javascript.MustEncode(value) }

// digest identifies the text of a message.
func digest(text string) string {
	sum := sha256.Sum256([]byte(strings.TrimSpace(text)))
	return hex.EncodeToString(sum[:8])
}

// historyPage is the window of a history that a client asks for.
type historyPage struct {
	ThreadID, TurnID, Cursor, SortDirection string
	Limit                                   int
}

// window reads a page of entries, in the direction that the client asks for: newest first, unless it says otherwise.
func (c *call) window(ctx context.Context, in historyPage, cursor string) (entries []transcript.Entry, next string, pos int64, err error) {
	const standard = 100
	limit := in.Limit
	if limit <= 0 {
		limit = standard
	}
	want := operations.Reading{Limit: min(limit, operations.MaxWindow), Before: cursor}
	forward := in.SortDirection == "asc"
	if forward {
		want.Before, want.After, want.FromStart = "", cursor, cursor == ""
	}
	detail, _, err := c.ops().Read(ctx, in.ThreadID, want)
	if err != nil {
		return nil, "", 0, err
	}
	if forward {
		return detail.Transcript, detail.Newer, detail.Pos, nil
	}
	slices.Reverse(detail.Transcript)
	return detail.Transcript, detail.Older, detail.Pos, nil
}

// listedItem is an item in a list.
type listedItem struct {
	TurnID string          `json:"turnId"`
	Item   json.RawMessage `json:"item"`
}

// listItems lists the items of a session. The first page releases the events of a resumed session: those behind its
// position, and anew the texts that still grow, which are not in the list. Neither are items that the client has already.
func listItems(ctx context.Context, c *call) (any, error) {
	var in historyPage
	if err := c.read(&in); err != nil {
		return nil, err
	}
	c.session = in.ThreadID
	entries, next, pos, err := c.window(ctx, in, in.Cursor)
	if err != nil {
		return nil, err
	}
	var ids clientIDs
	if in.Cursor == "" {
		if ids, err = c.clientIDs(ctx); err != nil {
			return nil, err
		}
	}
	f := c.views.Of(in.ThreadID)
	if in.Cursor != "" || in.SortDirection == "asc" {
		f = nil
	}
	var shown map[string]bool
	if f != nil {
		shown = f.list()
	}
	data, growing, whole := []listedItem{}, []transcript.Entry{}, map[string]bool{}
	for _, entry := range entries {
		if shown[entry.MessageID] {
			continue
		}
		if entry = entry.Whole(); entry.Status == transcript.Streaming && grows(entry.Type) {
			growing = append(growing, entry)
			continue
		}
		if entry.Status != transcript.Streaming {
			whole[entry.MessageID] = true
		}
		if item, known := itemOf(entry); known && (in.TurnID == "" || in.TurnID == entry.TurnID) {
			data = append(data, listedItem{entry.TurnID, ids.add(entry, item)})
		}
	}
	if f != nil {
		c.send = func(answer []byte) { f.release(answer, pos, whole, func() { f.grow(growing, entries) }) }
	}
	return object{"data": data, "nextCursor": orNil(next)}, nil
}

// grows reports whether items of a type are shown as a text that grows.
func grows(kind string) bool {
	return kind == wire.ItemAgentMessage || kind == wire.ItemReasoning || kind == wire.ItemPlan
}

// itemOf returns an entry as an item; false for an entry that is none, or none that every client can decode.
func itemOf(entry transcript.Entry) (json.RawMessage, bool) {
	switch {
	case isUnread(entry): // clients would show it as sent
		return nil, false
	case entry.Type == wire.ItemUserMessage && entry.Details == nil:
		return encode(object{"type": entry.Type, "id": entry.MessageID,
			"content": []object{{"type": "text", "text": entry.Content, "text_elements": []any{}}}}), true
	case entry.Type == wire.ItemAgentMessage && entry.Details == nil:
		return encode(object{"type": entry.Type, "id": entry.MessageID, "text": entry.Content}), true
	case entry.Details == nil || !json.Valid([]byte(*entry.Details)):
		return nil, false
	}
	item, known := completeItem(json.RawMessage(*entry.Details))
	return item, known && wire.Text(wire.Members(item, "type")[0]) == entry.Type
}

// grow shows texts that grow from their beginning: an empty item, and one delta with the text so far. Of a running
// command the client has the output that its item lists.
func (f *follow) grow(growing, entries []transcript.Entry) {
	for _, entry := range entries {
		if entry.Type == wire.ItemCommand && entry.Status == transcript.Streaming && entry.Details != nil {
			output := wire.Text(wire.Members(json.RawMessage(*entry.Details), "aggregatedOutput")[0])
			f.has(entry.MessageID, runtime.TextDetails+"aggregatedOutput", output)
		}
	}
	slices.Reverse(growing)
	for _, entry := range growing {
		place := object{"threadId": f.id, "turnId": entry.TurnID}
		item := object{"type": entry.Type, "id": entry.MessageID, "text": ""}
		if entry.Type == wire.ItemReasoning {
			item = object{"type": entry.Type, "id": entry.MessageID, "summary": []any{}, "content": []any{}}
		}
		at := int64(0)
		if entry.StartedAt != nil {
			at = *entry.StartedAt
		}
		f.peer.notify(wire.MethodItemStarted, object{"threadId": f.id, "turnId": entry.TurnID, "item": item, "startedAtMs": at})
		if entry.Type == wire.ItemAgentMessage {
			f.has(entry.MessageID, runtime.TextContent, entry.Content)
			if entry.Content != "" {
				place["itemId"], place["delta"] = entry.MessageID, entry.Content
				f.peer.notify(wire.MethodMessageDelta, place)
			}
		}
	}
}

// clientIDs are the client's ids of a session's latest messages, oldest first, by turn.
type clientIDs map[string][]remembered

// clientIDs reads them. Those of older messages no client looks for.
func (c *call) clientIDs(ctx context.Context) (clientIDs, error) {
	const latest = 200
	page, err := c.ops().Events(ctx, stream.Browse{Session: c.session, Type: eventMessage, Limit: latest})
	if err != nil {
		return nil, err
	}
	ids := clientIDs{}
	for _, one := range page.Events {
		var about remembered
		if json.Unmarshal(one.Payload, &about) == nil {
			ids[one.TurnID] = append(ids[one.TurnID], about)
		}
	}
	return ids, nil
}

// add adds the client's id to the item of a user's message. Each id is used once.
func (ids clientIDs) add(entry transcript.Entry, item json.RawMessage) json.RawMessage {
	if entry.Type != wire.ItemUserMessage {
		return item
	}
	all := ids[entry.TurnID]
	at := slices.IndexFunc(all, func(r remembered) bool { return r.Digest == digest(entry.Content) })
	if at < 0 {
		return item
	}
	id := all[at].ClientID
	ids[entry.TurnID] = slices.Delete(all, at, at+1)
	return wire.WithClientID(item, id)
}

// listTurns lists the turns of a session without their items. The cursor is the last turn and the window it begins in.
func listTurns(ctx context.Context, c *call) (any, error) {
	var in historyPage
	if err := c.read(&in); err != nil {
		return nil, err
	}
	c.session = in.ThreadID
	detail, err := c.detail(ctx)
	if err != nil {
		return nil, err
	}
	limit := in.Limit
	if limit <= 0 {
		limit = 50
	}
	last, cursor, _ := strings.Cut(in.Cursor, "|")
	turns := turnsAfter(last)
	page := in
	for page.Limit = operations.MaxWindow / 2; ; {
		entries, next, _, err := c.window(ctx, page, cursor)
		if err != nil {
			return nil, err
		}
		for _, entry := range entries {
			if turns.add(entry) && len(turns.ids) > limit {
				return object{"data": turns.view(limit, detail.Session.Activity.ActiveTurnID), "nextCursor": turns.ids[limit-1] + "|" + cursor}, nil
			}
		}
		if next == "" {
			return object{"data": turns.view(len(turns.ids), detail.Session.Activity.ActiveTurnID), "nextCursor": nil}, nil
		}
		cursor = next
	}
}

// seenTurns collects turns from their entries.
type seenTurns struct {
	skip  string // the turn after which they begin, "" once it was seen
	ids   []string
	ended map[string]string // how a turn ended that did not complete
	known map[string]bool
}

func turnsAfter(last string) *seenTurns {
	return &seenTurns{skip: last, ended: map[string]string{}, known: map[string]bool{}}
}

// add reports whether an entry begins another turn of the list.
func (t *seenTurns) add(entry transcript.Entry) bool {
	if entry.TurnID == "" {
		return false
	}
	if t.skip != "" {
		if entry.TurnID == t.skip {
			t.skip = ""
		}
		t.known[entry.TurnID] = true
		return false
	}
	switch {
	case entry.Type == "turn.error":
		t.ended[entry.TurnID] = "failed"
	case entry.Status == transcript.Canceled && t.ended[entry.TurnID] == "":
		t.ended[entry.TurnID] = "interrupted"
	}
	if t.known[entry.TurnID] {
		return false
	}
	t.known[entry.TurnID] = true
	t.ids = append(t.ids, entry.TurnID)
	return true
}

func (t *seenTurns) view(limit int, active string) []object {
	data := []object{}
	for _, id := range t.ids[:min(limit, len(t.ids))] {
		status := cmp.Or(t.ended[id], "completed")
		if id == active {
			status = "inProgress"
		}
		data = append(data, turnView(id, status, nil))
	}
	return data
}
