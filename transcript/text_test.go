package transcript

import (
	"strings"
	"testing"

	"harness/internal/platform/database"
	"harness/tests/dbtest"
)

// Text reads any range of a content, however it is stored; the ranges together are the content. A window with beginnings
// has the first of them.
func TestText(t *testing.T) {
	t.Parallel()
	contents := map[string]string{"empty": "", "short": "a \"word\"\n", "signs": strings.Repeat("\u00e9\u4e2d\\\"\x01\U0001f600", 150_000),
		"long": strings.Repeat("0123456789", 300_000), "slashes": strings.Repeat("\\", 1_200_000)}
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		err := db.Update(t.Context(), func(tx database.Tx) error { return insertAll(t.Context(), tx, contents) })
		if err != nil {
			t.Fatal(err)
		}
		for id, content := range contents {
			for _, bytes := range []int{500_003, 4 << 20} {
				var got strings.Builder
				for offset := int64(0); ; {
					read, found, err := Store{}.Text(t.Context(), db.Read(), "s", id, offset, bytes)
					if err != nil || !found || len(read.Text) > bytes {
						t.Fatalf("%s at %d: %v, %v", id, offset, found, err)
					}
					got.WriteString(read.Text)
					if offset = read.Next; offset == 0 {
						break
					}
				}
				if got.String() != content {
					t.Errorf("%s in ranges of %d bytes has %d bytes of %d", id, bytes, got.Len(), len(content))
				}
			}
		}
		if read, found, err := (Store{}).Text(t.Context(), db.Read(), "s", "long", 1<<40, 10); err != nil || !found || read.Text != "" || read.Next != 0 {
			t.Errorf("behind the end: %+v, %v, %v", read, found, err)
		}
		if _, found, err := (Store{}).Text(t.Context(), db.Read(), "s", "none", 0, 10); found || err != nil {
			t.Errorf("an entry that is not there: %v, %v", found, err)
		}
		window, err := Store{}.Window(t.Context(), db.Read(), "s", Window{Limit: 10, Beginning: 1000})
		if err != nil || len(window.Entries) != len(contents) {
			t.Fatalf("%d entries, %v", len(window.Entries), err)
		}
		for _, one := range window.Entries {
			content := contents[one.MessageID]
			if !strings.HasPrefix(content, one.Content) || one.Cut != (len(content) > longEntry/2) || one.Cut && len(one.Content) > 1000 ||
				!one.Cut && one.Content != content || one.Role != "assistant" || one.Status != Complete {
				t.Errorf("%s in a window: %d bytes, cut %v", one.MessageID, len(one.Content), one.Cut)
			}
		}
	})
}

// A content is read whole wherever a part ends, also within an escape or between the two of a pair.
func TestATextInAnyParts(t *testing.T) {
	t.Parallel()
	const content = "a\"\\\n\x01\u2028\U0001f600z"
	const stored = `{"messageId":"m","turnId":"t","role":"user","type":"x","content":"a\"\\\n\u0001\u2028\ud83d\ude00z","details":"d"}`
	for at := strings.Index(stored, `"a\"`) + 1; at < len(stored); at++ {
		r := textRange{most: 100}
		if r.read(stored[:at]) {
			r.read(stored[at:])
		}
		if got := r.text(0); got.Text != content || got.Next != 0 {
			t.Errorf("cut at %d: %+v", at, got)
		}
	}
}
