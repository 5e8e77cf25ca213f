package stream

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"

	"github.com/rs/zerolog"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/tests/dbtest"
)

// Rows written by the previous version (schema version 1, no layout in their meta) are replayed as the same bytes that
// were sent live.
func TestOldRowsReplayTheSameBytes(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		log := journal.New(db, journal.Options{Logger: zerolog.Nop(), Upcast: Upcast})
		if err := log.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := log.Stop(context.Background()); err != nil {
				t.Error(err)
			}
		})
		var want [][]string
		for _, one := range recordings(t) {
			row := recordOf(t, one.Frames).Event
			row.Meta = withoutLayout(t, row.Meta)
			if _, err := log.Append(t.Context(), row); err != nil {
				t.Fatal(err)
			}
			want = append(want, one.Frames)
		}
		delta := textEvent("T", `a\ud83d\ude00b`, TextRef{Group: 1})
		delta.Meta = withoutLayout(t, delta.Meta)
		if _, err := log.Append(t.Context(), delta); err != nil {
			t.Fatal(err)
		}
		err := db.Update(t.Context(), func(tx database.Tx) error {
			_, err := tx.ExecContext(t.Context(), `update journal_events set schema_version = 1, checksum = null`)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		records, err := log.Read(t.Context(), journal.Query{})
		if err != nil || len(records) != len(want)+1 {
			t.Fatalf("%d records, %v", len(records), err)
		}
		for i, frames := range want {
			got, err := Frames(records[i])
			if err != nil || len(got) != len(frames) {
				t.Fatalf("%s: %d frames of %d, %v", records[i].Payload, len(got), len(frames), err)
			}
			for j := range got {
				if text := string(got[j].AppendJSON(nil, false)); text != frames[j] {
					t.Errorf("got  %s\nwant %s", text, frames[j])
				}
			}
		}
		rest, err := remainderOf(records[len(want)], 3)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Frames(rest)
		if err != nil || string(
			got[1].Payload) != `{"method":"item/agentMessage/delta","params":{"itemId":"m","delta":"b"}}` {
			t.Errorf("the rest of an old text is %s, %v", got[1].Payload, err)
		}
	})
}

func withoutLayout(t *testing.T, meta json.RawMessage) json.RawMessage {
	t.Helper()
	if len(meta) == 0 {
		return meta // not a runtime's line
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(meta, &members); err != nil {
		t.Fatal(err)
	}
	delete(members, "layout")
	out, err := json.Marshal(members)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// However a line is formatted, its parts are those that the previous version decoded.
func TestPartsOfOldLines(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		`{"method":"a/b","params":{"x":1}}`, ` { "params" : null , "id" : "r" , "method" : "m\"\\\u0041" } `,
		`{"method":"m"}`, `{"id":7,"method":"m","params":[{"method":"no","id":1}],"id":8}`,
		`{"method":"m","params":"text \\\" ,}","emittedAtMs":1}`, `{"method":"m","params":{"delta":"é漢😀"},"jsonrpc":"2.0"}`,
		`{"method":"","params":{}}`,
	} {
		for _, meta := range []string{``, `{}`, ` { } `, `{"turnId":"t"}`} {
			var decoded map[string]json.RawMessage
			if err := json.Unmarshal([]byte(line), &decoded); err != nil {
				t.Fatal(err)
			}
			record := old(EventRequest, line, meta)
			read, err := MetaOf(&record.Event)
			if err != nil || read.TurnID != map[bool]string{true: "t"}[len(meta) > 8] {
				t.Fatalf("%s: meta %s, %v", line, record.Meta, err)
			}
			parts, ok := LineOf(&record.Event, read)
			if !ok || !bytes.Equal(parts.Method, decoded["method"]) || !bytes.Equal(parts.Params, decoded["params"]) ||
				!bytes.Equal(parts.ID, decoded["id"]) {
				t.Errorf("%s: %s %s %s, %v", line, parts.Method, parts.Params, parts.ID, ok)
			}
		}
	}
	other := journal.Event{Type: "session_updated", Payload: json.RawMessage(`{"method":"x"}`),
		Meta: json.RawMessage(`{}`)}
	if got := Upcast(1, other); string(got.Meta) != `{}` {
		t.Errorf("another event's meta became %s", got.Meta)
	}
	broken := journal.Event{Type: EventRequest, Payload: json.RawMessage(`{"method":"x"}`), Meta: json.RawMessage(`[]`)}
	if got := Upcast(1, broken); string(got.Meta) != `[]` {
		t.Errorf("a meta that is no object became %s", got.Meta)
	}
}
