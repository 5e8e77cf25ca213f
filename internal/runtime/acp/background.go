package acp

import (
	"context"
	"time"

	"harness/internal/runtime"
	"harness/internal/runtime/acp/words"
	"harness/internal/runtime/process/commands"
)

// quietFor is how long after the end of a background command the agent must not start a turn because of it.
const quietFor = time.Minute

// ListBackground implements runtime.Backgrounder. The protocol has no method for it, so it searches the agent's
// processes.
func (r *Runtime) ListBackground(_ context.Context, in runtime.ResumeThread) ([]runtime.BackgroundTask, error) {
	return r.commands().Tasks(in.NativeID)
}

// commands returns the commands of the agent. Those behind the bridges have a variable with their conversation.
func (r *Runtime) commands() commands.Process {
	status := r.process.Status()
	return commands.Process{Generation: status.Generation, Agent: status.PID,
		Variables: []string{"CLAUDE_CODE_SESSION_ID", "CODEX_THREAD_ID"}}
}

// EndBackground implements runtime.Backgrounder. It cancels the turn that the agent would start about the end.
func (r *Runtime) EndBackground(ctx context.Context, in runtime.ResumeThread, id string) error {
	if p := protocolOf(r.process.Current()); p != nil && in.NativeID != "" {
		p.mu.Lock()
		p.quiet[in.NativeID] = time.Now().Add(quietFor)
		p.mu.Unlock()
	}
	return r.commands().End(ctx, id)
}

// keepQuiet cancels the agent's own activity in a conversation that must be quiet. The caller holds mu.
func (p *protocol) keepQuiet(l *line, at time.Time) {
	if l.Method != words.Update || len(p.quiet) == 0 {
		return
	}
	said := l.params()
	until, quiet := p.quiet[said.SessionID]
	if _, loads := p.loading[said.SessionID]; !quiet || loads {
		return
	}
	if at.After(until) || p.translator.state.Conversations[said.SessionID] != nil || p.reserved[said.SessionID] {
		delete(p.quiet, said.SessionID)
		return
	}
	switch said.Update.Kind {
	case "agent_message_chunk", "agent_thought_chunk", "tool_call":
		raw, err := written(message{Version: "2.0", Method: words.Cancel, Params: map[string]string{"sessionId": said.SessionID}})
		if err != nil {
			return // two strings always encode
		}
		delete(p.quiet, said.SessionID)
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), quietFor)
			defer cancel()
			_ = p.Send(ctx, raw) // it fails with the process, which ends the work
		}()
	}
}
