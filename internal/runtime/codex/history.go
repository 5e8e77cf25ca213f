package codex

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"harness/internal/runtime"
	"harness/internal/runtime/wire"
)

// historyPage is the number of turns per page.
const historyPage = 50

// ReadThread implements runtime.History. It reads a conversation without turns without them.
func (c *Codex) ReadThread(ctx context.Context, threadID string, withTurns bool) (runtime.Thread, error) {
	thread, err := threadIn(c.call(ctx, "thread/read", object{"threadId": threadID, "includeTurns": false}))
	if err != nil || !withTurns {
		return thread, err
	}
	thread.Turns, err = c.history(ctx, threadID)
	return thread, err
}

// history reads the turns of a conversation page by page, or in one call if codex cannot page (0.101 and its
// conversations).
func (c *Codex) history(ctx context.Context, threadID string) ([]runtime.Turn, error) {
	turns := []runtime.Turn{}
	params := object{"threadId": threadID, "limit": historyPage, "itemsView": "full"}
	for raw, err := range pages[json.RawMessage](ctx, c.call, "thread/turns/list", params) {
		native, ok := asNative(err)
		switch {
		case ok && (native.Code == codeMethodNotFound || unknownMethod(err)):
			return c.wholeHistory(ctx, threadID)
		case ok && hasNoTurns(native):
			return turns, nil
		case err != nil:
			return nil, err
		}
		turns = append(turns, wire.ReadHistory(raw))
	}
	slices.Reverse(turns) // newest first
	return turns, nil
}

func (c *Codex) wholeHistory(ctx context.Context, threadID string) ([]runtime.Turn, error) {
	thread, err := threadIn(c.call(ctx, "thread/read", object{"threadId": threadID, "includeTurns": true}))
	if native, ok := asNative(err); ok && (native.Code == codeMethodNotFound || hasNoTurns(native)) {
		return nil, nil
	}
	return thread.Turns, err
}

// hasNoTurns reports whether codex refused to read turns before the first user message, or of an ephemeral
// conversation.
func hasNoTurns(e *runtime.Error) bool {
	text := strings.ToLower(e.Message)
	return strings.Contains(text, "includeturns") || strings.Contains(text, "not materialized") ||
		strings.Contains(text, "ephemeral")
}

// hydrationNotice reports whether a signal is codex's advice not to read whole histories. Clients do not get it: only
// wholeHistory, which has no client, reads one.
func hydrationNotice(s runtime.Signal) bool {
	return s.Method == "deprecationNotice" && s.ThreadID == "" && strings.Contains(string(s.Params), "`includeTurns`")
}
