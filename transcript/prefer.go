package transcript

import (
	"encoding/json"
	"slices"
	"strings"

	"harness/internal/runtime/wire"
)

// prefer merges two versions of one message: the more final one wins, then the longer one. The times span both.
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

// anchor returns the message that an entry asks to follow, "" for none.
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

// withoutMadeUp removes item-<n> entries if the real item is among the turn's entries or stored. Some runtimes invent
// such entries when they reread their history.
func withoutMadeUp(entries, stored []Entry) []Entry {
	isReal := func(made Entry) func(Entry) bool {
		return func(other Entry) bool { return !synthetic(other.MessageID) && duplicates(made, other) }
	}
	return slices.DeleteFunc(slices.Clone(entries), func(entry Entry) bool {
		return synthetic(entry.MessageID) &&
			(slices.ContainsFunc(entries, isReal(entry)) || slices.ContainsFunc(stored, isReal(entry)))
	})
}

func synthetic(messageID string) bool {
	digits, ok := strings.CutPrefix(messageID, "item-")
	return ok && digits != "" && strings.Trim(digits, "0123456789") == ""
}

func duplicates(entry, real Entry) bool {
	if entry.Role != real.Role || entry.Type != real.Type {
		return false
	}
	if entry.Type == wire.ItemReasoning || fold(entry.Content) == fold(real.Content) {
		return true
	}
	return entry.Details != nil && real.Details != nil && fold(*entry.Details) == fold(*real.Details)
}

func fold(text string) string { return strings.Join(strings.Fields(text), " ") }
