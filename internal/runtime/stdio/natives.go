package stdio

import (
	"bytes"
	"encoding/json"
	"regexp"
	"sync"

	"harness/internal/runtime"
	"harness/internal/runtime/jsonobject"
)

// maxNatives bounds the remembered ids in bytes.
const maxNatives = 16 << 20

// Natives are an agent's own ids that are too long for runtime.KnownID. The agent gets them in full. They come from
// the output of all its processes. After a restart they come from running turns and from output that the server reads
// again.
type Natives struct {
	mu    sync.Mutex
	byID  map[string]string
	bytes int
}

func newNatives() *Natives { return &Natives{byID: map[string]string{}} }

// Known returns runtime.KnownID of an id, and remembers the id.
func (n *Natives) Known(native string) string {
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

// Described remembers the id of an object from the agent, a JSON object with a member id.
func (n *Natives) Described(known string, raw json.RawMessage) {
	if runtime.StandsForLonger(known) {
		n.describe(raw)
	}
}

func (n *Natives) describe(raw json.RawMessage) {
	var named struct{ ID string }
	_ = json.Unmarshal(raw, &named) // later output names it again
	n.Known(named.ID)
}

// Remember stores the long ids in a signal: members of its parameters and of their objects. Call it for every signal
// to pass on.
func (n *Natives) Remember(s *runtime.Signal) {
	if !runtime.StandsForLonger(s.ThreadID) && !runtime.StandsForLonger(s.TurnID) {
		return
	}
	id := func(start, end int) {
		var native string
		if end-start > runtime.MaxID && s.Params[start] == '"' && json.Unmarshal(s.Params[start:end], &native) == nil {
			if known := runtime.KnownID(native); known == s.ThreadID || known == s.TurnID {
				n.Known(native)
			}
		}
	}
	jsonobject.Each(s.Params, 0, func(_ []byte, start, end int) {
		id(start, end)
		jsonobject.Each(s.Params, start, func(_ []byte, start, end int) { id(start, end) })
	})
}

// standIn matches a substitute of a longer id in a frame to the agent: a member with a JSON string. Inside a text a
// backslash precedes the quotes.
var standIn = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`("[^"\\]*"\s*:\s*|[\[,]\s*)"id-sha256-[0-9a-f]{64}"`)
})

// textMember is the member with the text of a message. restore does not change it.
var textMember = []byte(`"text"`)

// restore puts the agent's own ids into a frame.
func (n *Natives) restore(frame []byte) []byte {
	if n == nil || !bytes.Contains(frame, []byte(`"id-sha256-`)) {
		return frame
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return standIn().ReplaceAllFunc(frame, func(found []byte) []byte {
		at := bytes.LastIndex(found, []byte(`"id-sha256-`))
		native, ok := n.byID[string(found[at+1:len(found)-1])]
		if !ok || bytes.HasPrefix(found, textMember) {
			return found
		}
		quoted, err := json.Marshal(native)
		if err != nil {
			return found
		}
		return append(bytes.Clone(found[:at]), quoted...)
	})
}
