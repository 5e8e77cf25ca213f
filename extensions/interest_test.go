package extensions

import (
	"encoding/json"
	"testing"

	"github.com/rs/zerolog"

	"harness/internal/platform/journal"
	"harness/stream"
)

// said makes a record of a line as the journal publishes it in the process that stored it.
func said(tb testing.TB, line string) *journal.Record {
	tb.Helper()
	event := stream.Upcast(1, journal.Event{Type: stream.EventNotification, Payload: json.RawMessage(line)})
	meta, err := stream.MetaOf(&event)
	if err != nil {
		tb.Fatal(err)
	}
	stream.SetMeta(&event, meta)
	return &journal.Record{Event: event}
}

// The dispatcher drops a record without a subscriber without decoding it and without allocation.
func TestUninterestingRecordsCostNothing(t *testing.T) {
	d := NewDispatcher(DispatcherOptions{Registry: New(Options{Logger: zerolog.Nop()})})
	rec := said(t, `{"method":"item/agentMessage/delta","params":{"delta":"x"}}`)
	if d.interesting(rec) {
		t.Fatal("a record without a subscriber is interesting")
	}
	if allocs := testing.AllocsPerRun(1000, func() { d.interesting(rec) }); allocs != 0 {
		t.Errorf("%v allocations per record", allocs)
	}
	for line, want := range map[string]string{
		`{"method":"a/b"}`: "a/b", `{"id":1,"method":"c"}`: "c", `{"method":"q\"x"}`: `q"x`, `{"method":7}`: "", `[]`: "",
		``: "", `{ "method" : "d" }`: "d",
	} {
		if _, _, got, err := read(said(t, line)); err != nil || string(got) != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}

// BenchmarkUnsubscribedRecord measures the journal's publisher for a record without a subscriber.
func BenchmarkUnsubscribedRecord(b *testing.B) {
	d := NewDispatcher(DispatcherOptions{Registry: New(Options{Logger: zerolog.Nop()})})
	rec := said(b, `{"method":"item/agentMessage/delta","params":{"delta":"x"}}`)
	b.ReportAllocs()
	for b.Loop() {
		d.interesting(rec)
	}
}
