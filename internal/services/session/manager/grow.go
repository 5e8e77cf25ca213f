package manager

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/internal/runtime/jsonobject"
	"harness/internal/services/session"
	"harness/stream"
	"harness/transcript"
)

// showTexts puts the texts so far into the entries of items that still run. They are read from the journal, so that
// they are what the state q shows has, and a piece of text costs no write to its entry. It changes entries in place.
func (s *Service) showTexts(ctx context.Context, q database.Querier, sessionID string,
	entries []transcript.Entry) error {
	runs, err := runningIDs(ctx, q, sessionID)
	if err != nil {
		return err
	}
	return s.growRunning(ctx, q, sessionID, entries, runs)
}

// runningIDs are the entries of a session's items that still run.
func runningIDs(ctx context.Context, q database.Querier, sessionID string) (map[string]bool, error) {
	running, err := runningOfSession(ctx, q, sessionID)
	runs := make(map[string]bool, len(running))
	for _, item := range running {
		runs[item.messageID] = true
	}
	return runs, err
}

// growRunning is showTexts for who knows what runs.
func (s *Service) growRunning(ctx context.Context, q database.Querier, sessionID string, entries []transcript.Entry,
	runs map[string]bool) error {
	for i := range entries {
		if entries[i].Status != transcript.Streaming || !runs[entries[i].MessageID] {
			continue
		}
		if err := s.grow(ctx, q, sessionID, &entries[i]); err != nil {
			return err
		}
	}
	return nil
}

// grow adds to an entry the texts that are stored of its item.
func (s *Service) grow(ctx context.Context, q database.Querier, sessionID string, entry *transcript.Entry) error {
	records, err := s.journal.ReadDeltas(ctx, q, sessionID, entry.MessageID)
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
		// Events of older servers do not tell where they belong; of those only answers are sure to be content.
		case text.Into == runtime.TextContent, text.Into == "" && entry.Role == "assistant":
			entry.Content += text.Text
		case inDetails && entry.Details != nil:
			details := indented(withText(json.RawMessage(*entry.Details), strings.Split(path, "/"), text.Text))
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
		return quote(before + text)
	}
	const longest = 1024 // a list is not made longer than that on account of an index
	var list []json.RawMessage
	index, err := strconv.Atoi(path[0])
	if err == nil && index >= 0 && index < longest && json.Unmarshal(value, &list) == nil {
		for len(list) <= index {
			list = append(list, json.RawMessage(`""`))
		}
		list[index] = withText(list[index], path[1:], text)
		return encode(list)
	}
	fields := jsonobject.Parse(value)
	return fields.Set(path[0], withText(fields.Get(path[0]), path[1:], text)).Encode()
}

// cancelItem ends the entry of an item whose end will not come, with the text it had. Entries that are final, or that
// clients took away from their item, stay as they are; changed is false then.
func (s *Service) cancelItem(ctx context.Context, tx database.Tx, item runningItem, at int64) (entry transcript.Entry,
	changed bool, err error) {
	if err := endItem(ctx, tx, item.sessionID, item.messageID); err != nil {
		return entry, false, err
	}
	entry, found, err := s.entries.Find(ctx, tx, item.sessionID, item.messageID)
	if err != nil || !found || entry.Status != transcript.Streaming {
		return entry, false, err
	}
	if err := s.grow(ctx, tx, item.sessionID, &entry); err != nil {
		return entry, false, err
	}
	entry.Status, entry.CompletedAt = transcript.Canceled, &at
	return s.entries.Upsert(ctx, tx, item.sessionID, entry)
}

// cancelItems ends the items a turn leaves behind that did not run to its end, but for those that may go on without it:
// what they say still belongs to them, and their own end, or their process's, comes later.
func (s *Service) cancelItems(ctx context.Context, tx database.Tx, turn turnRow) error {
	if turn.status != runtime.TurnInterrupted && turn.status != runtime.TurnFailed {
		return nil // what still runs was left running
	}
	running, err := runningOfSession(ctx, tx, turn.sessionID)
	if err != nil {
		return err
	}
	for _, item := range running {
		if item.turnID != turn.turnID || item.outlives {
			continue
		}
		if _, _, err := s.cancelItem(ctx, tx, item, turn.completedAt); err != nil {
			return err
		}
	}
	return nil
}

// cancelLeft ends the items that ran in dead runtime processes after their turns were over: clients have heard of no
// end of theirs.
func (s *Service) cancelLeft(ctx context.Context, tx database.Tx, node string, dead func(generation string) bool,
	at int64) (
	[]journal.Event, error) {
	running, err := runningOfNode(ctx, tx, node)
	if err != nil {
		return nil, err
	}
	var events []journal.Event
	for _, item := range running {
		if !dead(item.generation) {
			continue
		}
		entry, changed, err := s.cancelItem(ctx, tx, item, at)
		if err != nil {
			return nil, err
		}
		if !changed {
			continue
		}
		systemOwned, err := presence(ctx, tx, item.sessionID)
		if session.Absent(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		event, _ := transcriptUpdated(item.sessionID, &entry, at, systemOwned)
		events = append(events, event)
	}
	return events, nil
}
