package javascript_test

import (
	"strings"
	"testing"

	"harness/internal/lib/javascript"
)

// Every byte is classified correctly at every position, whatever its neighbors.
func TestVerbatimEndsAtTheFirstByteThatIsEscaped(t *testing.T) {
	t.Parallel()
	for b := range 256 {
		stands := b >= ' ' && b < 0x80 && b != '"' && b != '\\'
		for place := range 20 {
			for _, behind := range []string{"", "a", "\"", "\x00\xff", strings.Repeat("!", 20)} {
				text := strings.Repeat("~!", place)[:place] + string([]byte{byte(b)}) + behind
				want := place
				if stands {
					want++
					for _, c := range []byte(behind) {
						if c < ' ' || c >= 0x80 || c == '"' || c == '\\' {
							break
						}
						want++
					}
				}
				if got := javascript.Verbatim(text); got != want {
					t.Fatalf("%q: %d, want %d", text, got, want)
				}
			}
		}
	}
}
