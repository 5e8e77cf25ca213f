package stream

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"harness/internal/platform/journal"
)

// deltaRecord returns a stored delta. Its text is in JSON form, without the quotes.
func deltaRecord(into, literal string, offset int64) journal.Record {
	payload := fmt.Sprintf(`{"method":"item/agentMessage/delta","params":{"delta":"%s","itemId":"i"}}`, literal)
	ref := TextRef{Offset: offset, Length: TextLength([]byte(literal)),
		At: strings.Index(payload, `"delta":`) + len(`"delta":`), Into: into}
	return journal.Record{Pos: 1,
		Event: journal.Event{Payload: json.RawMessage(payload), Meta: EncodeMeta(Meta{Text: &ref})}}
}

// Stored deltas form the texts that their offsets describe. Texts are separate by destination and intact where a
// character is split. They restart at offset 0, and a text whose beginning was pruned keeps the rest.
func TestGrowTexts(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		records []journal.Record
		want    []GrownText
	}{
		"none": {nil, []GrownText{}},
		"apart": {[]journal.Record{deltaRecord("a", "x", 0), deltaRecord("b", "y", 0), deltaRecord("a", `\"é`, 1)},
			[]GrownText{{"a", "x\"é"}, {"b", "y"}}},
		"a cut character": {[]journal.Record{deltaRecord("a", `\ud83d`, 0), deltaRecord("a", `\ude00!`, 1),
			deltaRecord("a", "\U0001F600", 3), deltaRecord("a", "z", 5)}, []GrownText{{"a", "\U0001F600!\U0001F600z"}}},
		"begun anew": {[]journal.Record{deltaRecord("a", "long", 0), deltaRecord("a", "new", 0)},
			[]GrownText{{"a", "new"}}},
		"twice": {[]journal.Record{deltaRecord("a", "one two", 0), deltaRecord("a", "two three", 4)},
			[]GrownText{{"a", "one two three"}}},
		"pruned": {[]journal.Record{deltaRecord("a", "rest", 100), deltaRecord("a", "!", 104)},
			[]GrownText{{"a", "rest!"}}},
		"pruned, then new": {[]journal.Record{deltaRecord("a", "rest", 100), deltaRecord("a", "new", 0)},
			[]GrownText{{"a", "new"}}},
	} {
		got, err := GrowTexts(test.records)
		if err != nil || fmt.Sprint(got) != fmt.Sprint(test.want) {
			t.Errorf("%s: %q (%v), want %q", name, got, err, test.want)
		}
	}
	broken := deltaRecord("a", "x", 0)
	broken.Payload = json.RawMessage(`{"method":"m","params":{}}`)
	if _, err := GrowTexts([]journal.Record{broken}); err == nil {
		t.Error("a delta without its text is taken")
	}
}
