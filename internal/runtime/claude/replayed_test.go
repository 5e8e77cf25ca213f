package claude

import (
	"strconv"
	"testing"
)

// The id of a message that starts with a lost conversation identifies its request on any connection to the process.
// So the waiting caller gets its outcome.
func TestReplayedMessageIDNamesItsRequest(t *testing.T) {
	t.Parallel()
	p := &protocol{marker: [10]byte{1, 2, 3, 4, 5, 6, 0x40, 8, 0x80, 10}}
	for _, connection := range []int64{1, 2, 3, 0x7FFE, 0xFFFF} {
		for _, number := range []int64{1, 2, 1 << 19} {
			id := connection<<32 | number
			for _, params := range []any{parts{}, replayed{}} {
				_, again := params.(replayed)
				said := p.messageID(id, params)
				if got := p.requestOf(said); got != strconv.FormatInt(id, 10) || isReplayed(said) != again {
					t.Errorf("%s is of request %s, replayed %t; want %d, %t", said, got, isReplayed(said), id, again)
				}
			}
		}
	}
}
