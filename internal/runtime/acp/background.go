package acp

import (
	"context"
	"time"

	"harness/internal/runtime"
	"harness/internal/runtime/process/commands"
)

// quietFor is how long after the end of a background command an agent may not start a turn because of it.
const quietFor = time.Minute

// ListBackground implements runtime.Backgrounder. The protocol has no words for it: the processes of the agent are looked
// through.
func (r *Runtime) ListBackground(_ context.Context, in runtime.ResumeThread) ([]runtime.BackgroundTask, error) {
	return r.commands().Tasks(in.NativeID)
}

// commands are the commands of the agent. Those behind the bridges name the conversation of a command by a variable.
func (r *Runtime) commands() commands.Process {
	status := r.process.Status()
	return commands.Process{Generation: status.Generation, Agent: status.PID,
		Variables: []string{"CLAUDE_CODE_SESSION_ID", "CODEX_THREAD_ID"}}
}

// EndBackground implements runtime.Backgrounder. An agent that is notified of the end would begin a turn of its
// own about it: that turn is cancelled.
func (r *Runtime) EndBackground(ctx context.Context, in runtime.ResumeThread, id string) error {
	if p := protocolOf(r.process.Current()); p != nil && in.NativeID != "" {
		p.mu.Lock()
		p.quiet[in.NativeID] = time.Now().Add(quietFor)
		p.mu.Unlock()
	}
	return r.commands().End(ctx, id)
}

// keepQuiet cancels what an agent does without a turn in a conversation that is to be quiet. mu is held.
func (p *protocol) keepQuiet(l *line, at time.Time) {
	if l.Method != methodUpdate || len(p.quiet) == 0 {
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
		raw, err := written(message{Version: "2.0", Method: methodCancel, Params: map[string]string{"sessionId": said.SessionID}})
		if err != nil {
			return // two texts encode
		}
		delete(p.quiet, said.SessionID)
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), quietFor)
			defer cancel()
			_ = p.Send(ctx, raw) // it fails with the process, and the work ends with that
		}()
	}
}
