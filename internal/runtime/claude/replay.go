package claude

import (
	"encoding/json"

	"harness/internal/runtime"
	"harness/internal/runtime/wire"
)

// Replay translates lines of Claude Code from a session in cwd, without a process or earlier lines. It skips invalid
// lines; all times are 0.
func Replay(sessionID, cwd string, lines []json.RawMessage) []runtime.Signal {
	s := state{Thread: sessionID, Cwd: cwd}
	var all []runtime.Signal
	for _, line := range lines {
		var e event
		short, elided := wire.Elide(line, maxDetail)
		if err := json.Unmarshal(short, &e); err != nil && e.Type == "" {
			continue
		}
		said := s.translate(&e, 0)
		elided.Restore(said)
		all = append(all, said...)
	}
	return all
}
