package stdio

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestNativesAreRestoredWhereAFrameNamesThem(t *testing.T) {
	t.Parallel()
	n := newNatives()
	long := strings.Repeat("x", 600) + `"\`
	id, unknown := n.Known(long), newNatives().Known(strings.Repeat("y", 600))
	said := fmt.Sprintf(`[{"type":"text","text":"\"threadId\":\"%s\""},{"text":%q}]`, id, id)
	frame := fmt.Sprintf(`{"params":{"input":%s,"threadId":%q,"turnId":%q,"expectedTurnId":%q}}`, said, id, unknown, id)
	want := fmt.Sprintf(`{"params":{"input":%s,"threadId":%s,"turnId":%q,"expectedTurnId":%s}}`, said, quoted(long),
		unknown, quoted(long))
	if got := string(n.restore([]byte(frame))); got != want {
		t.Errorf("the agent gets\n%s\nwant\n%s", got, want)
	}
	for i := range 3 { // a runtime that invents ids does not fill the memory
		n.Known(strings.Repeat("z", maxNatives/2) + fmt.Sprint(i))
	}
	if n.bytes > maxNatives {
		t.Errorf("%d bytes of ids are remembered", n.bytes)
	}
}

func quoted(text string) string {
	raw, _ := json.Marshal(text) // texts encode
	return string(raw)
}
