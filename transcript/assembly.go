package transcript

import (
	"slices"
	"strings"
)

// assembly is one turn on its way to the reader.
type assembly struct {
	done               bool
	started, completed int64
	entries            []Entry // the runtime's items, merged with what is stored of them
	unmatched          []Entry // stored entries that are no item of the runtime
}

func newAssembly(turn Turn, stored TurnTimes) *assembly {
	a := &assembly{started: turn.StartedAt, completed: turn.CompletedAt}
	if a.started == 0 {
		a.started = stored.StartedAt
	}
	if a.completed == 0 {
		a.completed = stored.CompletedAt
	}
	a.done = turn.Done || a.completed != 0
	a.entries = slices.Clone(turn.Entries)
	for i := range a.entries {
		entry := &a.entries[i]
		entry.TurnID = turn.ID
		if entry.Status == "" {
			entry.Status = Complete
		}
		if a.started != 0 {
			entry.StartedAt = instant(a.started)
		}
		if a.completed != 0 {
			entry.CompletedAt = instant(a.completed)
		}
	}
	return a
}

func instant(at int64) *int64 { return &at }

// finish places what is unmatched, fills in times and states, and drops duplicates.
func (a *assembly) finish() []Entry {
	entries := dropSynthetic(a.placed())
	for i := range entries {
		settle(&entries[i], TurnTimes{StartedAt: a.started, CompletedAt: a.completed}, a.done)
	}
	return entries
}

// placed puts stored entries before the turn's last answer, where they happened as far as a reader can tell, or behind the item they name.
func (a *assembly) placed() []Entry {
	last := len(a.entries)
	for i, entry := range a.entries {
		if entry.Role == "assistant" {
			last = i
		}
	}
	out := make([]Entry, 0, len(a.entries)+len(a.unmatched))
	out = append(out, a.entries[:last]...)
	anchored := []Entry{}
	for _, entry := range a.unmatched {
		if anchor(entry) != "" {
			anchored = append(anchored, entry)
			continue
		}
		out = append(out, entry)
	}
	floating := len(out)
	out = append(out, a.entries[last:]...)
	// Several entries behind one item stay in their own order: each goes behind the last one put there.
	behind := map[string]string{}
	for _, entry := range anchored {
		target := anchor(entry)
		after := target
		if previous, ok := behind[target]; ok {
			after = previous
		}
		at := slices.IndexFunc(out, func(other Entry) bool { return other.MessageID == after })
		if at < 0 || after == entry.MessageID {
			out = slices.Insert(out, floating, entry)
			floating++
			continue
		}
		out = slices.Insert(out, at+1, entry)
		if at < floating {
			floating++
		}
		behind[target] = entry.MessageID
	}
	return out
}

// dropSynthetic removes item-<n> entries, which some runtimes make up when they re-read their history, if the real item is there too.
func dropSynthetic(entries []Entry) []Entry {
	real := slices.DeleteFunc(slices.Clone(entries), func(entry Entry) bool { return synthetic(entry.MessageID) })
	if len(real) == len(entries) {
		return entries
	}
	return slices.DeleteFunc(entries, func(entry Entry) bool {
		return synthetic(entry.MessageID) && slices.ContainsFunc(real, func(other Entry) bool { return duplicates(entry, other) })
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
	if entry.Type == "reasoning" || fold(entry.Content) == fold(real.Content) {
		return true
	}
	return entry.Details != nil && real.Details != nil && fold(*entry.Details) == fold(*real.Details)
}

func fold(text string) string { return strings.Join(strings.Fields(text), " ") }
