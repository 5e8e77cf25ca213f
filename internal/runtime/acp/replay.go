package acp

import (
	"encoding/json"

	"harness/internal/runtime"
	"harness/internal/runtime/acp/words"
	"harness/internal/runtime/wire"
)

// Replay translates stored lines of an agent with this profile from a session in cwd, without a process. It starts at
// the first recorded start of a turn. Answers to the agent are missing, so a turn or a call may end differently. All
// times are 0.
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
		case l.Method == words.Prompt && turn != "":
			t.state.Conversations = map[string]*conversation{l.params().SessionID: {Thread: sessionID, Turn: turn, Cwd: cwd}}
			continue
		case l.Method == "" && turn == "":
			t.state.Conversations = nil // a line was omitted for its length: its effect is unknown
			continue
		}
		said, _ := t.said(&l, 0)
		elided.Restore(said)
		all = append(all, said...)
	}
	return all
}

// beginning returns the stored line at the start of a turn: its message without content.
func beginning(turn, native string) json.RawMessage {
	raw, _ := written(message{Version: "2.0", ID: turnPrefix + turn, Method: words.Prompt,
		Params: map[string]string{"sessionId": native}}) // strings always encode
	return raw[:len(raw)-1]
}
