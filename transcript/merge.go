package transcript

// Final reports whether an entry is complete.
func (s Status) Final() bool { return s != Streaming }

// Merge is the upsert rule: it returns the message to store when next arrives after old. It is a shallow overlay.
// Omitted details keep the old ones, startedAt only decreases, and completedAt only increases. A final entry keeps its
// status, content and details if a late "streaming" arrives. Role, type and turn may change.
func Merge(old, next Entry) Entry {
	merged := next
	merged.MessageID = old.MessageID
	if next.Details == nil && (next.Source == nil || next.Source.Details == nil) {
		merged.Details = old.Details
	}
	if old.Status.Final() && !next.Status.Final() {
		merged.Status, merged.Content, merged.Details, merged.Source = old.Status, old.Content, old.Details, old.Source
	}
	merged.StartedAt = earlier(old.StartedAt, next.StartedAt)
	merged.CompletedAt = later(old.CompletedAt, next.CompletedAt)
	return settleTimes(merged)
}

// settleTimes raises completedAt to startedAt. codex-manager does so only on a merge, not on the first insert.
func settleTimes(entry Entry) Entry {
	if entry.StartedAt != nil && entry.CompletedAt != nil && *entry.CompletedAt < *entry.StartedAt {
		at := *entry.StartedAt
		entry.CompletedAt = &at
	}
	return entry
}

func earlier(a, b *int64) *int64 {
	switch {
	case a == nil:
		return b
	case b == nil || *a <= *b:
		return a
	}
	return b
}

func later(a, b *int64) *int64 {
	switch {
	case a == nil:
		return b
	case b == nil || *a >= *b:
		return a
	}
	return b
}

// Equal reports whether two entries are the same for a reader. An entry with a Source counts as different, because a
// comparison would cost more than storing it.
func (e Entry) Equal(other Entry) bool {
	return e.Source == nil && other.Source == nil && e.MessageID == other.MessageID && e.TurnID == other.TurnID &&
		e.Role == other.Role && e.Type == other.Type &&
		e.Content == other.Content && e.Status == other.Status && same(e.Details, other.Details) &&
		same(e.StartedAt, other.StartedAt) && same(e.CompletedAt, other.CompletedAt)
}

func same[T comparable](a, b *T) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}
