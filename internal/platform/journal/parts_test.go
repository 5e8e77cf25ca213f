package journal_test

import (
	"bytes"
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/tests/dbtest"
)

// longPayloads returns events around the length from which they are stored in parts, with multi-byte characters at the
// end of a part.
func longPayloads() []json.RawMessage {
	var payloads []json.RawMessage
	for _, size := range []int{database.PartBytes - 1, database.PartBytes, database.PartBytes + 1,
		3*database.PartBytes + 7} {
		for _, letter := range []string{"a", "é", "€", "😀"} {
			payload := []byte(`{"delta":"`)
			for len(payload) < size { // no two parts are the same
				payload = append(strconv.AppendInt(payload, int64(len(payload)), 36), letter...)
			}
			payloads = append(payloads, append(payload, `"}`...))
		}
	}
	return payloads
}

// EV-14: no row holds more than a part of a long payload, and a reader of the event gets all of it.
func TestLongEventsAreStoredInPartsAndReadBackByteForByte(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		j := start(t, db, journal.Options{})
		want := longPayloads()
		for i, payload := range want {
			event := journal.Event{SessionID: "s", ItemID: "i", Type: "runtime.notification",
				Meta: json.RawMessage(`{"text":{}}`), Payload: payload}
			written, err := j.Append(t.Context(), event, journal.Event{SessionID: "other", Payload: json.RawMessage(`"short"`)})
			if err != nil || !bytes.Equal(written[0].Payload, payload) {
				t.Fatalf("event %d: %v", i, err)
			}
		}
		deltas, err := j.ReadDeltas(t.Context(), db.Read(), "s", "i")
		if err != nil {
			t.Fatal(err)
		}
		bySession, err := j.ReadSession(t.Context(), "s", 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		all, err := j.Read(t.Context(), journal.Query{Session: "s"})
		if err != nil {
			t.Fatal(err)
		}
		for name, records := range map[string][]journal.Record{"deltas": deltas, "session": bySession, "journal": all} {
			if len(records) != len(want) {
				t.Fatalf("%s: read %d events of %d", name, len(records), len(want))
			}
			for i := range records {
				if !bytes.Equal(records[i].Payload, want[i]) {
					t.Errorf("%s: event %d of %d bytes came back as %d other ones", name, i, len(want[i]), len(records[i].Payload))
				}
			}
		}
		if longest := number(t, db, `select max(greatest) from (select max(length(payload)) as greatest from journal_events
			union all select max(length(part)) from journal_parts) as v`); longest > database.PartBytes {
			t.Errorf("a text of %d characters was written at once", longest)
		}
	})
}

// No part remains of a long event that is pruned or redacted.
func TestThePartsOfAnEventGoWithIt(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		j := start(t, db, journal.Options{})
		long := longPayloads()[15]
		for _, session := range []string{"pruned", "redacted", "kept"} {
			if _, err := j.Append(t.Context(), journal.Event{SessionID: session, Payload: long}); err != nil {
				t.Fatal(err)
			}
		}
		each := number(t, db, `select count(*) from journal_parts where pos = 1`)
		if each < 3 {
			t.Fatalf("an event of %d bytes has %d parts", len(long), each)
		}
		if _, err := j.Prune(t.Context(), 2); err != nil {
			t.Fatal(err)
		}
		if left := number(t, db, `select count(*) from journal_parts`); left != 2*each {
			t.Errorf("%d parts are left after one of three events was pruned, want %d", left, 2*each)
		}
		_, err := j.Commit(t.Context(), func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
			return nil, journal.Redact(ctx, tx, "redacted")
		})
		if err != nil {
			t.Fatal(err)
		}
		if left := number(t, db, `select count(*) from journal_parts`); left != each {
			t.Errorf("%d parts are left after the next one was redacted, want %d", left, each)
		}
		records := readLeft(t, j)
		if len(records) != 2 || string(records[0].Payload) != "null" || !bytes.Equal(records[1].Payload, long) {
			t.Errorf("%d events are left, of %d and %d bytes", len(records), len(records[0].Payload), len(records[1].Payload))
		}
	})
}

func readLeft(t *testing.T, j *journal.Journal) []journal.Record {
	t.Helper()
	records, err := j.Read(t.Context(), journal.Query{})
	if err != nil {
		t.Fatal(err)
	}
	return records
}

func number(t *testing.T, db *database.DB, query string) (n int) {
	t.Helper()
	if err := db.Read().QueryRowContext(t.Context(), query).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// A reader that sets Short gets long events without their payloads.
func TestLongPayloadsAreLeftOut(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		j := start(t, db, journal.Options{})
		long := json.RawMessage(`"` + strings.Repeat("x", 2<<20) + `"`)
		if _, err := j.Append(t.Context(), journal.Event{Payload: long}, journal.Event{Payload: json.RawMessage(`"short"`)}); err != nil {
			t.Fatal(err)
		}
		for short, want := range map[bool]int{false: len(long), true: 0} {
			records, err := j.Read(t.Context(), journal.Query{Short: short})
			if err != nil || len(records) != 2 || len(records[0].Payload) != want || string(records[1].Payload) != `"short"` {
				t.Errorf("short is %v: %d records, %d bytes, %v", short, len(records), len(records[0].Payload), err)
			}
		}
	})
}
