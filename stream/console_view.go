package stream

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
)

// consoleView is the ?view= value for a page that lists sessions and shows the texts of a few. The page gets one frame
// per event of every thread, and text deltas of the threads it names.
const consoleView = "console"

// maxNamed bounds the threads a connection may name.
const maxNamed = 64

// naming returns the audience of the console view.
func (h *Hub) naming(threads []string, reach Reach) audience {
	named := slices.Sorted(slices.Values(threads))
	a := audience{channel: h.own, key: "\x00" + consoleView + "\x00" + strings.Join(named, "\x00"), sees: func(f *Frame) bool {
		switch {
		case f.Repeats:
			return false
		case f.SystemOwned, f.Text != nil:
			_, found := slices.BinarySearch(named, f.ThreadID)
			return found
		default:
			return true
		}
	}}
	return a.within(reach)
}

// viewOf reads the view of a handshake: the threads it names, or nil for the view of codex-manager. problem is "" for a
// valid one.
func viewOf(query url.Values) (named []string, problem string) {
	views, asked := query["view"]
	if !asked {
		return nil, ""
	}
	if len(views) != 1 || views[0] != consoleView {
		return nil, "view must be console, once; leave it out for every frame"
	}
	named = append([]string{}, query["threadIds"]...)
	if !nameable(named) {
		return nil, "threadIds must be at most 64 sessions, none of them empty"
	}
	return named, ""
}

func nameable(threads []string) bool {
	return len(threads) <= maxNamed && !slices.Contains(threads, "")
}

// consoleListener executes the commands of the console view.
type consoleListener struct{ client *client }

// OnMessage implements Listener. The subscriber gets its confirmation once the subscription is active. A REST read
// after that includes every event the subscription did not send.
func (l consoleListener) OnMessage(data []byte) {
	if len(data) == 0 {
		return
	}
	var asked struct {
		Type      string   `json:"type"`
		ThreadIDs []string `json:"threadIds"`
	}
	switch err := json.Unmarshal(data, &asked); {
	case err == nil && asked.Type == "ping":
		l.client.answer(textMessage(`{"type":"pong"}`))
	case err == nil && asked.Type == "subscribe" && asked.ThreadIDs != nil && nameable(asked.ThreadIDs):
		l.client.name(asked.ThreadIDs)
		l.client.answer(textMessage(`{"type":"subscribed"}`))
	default:
		l.client.answer(textMessage(invalidCommand))
	}
}

// name makes the client of a console view get the texts of these threads from now on.
func (c *client) name(threads []string) {
	c.hub.mu.Lock()
	defer c.hub.mu.Unlock()
	c.setAudience(c.hub.naming(threads, c.reach))
}
