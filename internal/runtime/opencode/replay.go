package opencode

import (
	"encoding/json"

	"harness/internal/runtime"
	"harness/internal/runtime/opencode/bridge"
	"harness/internal/runtime/wire"
)

// Replay translates lines that were kept of OpenCode in a session that works in cwd, without a process and without
// knowing what happened before: events as OpenCode wrote them, and how a conversation stood as the bridge told it. A
// line that is neither is passed over; all are said at the time 0.
func Replay(sessionID, cwd string, lines []json.RawMessage) []runtime.Signal {
	var s state
	var all []runtime.Signal
	for _, line := range lines {
		short, elided := wire.Elide(line, longText)
		var l bridge.Line
		if json.Unmarshal(short, &l) != nil {
			continue
		}
		if l.Snapshot == nil && l.Refused == "" {
			l = bridge.Line{Event: short, Directory: cwd}
		}
		said, _ := s.translate(l, 0, func(string) string { return sessionID })
		elided.Restore(said)
		all = append(all, said...)
	}
	return all
}
