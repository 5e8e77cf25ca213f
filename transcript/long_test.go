package transcript

import (
	"bytes"
	"context"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"harness/internal/platform/database"
	"harness/tests/dbtest"
)

func anyJSON(random *rand.Rand, depth int) any {
	switch kind := random.IntN(8); {
	case kind < 2 && depth > 0:
		object := map[string]any{}
		for range random.IntN(4) {
			object[anyText(random)] = anyJSON(random, depth-1)
		}
		return object
	case kind < 4 && depth > 0:
		list := []any{}
		for range random.IntN(4) {
			list = append(list, anyJSON(random, depth-1))
		}
		return list
	case kind == 4:
		return random.Float64() * 1e9
	case kind == 5:
		return []any{nil, true, false}[random.IntN(3)]
	}
	return strings.Repeat(anyText(random), 1+random.IntN(2)*chunkBytes/8)
}

// indent equals json.Indent, in chunks that can be escaped one by one.
func TestIndentsAsTheStandardLibrary(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		raw, err := json.Marshal(anyJSON(random, 4))
		if err != nil {
			t.Fatal(err)
		}
		if random.IntN(2) == 0 {
			var spaced bytes.Buffer
			if err := json.Indent(&spaced, raw, " ", "\t"); err != nil {
				t.Fatal(err)
			}
			raw = spaced.Bytes()
		}
		var want bytes.Buffer
		if err := json.Indent(&want, raw, "", "  "); err != nil {
			t.Fatal(err)
		}
		var got, escaped []byte
		indent([][]byte{raw}, func(chunk string) { got, escaped = append(got, chunk...), appendInner(escaped, chunk) })
		if !bytes.Equal(got, want.Bytes()) || !bytes.Equal(escaped, appendInner(nil, want.String())) {
			t.Fatalf("%s\nbecame %s\nwant   %s", raw, got, &want)
		}
	}
}

// unquote equals the standard library's result, in chunks of whole characters, without NUL.
func TestUnquotesAsTheStandardLibrary(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	parts := []string{"a", "é", "€", "😀", `\n`, `\"`, `\\`, `\/`, `\u0000`, `\u00e9`, `\ud83d`, `\ude00`, `\ud83d\ude00`,
		`\ud83d\ud83d\uDE00`, `\b\f\r\t`, strings.Repeat("x", 100), strings.Repeat("😀", 30)}
	for range 60 {
		quoted := []byte{'"'}
		for size := random.IntN(3 * chunkBytes); len(quoted) < size; {
			quoted = append(quoted, parts[random.IntN(len(parts))]...)
		}
		quoted = append(quoted, '"')
		var want string
		if err := json.Unmarshal(quoted, &want); err != nil {
			t.Fatal(err)
		}
		want = strings.ReplaceAll(want, "\x00", "\uFFFD")
		var got []byte
		unquote(quoted, func(chunk string) {
			if !utf8.ValidString(chunk) {
				t.Fatalf("a piece ends within a character: %q", chunk[max(0, len(chunk)-8):])
			}
			got = append(got, chunk...)
		})
		if string(got) != want {
			t.Fatalf("%.300q\nis not %.300q", got, want)
		}
	}
}

// longItem returns an item as a runtime describes it, slightly longer than an entry that is stored in one part.
func longItem(word string) json.RawMessage {
	raw, _ := json.Marshal(map[string]any{"type": "commandExecution", "id": "c",
		"aggregatedOutput": strings.Repeat(word+" \"é\" \\ 😀\u2028\n", longEntry/26)})
	return raw
}

// A long entry is stored in parts, and is the same entry for every reader. Its earlier content and its writer do not
// matter. Its deletion leaves no parts.
func TestLongEntriesAreStoredInParts(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		k := newKept(t, db)
		k.log.BeforePrune(Store{}.KeepPruned)
		parts := func() (count int) {
			t.Helper()
			if err := db.Read().QueryRowContext(t.Context(), `select count(*) from transcript_parts`).Scan(&count); err != nil {
				t.Fatal(err)
			}
			return count
		}
		put := func(write func(ctx context.Context, tx database.Tx) error) {
			t.Helper()
			if err := db.Update(t.Context(), func(tx database.Tx) error { return write(t.Context(), tx) }); err != nil {
				t.Fatal(err)
			}
		}
		item := func(status Status, word string) Entry {
			e := Entry{MessageID: "c", TurnID: "t", Role: "system", Type: "commandExecution", Content: "ran " + word,
				Status: status, StartedAt: instant(5), Source: &Source{Details: [][]byte{longItem(word)}}}
			if status.Final() {
				e.CompletedAt = instant(9)
			}
			return e
		}
		upsertItem := func(e Entry) {
			t.Helper()
			put(func(ctx context.Context, tx database.Tx) error {
				_, _, err := Store{}.UpsertItem(ctx, tx, "s", e)
				return err
			})
		}
		shows := func(what string, inParts bool, want Entry) {
			t.Helper()
			entries := k.read()
			if len(entries) != 1 || !entries[0].Equal(want.Whole()) {
				t.Fatalf("%s: %d entries; the first: %.200s", what, len(entries), entries[0].AppendJSON(nil))
			}
			var stored string
			if err := db.Read().QueryRowContext(t.Context(), `select coalesce(encoded, 'none') from transcript_entries`).
				Scan(&stored); err != nil {
				t.Fatal(err)
			}
			if (parts() > 1) != inParts || inParts != (stored == "") {
				t.Errorf("%s: it is in %d parts, its row has %d bytes", what, parts(), len(stored))
			}
		}
		short := Entry{MessageID: "c", TurnID: "t", Role: "system", Type: "commandExecution", Content: "runs",
			Status: Streaming, StartedAt: instant(6)}
		upsertItem(short)
		shows("begun", false, short)
		upsertItem(item(Streaming, "more"))
		shows("said", true, item(Streaming, "more"))
		upsertItem(item(Complete, "ended"))
		shows("ended", true, item(Complete, "ended"))
		upsertItem(item(Streaming, "late"))
		shows("what comes late changes nothing", true, item(Complete, "ended"))
		changed := item(Complete, "ended").Whole()
		changed.Content = "by a client"
		k.upsert(Entry{MessageID: "c", TurnID: "t", Role: "system", Type: "commandExecution", Content: "by a client",
			Status: Complete})
		shows("merged with an upsert", true, changed)
		little := "little"
		changed.Details = &little
		upsertItem(changed)
		shows("short again", false, changed)

		// An upsert of a client is in its event until the event is pruned.
		whole := item(Complete, "in its event").Whole()
		whole.Content = changed.Content
		k.upsert(whole)
		shows("in its event", false, whole)
		if _, err := k.log.Prune(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		shows("after its event", true, whole)

		// The same by event, with a longer text and a shorter one: no part of the longer one remains after pruning.
		for _, times := range []int{4, 2} {
			text := strings.Repeat("other words ", times*longEntry/12-longEntry/24)
			whole.Details = &text
			k.upsert(whole)
			if _, err := k.log.Prune(t.Context(), 0); err != nil {
				t.Fatal(err)
			}
			shows("after its event in other words", true, whole)
		}
		k.upsert(Entry{MessageID: "c", TurnID: "t2", Role: "system", Type: "commandExecution", Content: "moved",
			Status: Complete})
		whole.TurnID, whole.Content = "t2", "moved"
		shows("in another turn", true, whole)

		put(func(ctx context.Context, tx database.Tx) error {
			_, err := Store{}.DeleteTurn(ctx, tx, "s", "t2")
			return err
		})
		if parts() != 0 {
			t.Errorf("%d parts are left of the turn", parts())
		}
		upsertItem(item(Complete, "again"))
		put(func(ctx context.Context, tx database.Tx) error { return Store{}.Delete(ctx, tx, "s") })
		if parts() != 0 {
			t.Errorf("%d parts are left of the session", parts())
		}
	})
}
