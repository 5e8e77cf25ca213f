package transcript

import (
	"encoding/json"
	"strings"
)

// Turn is one turn as the runtime stores it, the base of an assembled transcript. Times are in ms, 0 when unknown.
type Turn struct {
	ID                     string
	Done                   bool
	StartedAt, CompletedAt int64
	// Entries are the turn's items in order. Their times are filled in from the turn.
	Entries []Entry
}

// TurnTimes are the times of a turn as the harness saw them, in ms, 0 when unknown. A CompletedAt says the turn is over.
type TurnTimes struct{ StartedAt, CompletedAt int64 }

// Assemble is what a client reads as a session's transcript (`codex-manager.md` 5.6): the runtime's turns in order, with the stored entries
// (in the order they first appeared) merged into them by message id, placed beside them, or following as turns of their own.
func Assemble(base []Turn, supplemental []Entry, times map[string]TurnTimes) []Entry {
	turns := make([]*assembly, 0, len(base))
	byTurn := make(map[string]*assembly, len(base))
	byMessage := make(map[string][]*Entry)
	for _, turn := range base {
		a := newAssembly(turn, times[turn.ID])
		turns = append(turns, a)
		byTurn[turn.ID] = a
		for i := range a.entries {
			id := a.entries[i].MessageID
			byMessage[id] = append(byMessage[id], &a.entries[i])
		}
	}
	for _, entry := range supplemental {
		if target := match(byMessage[entry.MessageID], entry.TurnID); target != nil {
			*target = prefer(*target, entry)
			continue
		}
		a, known := byTurn[entry.TurnID]
		if !known {
			a = newAssembly(Turn{ID: entry.TurnID}, times[entry.TurnID])
			turns = append(turns, a)
			byTurn[entry.TurnID] = a
		}
		a.unmatched = append(a.unmatched, entry)
	}
	out := []Entry{}
	for _, a := range turns {
		out = append(out, a.finish()...)
	}
	return out
}

// match picks the base entry of the same message, that of the same turn if several have this id.
func match(candidates []*Entry, turnID string) *Entry {
	for _, candidate := range candidates {
		if candidate.TurnID == turnID {
			return candidate
		}
	}
	if len(candidates) > 0 {
		return candidates[0]
	}
	return nil
}

// prefer merges two views of one message: the more final one wins, then the one that says more; times span both.
func prefer(base, stored Entry) Entry {
	winner, loser := base, stored
	if outweighs(stored, base) {
		winner, loser = stored, base
	}
	winner.MessageID, winner.TurnID = base.MessageID, base.TurnID
	if winner.Details == nil {
		winner.Details = loser.Details
	}
	winner.StartedAt = earlier(base.StartedAt, stored.StartedAt)
	winner.CompletedAt = later(base.CompletedAt, stored.CompletedAt)
	return winner
}

func outweighs(a, b Entry) bool {
	if ra, rb := rank(a.Status), rank(b.Status); ra != rb {
		return ra > rb
	}
	if la, lb := length(a.Details), length(b.Details); la != lb {
		return la > lb
	}
	return len(a.Content) > len(b.Content)
}

func rank(status Status) int {
	switch status {
	case Failed:
		return 3
	case Canceled:
		return 2
	case Complete:
		return 1
	}
	return 0
}

func length(text *string) int {
	if text == nil {
		return 0
	}
	return len(*text)
}

// anchor is the message an entry asks to follow, "" for none.
func anchor(entry Entry) string {
	if entry.Details == nil || !strings.Contains(*entry.Details, "anchorItemId") {
		return ""
	}
	var details struct {
		AnchorItemID string `json:"anchorItemId"`
	}
	if json.Unmarshal([]byte(*entry.Details), &details) != nil {
		return ""
	}
	return details.AnchorItemID
}
