package reading

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"harness/internal/platform/database"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/internal/services/session/store"
	"harness/transcript"
)

// describer is an adapter that derives its runtime's description of a conversation from the stored state.
type describer interface {
	Describe(raw json.RawMessage, state runtime.ThreadState) json.RawMessage
	// DescribeParts is Describe without the items of the turns. DescribeItem describes one item, nil for none.
	DescribeParts(raw json.RawMessage, state runtime.ThreadState) []runtime.DescribedPart
	DescribeItem(item runtime.Item) json.RawMessage
}

// describerOf returns the describer of a session, nil if its stored description is complete.
func (r *Reader) describerOf(session session.Session) describer {
	if string(session.Thread) == store.PlaceholderThread {
		return nil
	}
	var words describer
	if adapter, err := r.runtimes.Adapter(session.Runtime); err == nil {
		words, _ = adapter.(describer) // a runtime that is no longer configured adds nothing
	}
	return words
}

// threadState returns a describer's input about a session, without its turns.
func (r *Reader) threadState(ctx context.Context, q database.Querier, sess session.Session) (runtime.ThreadState, error) {
	now := sess.Activity
	state := runtime.ThreadState{ID: sess.RuntimeSessionID, Title: sess.Title, UpdatedAt: sess.UpdatedAt,
		Running: now.ActiveTurnID != "", Failed: now.State == session.StateError}
	if now.PendingCount > 0 {
		pending, err := store.PendingRequests(ctx, q, sess.ID)
		if err != nil {
			return state, err
		}
		for _, request := range pending {
			if !slices.Contains(state.PendingRequests, request.Kind) {
				state.PendingRequests = append(state.PendingRequests, request.Kind)
			}
		}
	}
	var err error
	state.Opening, err = r.opening(ctx, q, sess.ID)
	return state, err
}

// opening returns the first message of a session, "" if the session started otherwise.
func (r *Reader) opening(ctx context.Context, q database.Querier, sessionID string) (string, error) {
	start, err := r.entries.Window(ctx, q, sessionID, transcript.Window{FromStart: true, Limit: 1, Beginning: 1})
	if err != nil || len(start.Entries) == 0 || start.Entries[0].Role != "user" {
		return "", err
	}
	if !start.Entries[0].Cut {
		return start.Entries[0].Content, nil
	}
	first, _, err := r.entries.First(ctx, q, sessionID)
	return first.Content, err
}

// messageIDs lists the messages of a session that ReadMessages finds.
func messageIDs(ctx context.Context, q database.Querier, sessionID string) (map[string]bool, error) {
	all, err := database.ReadTexts(ctx, q, "read which messages of session "+sessionID+" are described",
		`select message_id from runtime_messages where session_id = $1`, database.EncodeText(sessionID))
	found := make(map[string]bool, len(all))
	for _, id := range all {
		found[id] = true
	}
	return found, err
}

// turnList collects a session's turns in the order of its transcript.
type turnList struct {
	stored map[string]store.Turn
	at     map[string]int
	turns  []runtime.Turn
}

func newTurnList(stored []store.Turn) *turnList {
	l := &turnList{stored: make(map[string]store.Turn, len(stored)), at: map[string]int{}}
	for _, turn := range stored {
		l.stored[turn.TurnID] = turn
	}
	return l
}

func (l *turnList) add(row store.Turn) {
	l.at[row.TurnID] = len(l.turns)
	l.turns = append(l.turns, runtime.Turn{ID: row.TurnID, Status: row.Status, Error: row.Error, StartedAt: row.StartedAt,
		CompletedAt: row.CompletedAt, Native: row.Native})
}

// see adds the turn of the next entry and returns its index; it returns false if the entry belongs to no stored turn.
func (l *turnList) see(turnID string) (int, bool) {
	row, known := l.stored[turnID]
	if !known {
		return 0, false
	}
	if _, has := l.at[turnID]; !has {
		l.add(row)
	}
	return l.at[turnID], true
}

// all returns the turns; turns without an entry come last.
func (l *turnList) all() []runtime.Turn {
	rest := slices.SortedFunc(maps.Values(l.stored), func(a, b store.Turn) int {
		return cmp.Or(cmp.Compare(a.StartedAt, b.StartedAt), strings.Compare(a.TurnID, b.TurnID))
	})
	for _, row := range rest {
		if _, has := l.at[row.TurnID]; !has {
			l.add(row)
		}
	}
	return l.turns
}

// nativeItem returns an entry in the runtime's form; it returns false if the entry is not a finished item of the
// runtime.
func nativeItem(entry *transcript.Entry, message json.RawMessage) (runtime.Item, bool) {
	if entry.Status != transcript.Complete {
		return runtime.Item{}, false
	}
	if message != nil {
		return runtime.Item{Native: message}, true
	}
	if entry.Details == nil {
		return runtime.Item{}, false
	}
	var described struct{ ID, Type string }
	if json.Unmarshal([]byte(*entry.Details), &described) != nil || described.ID != entry.MessageID ||
		described.Type != entry.Type {
		return runtime.Item{}, false
	}
	return runtime.Item{Details: *entry.Details}, true
}
