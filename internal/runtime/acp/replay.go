package acp

import (
	"encoding/json"

	"harness/internal/runtime"
	"harness/internal/runtime/wire"
)

// Replay translates lines that were kept of an agent with this profile in a session that works in cwd, without a
// process: from the first turn whose beginning is among them. What was answered to the agent is not, so that a turn or
// a call may end otherwise than it did. All is said at the time 0.
func (p Profile) Replay(sessionID, cwd string, lines []json.RawMessage) []runtime.Signal {
	t := translator{profile: &p, threads: map[string]string{}}
	var all []runtime.Signal
	for _, raw := range lines {
		var l line
		short, elided := wire.Elide(raw, ends(raw), compared(raw)...)
		if json.Unmarshal(short, &l) != nil {
			continue
		}
		switch turn := l.turn(); {
		case l.Method == methodPrompt && turn != "":
			t.state.Conversations = map[string]*conversation{l.params().SessionID: {Thread: sessionID, Turn: turn, Cwd: cwd}}
			continue
		case l.Method == "" && turn == "":
			t.state.Conversations = nil // a line was left out for its length: what it began is not known
			continue
		}
		said, _ := t.said(&l, 0)
		elided.Restore(said)
		all = append(all, said...)
	}
	return all
}

// beginning is the line that is kept where a turn begins: its message without what it says.
func beginning(turn, native string) json.RawMessage {
	raw, _ := written(message{Version: "2.0", ID: turnPrefix + turn, Method: methodPrompt,
		Params: map[string]string{"sessionId": native}}) // texts encode
	return raw[:len(raw)-1]
}
