package claude

import (
	"strconv"
	"testing"
)

// The id of a message that begins with a lost conversation tells its request, whichever connection to the process it
// was sent on, so that whoever waits for what became of it hears.
func TestTheIDOfARetoldMessageTellsItsRequest(t *testing.T) {
	t.Parallel()
	p := &protocol{marker: [10]byte{1, 2, 3, 4, 5, 6, 0x40, 8, 0x80, 10}}
	for _, connection := range []int64{1, 2, 3, 0x7FFE, 0xFFFF} {
		for _, number := range []int64{1, 2, 1 << 19} {
			id := connection<<32 | number
			for _, params := range []any{parts{}, retold{}} {
				_, again := params.(retold)
				said := p.messageID(id, params)
				if got := p.requestOf(said); got != strconv.FormatInt(id, 10) || isRetold(said) != again {
					t.Errorf("%s is of request %s, told again %t; want %d, %t", said, got, isRetold(said), id, again)
				}
			}
		}
	}
}
