package opencode

import (
	"encoding/json"
	"strings"
	"testing"

	"harness/internal/runtime"
	"harness/internal/runtime/opencode/bridge"
)

// A conversation breaks off when its folder is gone: OpenCode is idle, then reports the reason, and its last message
// gets no end. The turn ends with that reason, also when the agent is idle again without one.
func TestInterruptedTurnEnds(t *testing.T) {
	t.Parallel()
	const (
		begins = `{"type":"message.updated","properties":{"sessionID":"ses_1","info":{"id":"msg_1","role":"user","time":{"created":1}}}}
{"type":"session.status","properties":{"sessionID":"ses_1","status":{"type":"busy"}}}
{"type":"message.updated","properties":{"sessionID":"ses_1","info":{"id":"msg_2","role":"assistant","parentID":"msg_1","time":{"created":2}}}}
{"type":"session.idle","properties":{"sessionID":"ses_1"}}
`
		reason = `{"type":"session.error","properties":{"sessionID":"ses_1","error":{"name":"UnknownError","data":` +
			`{"message":"PlatformError: NotFound: FileSystem.realPath (/gone)\n    at hw (/$bunfs/root/chunk.js:71:4288)"}}}}`
		again = `{"type":"session.idle","properties":{"sessionID":"ses_1"}}`
	)
	for name, c := range map[string]struct{ last, says string }{
		"with its reason":  {reason, "PlatformError: NotFound: FileSystem.realPath (/gone)"},
		"without a reason": {again, "OpenCode stopped working without an end of its answer."},
	} {
		var s state
		var ended []runtime.TurnCompleted
		for line := range strings.Lines(begins + c.last) {
			said := bridge.Line{Event: json.RawMessage(line), Sent: true}
			signals, _ := s.translate(said, 5, func(string) string { return "session" })
			for _, signal := range signals {
				if end, is := signal.Change.(runtime.TurnCompleted); is {
					ended = append(ended, end)
				}
			}
		}
		if len(ended) != 1 || ended[0].Status != runtime.TurnFailed || ended[0].Error != c.says {
			t.Errorf("%s: it ended %+v", name, ended)
		}
	}
}
