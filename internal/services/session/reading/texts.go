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

// ShowTexts puts the texts so far into the entries of items that still run. They are read from the journal, so that
// they are what the state q shows has, and a piece of text costs no write to its entry. It changes entries in place.
func (r *Reader) ShowTexts(ctx context.Context, q database.Querier, sessionID string,
	entries []transcript.Entry) error {
	runs, err := runningIDs(ctx, q, sessionID)
	if err != nil {
		return err
	}
	return r.growRunning(ctx, q, sessionID, entries, runs)
}

// runningIDs are the entries of a session's items that still run.
func runningIDs(ctx context.Context, q database.Querier, sessionID string) (map[string]bool, error) {
	running, err := store.RunningItems(ctx, q, sessionID)
	runs := make(map[string]bool, len(running))
	for _, item := range running {
		runs[item.MessageID] = true
	}
	return runs, err
}

// growRunning is showTexts for who knows what runs.
func (r *Reader) growRunning(ctx context.Context, q database.Querier, sessionID string, entries []transcript.Entry,
	runs map[string]bool) error {
	for i := range entries {
		if entries[i].Status != transcript.Streaming || !runs[entries[i].MessageID] {
			continue
		}
		if err := r.Grow(ctx, q, sessionID, &entries[i]); err != nil {
			return err
		}
	}
	return nil
}

// Grow adds to an entry the texts that are stored of its item.
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
		// Events of older servers do not report where they belong; of those only answers are sure to be content.
		case text.Into == runtime.TextContent, text.Into == "" && entry.Role == "assistant":
			entry.Content += text.Text
		case inDetails && entry.Details != nil:
			details := transcript.Indented(withText(json.RawMessage(*entry.Details), strings.Split(path, "/"), text.Text))
			entry.Details = &details
		}
	}
	return nil
}

// withText is a JSON value with a text added to the string at a path in it: names of members and, where a list is,
// indexes.
func withText(value json.RawMessage, path []string, text string) json.RawMessage {
	if len(path) == 0 {
		var before string
		if json.Unmarshal(value, &before) != nil {
			before = "" // null, or nothing: the text begins here
		}
		return javascript.MustEncode(before + text)
	}
	const longest = 1024 // a list is not made longer than that on account of an index
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
