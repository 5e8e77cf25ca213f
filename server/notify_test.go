package server

import (
	"testing"

	"harness/internal/platform/journal"
	"harness/internal/services/notify"
	"harness/stream"
)

// The end of a turn is news even if its line is too long to parse; another long line is not.
func TestNewsOfALongLine(t *testing.T) {
	t.Parallel()
	entries := int64(3)
	record := journal.Record{Event: journal.Event{SessionID: "s", Type: stream.EventNotification,
		Meta: stream.EncodeMeta(stream.Meta{TurnID: "t", Messages: &entries})}}
	want := notify.News{Kind: notify.TurnEnded, SessionID: "s", TurnID: "t"}
	if news, is := newsOf(&record); !is || news != want {
		t.Errorf("%+v, %v", news, is)
	}
	record.Meta = stream.EncodeMeta(stream.Meta{TurnID: "t"})
	if news, is := newsOf(&record); is {
		t.Errorf("of another line: %+v", news)
	}
}
