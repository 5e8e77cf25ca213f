package rpc

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"harness/api/rpc/events"
	"harness/internal/lib/javascript"
	"harness/internal/operations"
	"harness/transcript"
)

const (
	defaultElements = 50
	mostElements    = 100
)

func elementsMethod() method {
	return method{name: "session/elements", summary: "The elements of a session's messages, paged by cursor.",
		role: roleViewer, scope: scopeRuntime, params: []param{text("session_id", "The session.").must(),
			count("limit", "The maximum number, by default 100."), text("before", "Only those before the element with this id."),
			text("after", "Only those after the element with this id."), agentParam()},
		result: ref("ElementPage"), handle: listElements}
}

// element is one part of a message.
type element struct {
	ID        string `json:"id"`
	Type      string `json:"type"`
	Timestamp string `json:"timestamp"`
	Content   any    `json:"content"`
	entry     string
}

type elementPage struct {
	SessionID  string     `json:"session_id"`
	Elements   []element  `json:"elements"`
	Pagination pagination `json:"pagination"`
}

// pagination describes the position of a page. Total counts messages, each of which may have several elements.
type pagination struct {
	Total    int64  `json:"total"`
	Returned int    `json:"returned"`
	Before   bool   `json:"has_more_before"`
	After    bool   `json:"has_more_after"`
	OldestID string `json:"oldest_id,omitempty"`
	NewestID string `json:"newest_id,omitempty"`
}

func listElements(ctx context.Context, c *call) (any, error) {
	limit := int(min(c.count("limit", defaultElements), mostElements))
	reading := operations.Reading{Limit: limit, Before: entryOf(c.text("before")), After: entryOf(c.text("after"))}
	detail, _, err := c.ops().Read(ctx, c.session.ID, reading)
	if err != nil {
		return nil, err
	}
	counts, err := c.ops().MessageCounts(ctx, []string{c.session.ID})
	if err != nil {
		return nil, err
	}
	page := elementPage{SessionID: c.session.ID, Elements: []element{}, Pagination: pagination{
		Total: counts[c.session.ID], Before: detail.Older != "", After: detail.Newer != ""}}
	for _, entry := range detail.Transcript {
		page.Elements = append(page.Elements, elementsOf(entry)...)
	}
	page.cut(limit, reading.After != "")
	if n := len(page.Elements); n > 0 {
		page.Pagination.Returned = n
		page.Pagination.OldestID, page.Pagination.NewestID = page.Elements[0].ID, page.Elements[n-1].ID
	}
	return page, nil
}

// cut removes whole messages from the far end until the page fits the limit.
func (p *elementPage) cut(limit int, fromStart bool) {
	for len(p.Elements) > limit && p.Elements[0].entry != p.Elements[len(p.Elements)-1].entry {
		if fromStart {
			last := p.Elements[len(p.Elements)-1].entry
			for p.Elements[len(p.Elements)-1].entry == last {
				p.Elements = p.Elements[:len(p.Elements)-1]
			}
			p.Pagination.After = true
			continue
		}
		first := p.Elements[0].entry
		for p.Elements[0].entry == first {
			p.Elements = p.Elements[1:]
		}
		p.Pagination.Before = true
	}
}

// elementsOf returns the parts of an entry. Their ids start with the entry's id, so that each is a cursor.
func elementsOf(entry transcript.Entry) (all []element) {
	message := events.Stored(entry)
	for i, part := range message.Content {
		one := element{ID: fmt.Sprintf("%d:%s", i, entry.MessageID), entry: entry.MessageID}
		if entry.StartedAt != nil {
			one.Timestamp = javascript.ISOTime(*entry.StartedAt)
		}
		type said struct {
			Text *string `json:"text"`
		}
		switch part.Type {
		case "tool_use":
			one.Type, one.Content = "tool_call", struct {
				Name  string          `json:"tool_name"`
				ID    string          `json:"tool_id"`
				Input json.RawMessage `json:"tool_input"`
			}{part.ToolName, part.ToolID, part.ToolInput}
		case "tool_result":
			one.Type, one.Content = "tool_result", struct {
				ToolUseID string  `json:"tool_use_id"`
				Content   *string `json:"content"`
				IsError   *bool   `json:"is_error"`
			}{part.ToolUseID, part.Content, part.IsError}
		case "thinking":
			one.Type, one.Content = "thinking", said{part.Text}
		default:
			one.Type, one.Content = "assistant_text", said{part.Text}
			if message.Role == "user" {
				one.Type = "user_input"
			}
		}
		all = append(all, one)
	}
	return all
}

// entryOf returns the message of an element's id.
func entryOf(elementID string) string {
	if _, entry, found := strings.Cut(elementID, ":"); found {
		return entry
	}
	return elementID
}
