package journal_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/tests/dbtest"
)

// An event whose row differs from what was written is shown as damaged, whichever column differs, and no other event
// is.
func TestADamagedEventIsNamed(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, database.SQLite)
	var reported []int64
	j := start(t, db, journal.Options{Hooks: journal.Hooks{Damaged: func(pos int64) { reported = append(reported, pos) }}})
	long := json.RawMessage(`"` + strings.Repeat("long ", database.PartBytes/4) + `"`)
	event := journal.Event{SessionID: "s", TurnID: "t", ItemID: "i", Type: "type", Time: 7, Source: "codex", Actor: "ada",
		TraceID: "trace", SpanID: "span", Meta: json.RawMessage(`{"a":1}`), Payload: json.RawMessage(`{"b":"café"}`)}
	other := event
	other.Payload = long
	if _, err := j.Append(t.Context(), event, event, other, event); err != nil {
		t.Fatal(err)
	}
	truth := readAll(t, j)
	change := func(statement string) {
		t.Helper()
		if _, err := db.Raw().ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	change(`create table kept as select * from journal_events; create table kept_parts as select * from journal_parts`)
	damages := map[string]int64{
		`update journal_parts set part = 'x' || substr(part, 2) where number = 2`: 3,
		`delete from journal_parts`:                                       3,
		`delete from journal_parts where number = 1`:                      3,
		`update journal_events set payload = '' where pos = 2`:            2,
		`update journal_events set checksum = checksum + 1 where pos = 2`: 2,
		`update journal_events set checksum = -checksum where pos = 2`:    2,
	}
	for _, column := range []string{"turn_id", "item_id", "type", "source", "actor", "trace_id", "span_id", "meta", "payload"} {
		damages[fmt.Sprintf(`update journal_events set %[1]s = substr(%[1]s, 1, length(%[1]s) - 1) || 'y' where pos = 2`, column)] = 2
	}
	for _, column := range []string{"schema_version", "time", "broadcast"} {
		damages[fmt.Sprintf(`update journal_events set %[1]s = 1 - %[1]s where pos = 2`, column)] = 2
	}
	for statement, pos := range damages {
		reported = nil
		change(statement)
		records := readAll(t, j)
		for i, record := range records {
			want := truth[i]
			if record.Pos == pos {
				want = journal.Record{Pos: pos, Seq: pos, SchemaVersion: journal.SchemaVersion, Event: journal.Event{SessionID: "s",
					Type: journal.EventDamaged, Time: record.Time, Source: "journal", Meta: json.RawMessage(`{}`),
					Payload: json.RawMessage(fmt.Sprintf(`{"table":"journal_events","position":%d}`, pos))}}
			}
			if !reflect.DeepEqual(record, want) {
				t.Errorf("%s: event %d is shown as %.300s", statement, i+1, fmt.Sprint(record))
			}
		}
		found, err := journal.Scrub(t.Context(), db.Read(), 0)
		if err != nil || !slices.Equal(found.Damaged, []int64{pos}) || len(records) != 4 || !slices.Contains(reported, pos) {
			t.Errorf("%s: a scrub finds %v, reported are %v (%v)", statement, found.Damaged, reported, err)
		}
		change(`delete from journal_events; insert into journal_events select * from kept;
			delete from journal_parts; insert into journal_parts select * from kept_parts`)
	}
	if records := readAll(t, j); !reflect.DeepEqual(records, truth) {
		t.Errorf("the rows that were written are read as %.300s", fmt.Sprint(records))
	}
	change(`delete from journal_events where pos in (2, 4)`)
	if found, err := journal.Scrub(t.Context(), db.Read(), 0); err != nil || !slices.Equal(found.Missing, []int64{2, 4}) {
		t.Errorf("a scrub finds %v missing (%v)", found.Missing, err)
	}
	if found, err := journal.Scrub(t.Context(), db.Read(), 3); err != nil || !slices.Equal(found.Missing, []int64{4}) || found.Last != 0 {
		t.Errorf("behind position 3 a scrub finds %+v (%v)", found, err)
	}
}
