package codex

import (
	"bytes"
	"encoding/json"
	"regexp"
	"sync"

	"harness/runtime"
)

// maxNatives bounds the ids that are remembered, in bytes.
const maxNatives = 16 << 20

// natives are codex's own ids of threads and turns whose ids are too long to be known by (runtime.KnownID): codex is told them in full. They
// are heard again after a restart, from the list of threads and from whatever a turn says next.
type natives struct {
	mu    sync.Mutex
	byID  map[string]string
	bytes int
}

func newNatives() *natives { return &natives{byID: map[string]string{}} }

// known is runtime.KnownID, remembered.
func (n *natives) known(native string) string {
	id := runtime.KnownID(native)
	if id == native || n == nil {
		return id
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.byID[id] != "" {
		return id
	}
	if n.bytes += len(native); n.bytes > maxNatives {
		clear(n.byID)
		n.bytes = len(native)
	}
	n.byID[id] = native
	return id
}

// described remembers the id of something that codex describes and that is known by one.
func (n *natives) described(known string, raw json.RawMessage) {
	if runtime.StandsForLonger(known) {
		var named withID
		_ = json.Unmarshal(raw, &named) // it was read before
		n.known(named.ID)
	}
}

// hear remembers the long ids of a signal.
func (n *natives) hear(s runtime.Signal) {
	if !runtime.StandsForLonger(s.ThreadID) && !runtime.StandsForLonger(s.TurnID) {
		return
	}
	var named struct {
		ids
		TurnID string `json:"turnId"`
	}
	_ = json.Unmarshal(s.Params, &named) // as classify read it
	for _, id := range []string{named.ThreadID, named.Thread.ID, named.ConversationID, named.TurnID, named.Turn.ID} {
		n.known(id)
	}
}

// standIn is where a frame to codex names a thread or turn by the id that stands for a longer one. In a text there is a backslash before the
// quotes.
var standIn = regexp.MustCompile(`Id":"id-sha256-[0-9a-f]{64}"`)

// restore puts codex's own ids into a frame to it.
func (n *natives) restore(frame []byte) []byte {
	if n == nil || !bytes.Contains(frame, []byte(`Id":"id-sha256-`)) {
		return frame
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	const before = len(`Id":"`)
	return standIn.ReplaceAllFunc(frame, func(found []byte) []byte {
		native, ok := n.byID[string(found[before:len(found)-1])]
		if !ok {
			return found
		}
		return append([]byte(`Id":`), rawString(native)...)
	})
}
