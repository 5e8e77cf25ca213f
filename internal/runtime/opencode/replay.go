package opencode

import (
	"encoding/json"

	"harness/internal/runtime"
	"harness/internal/runtime/opencode/bridge"
	"harness/internal/runtime/wire"
)

// Replay translates stored lines of OpenCode in a session that works in cwd, without a process and without earlier
// state: events as OpenCode wrote them, and the bridge's snapshots. It skips other lines; all times are 0.
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
