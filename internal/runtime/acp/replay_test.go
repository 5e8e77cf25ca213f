package acp

import (
	"encoding/json"
	"maps"
	"testing"

	"harness/internal/runtime"
	"harness/internal/runtime/wire"
)

// A replay of the stored lines of every recording gives the same messages, for all answers and all ends of the
// process. Without the recorded start of a turn it gives none.
func TestReplayRepeatsRecordedMessages(t *testing.T) {
	t.Parallel()
	for _, profile := range Shipped() {
		compared := 0
		for name, all := range recordings(t, profile.Name) {
			lines, want := kept(t, profile, all)
			for thread, lines := range lines {
				got := messagesOf(profile.Replay(thread, "/home/dev/work", lines))
				if !maps.Equal(want[thread], got) {
					t.Errorf("%s %s: replayed %q, want %q", profile.Name, name, got, want[thread])
				}
				compared += len(got)
				part := messagesOf(profile.Replay(thread, "/home/dev/work", lines[1:]))
				for id, text := range part {
					if want[thread][id] != text {
						t.Errorf("%s %s: of a part %q was replayed, want %q", profile.Name, name, text, want[thread][id])
					}
				}
				left := append([]json.RawMessage{lines[0], json.RawMessage(`{"omittedBytes":5000000}`)}, lines[1:]...)
				for id, text := range messagesOf(profile.Replay(thread, "/home/dev/work", left)) {
					if want[thread][id] != text {
						t.Errorf("%s %s: after a line left out %q was replayed, want %q", profile.Name, name, text,
							want[thread][id])
					}
				}
			}
		}
		if compared < 10 {
			t.Errorf("%s: only %d messages were compared", profile.Name, compared)
		}
	}
}

// kept returns the lines of a recording that the server stores for each session, and its messages.
func kept(t *testing.T, profile Profile, all []recorded) (map[string][]json.RawMessage, map[string]map[string]string) {
	t.Helper()
	lines, want := map[string][]json.RawMessage{}, map[string]map[string]string{}
	p := &player{t: t, profile: profile}
	for _, r := range all {
		read, said, proc := len(p.lines), len(p.signals), p.proc
		p.play(r)
		about, begun := "", map[string]json.RawMessage{}
		for _, signal := range p.signals[said:] {
			if turn, is := signal.Change.(runtime.TurnStarted); is {
				native, _ := p.state.turn(turn.TurnID)
				begun[signal.ThreadID] = beginning(turn.TurnID, native)
			} else if about == "" {
				about = signal.ThreadID
			}
		}
		if proc == p.proc && len(p.lines) > read {
			l := p.lines[read]
			if of := p.state.Conversations[l.params().SessionID]; about == "" && of != nil {
				about = of.Thread
			}
			raw, err := json.Marshal(l)
			if err != nil {
				t.Fatal(err)
			}
			if about != "" {
				lines[about] = append(lines[about], raw)
			}
		}
		for thread, line := range begun { // a message that waited for the line is sent after it
			lines[thread] = append(lines[thread], line)
		}
	}
	for thread := range lines {
		want[thread] = map[string]string{}
	}
	for _, signal := range p.signals {
		if id, text := spoken(signal); id != "" {
			want[signal.ThreadID][id] = text
		}
	}
	return lines, want
}

func messagesOf(signals []runtime.Signal) map[string]string {
	all := map[string]string{}
	for _, signal := range signals {
		if id, text := spoken(signal); id != "" {
			all[id] = text
		}
	}
	return all
}

// spoken returns the message of the agent that a signal completes, if any.
func spoken(signal runtime.Signal) (id, text string) {
	if signal.Method != wire.MethodItemCompleted {
		return "", ""
	}
	item := wire.Members(wire.Members(signal.Params, "item")[0], "type", "id", "text")
	if wire.Text(item[0]) != wire.ItemAgentMessage {
		return "", ""
	}
	return wire.Text(item[1]), wire.Text(item[2])
}
