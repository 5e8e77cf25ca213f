package reading

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"

	"harness/internal/lib/javascript"
	"harness/internal/platform/database"
	"harness/internal/runtime"
	"harness/internal/runtime/jsonobject"
	"harness/internal/services/session/store"
	"harness/stream"
	"harness/transcript"
)

// ShowTexts adds the current texts to the entries of running items. It reads the texts from the journal with q, so
// that deltas need no write to the entry. It changes entries in place.
func (r *Reader) ShowTexts(ctx context.Context, q database.Querier, sessionID string,
	entries []transcript.Entry) error {
	runs, err := runningIDs(ctx, q, sessionID)
	if err != nil {
		return err
	}
	return r.growRunning(ctx, q, sessionID, entries, runs)
}

// runningIDs lists the entries of a session's running items.
func runningIDs(ctx context.Context, q database.Querier, sessionID string) (map[string]bool, error) {
	running, err := store.RunningItems(ctx, q, sessionID)
	runs := make(map[string]bool, len(running))
	for _, item := range running {
		runs[item.MessageID] = true
	}
	return runs, err
}

// growRunning is ShowTexts for known running items.
func (r *Reader) growRunning(ctx context.Context, q database.Querier, sessionID string, entries []transcript.Entry,
	runs map[string]bool) error {
	for i := range entries {
		if entries[i].Cut || entries[i].Status != transcript.Streaming || !runs[entries[i].MessageID] {
			continue
		}
		if err := r.Grow(ctx, q, sessionID, &entries[i]); err != nil {
			return err
		}
	}
	return nil
}

// Grow appends the stored texts of an entry's item.
func (r *Reader) Grow(ctx context.Context, q database.Querier, sessionID string, entry *transcript.Entry) error {
	records, err := r.journal.ReadDeltas(ctx, q, sessionID, entry.MessageID)
	if err != nil {
		return err
	}
	texts, err := stream.GrowTexts(records)
	if err != nil {
		return err
	}
	for _, text := range texts {
		path, inDetails := strings.CutPrefix(text.Into, runtime.TextDetails)
		switch {
		// Events of older servers lack the position of a text; only answers are certain to be content.
		case text.Into == runtime.TextContent, text.Into == "" && entry.Role == "assistant":
			entry.Content += text.Text
		case inDetails && entry.Details != nil:
			details := transcript.Indented(withText(json.RawMessage(*entry.Details), strings.Split(path, "/"), text.Text))
			entry.Details = &details
		}
	}
	return nil
}

// withText appends a text to the string at a path in a JSON value. The path has member names and, for lists, indexes.
func withText(value json.RawMessage, path []string, text string) json.RawMessage {
	if len(path) == 0 {
		var before string
		if json.Unmarshal(value, &before) != nil {
			before = "" // null or missing: the text starts here
		}
		return javascript.MustEncode(before + text)
	}
	const longest = 1024 // limits the list length that an index can create
	var list []json.RawMessage
	index, err := strconv.Atoi(path[0])
	if err == nil && index >= 0 && index < longest && json.Unmarshal(value, &list) == nil {
		for len(list) <= index {
			list = append(list, json.RawMessage(`""`))
		}
		list[index] = withText(list[index], path[1:], text)
		return javascript.MustEncode(list)
	}
	fields := jsonobject.Parse(value)
	return fields.Set(path[0], withText(fields.Get(path[0]), path[1:], text)).Encode()
}
