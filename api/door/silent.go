package door

import (
	"harness/internal/platform/journal"
	"harness/stream"
)

// SilentFeed sends nothing: a socket of a door gets events by its Outbox, in one order with its answers. The hub still
// learns which sessions are followed.
type SilentFeed struct{ _ byte }

// Frames implements stream.Feed.
func (*SilentFeed) Frames(journal.Record) ([]stream.Frame, error) { return nil, nil }

// AppendFrame implements stream.Feed.
func (*SilentFeed) AppendFrame(dst []byte, _ *stream.Frame, _ bool) []byte { return dst }

// AppendNotice implements stream.Feed.
func (*SilentFeed) AppendNotice(dst []byte, _ stream.Notice) []byte { return dst }
