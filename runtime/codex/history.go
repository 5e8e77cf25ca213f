package codex

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"harness/runtime"
	"harness/runtime/wire"
)

// historyPage is how many turns are asked for at once.
const historyPage = 50

// ReadThread implements runtime.Historian. A conversation without a turn yet has no turns to read: it comes back with
// none.
func (c *Codex) ReadThread(ctx context.Context, threadID string, withTurns bool) (runtime.Thread, error) {
	thread, err := threadIn(c.call(ctx, "thread/read", object{"threadId": threadID, "includeTurns": false}))
	if err != nil || !withTurns {
		return thread, err
	}
	thread.Turns, err = c.history(ctx, threadID)
	return thread, err
}

// history reads the turns of a conversation page by page, or at once where codex can not page (0.101, and conversations
// 0.101 wrote).
func (c *Codex) history(ctx context.Context, threadID string) ([]runtime.Turn, error) {
	turns := []runtime.Turn{}
	for cursor := ""; ; {
		params := object{"threadId": threadID, "limit": historyPage, "itemsView": "full"}.with("cursor", cursor)
		result, err := c.call(ctx, "thread/turns/list", params)
		if native, ok := asNative(err); ok && (native.Code == codeMethodNotFound || unknownMethod(err)) {
			return c.wholeHistory(ctx, threadID)
		}
		if native, ok := asNative(err); ok && hasNoTurns(native) {
			return turns, nil
		}
		if err != nil {
			return nil, err
		}
		var page struct {
			Data       []json.RawMessage `json:"data"`
			NextCursor *string           `json:"nextCursor"`
		}
		if err := json.Unmarshal(result, &page); err != nil {
			return nil, fmt.Errorf("read codex's answer to thread/turns/list: %w", err)
		}
		for _, raw := range page.Data {
			turns = append(turns, wire.ReadHistory(raw))
		}
		if page.NextCursor == nil || *page.NextCursor == "" || *page.NextCursor == cursor {
			slices.Reverse(turns) // they come newest first
			return turns, nil
		}
		cursor = *page.NextCursor
	}
}

func (c *Codex) wholeHistory(ctx context.Context, threadID string) ([]runtime.Turn, error) {
	thread, err := threadIn(c.call(ctx, "thread/read", object{"threadId": threadID, "includeTurns": true}))
	if native, ok := asNative(err); ok && (native.Code == codeMethodNotFound || hasNoTurns(native)) {
		return nil, nil
	}
	return thread.Turns, err
}

// hasNoTurns tells the refusal to read turns before the first user message, or of an ephemeral conversation.
func hasNoTurns(e *runtime.Error) bool {
	text := strings.ToLower(e.Message)
	return strings.Contains(text, "includeturns") || strings.Contains(text, "not materialized") ||
		strings.Contains(text, "ephemeral")
}

// hydrationNotice tells codex's advice not to read whole histories. Nobody but wholeHistory does, on behalf of no
// client, so it is told to none.
func hydrationNotice(s runtime.Signal) bool {
	return s.Method == "deprecationNotice" && s.ThreadID == "" && strings.Contains(string(s.Params), "`includeTurns`")
}
