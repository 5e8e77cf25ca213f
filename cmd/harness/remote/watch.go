package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"harness/client"
	"harness/internal/runtime/wire"
)

// errDone stops following a turn that has ended.
var errDone = errors.New("the turn is over")

// watcher shows the events of a session as they happen, and the outcome of its turn.
type watcher struct {
	*commands
	out, notes io.Writer
	texts      client.Texts
	// decide answers requests; if nil, they are only printed.
	decide *decider
	// start is called when the stream is open, before any output; it returns the turn to wait for, "" for none.
	start func(ctx context.Context) (turnID string, err error)
	turn  string
	// queued is the message that waits for the running turn, "" for none. early are the turns that ended during that
	// wait, because the server may report only after a turn's end which message it was.
	queued string
	early  map[string]*turnResult
	// shown are the answers whose text arrived as deltas.
	shown  map[string]bool
	midway bool
	// failed are the commands of the turn that ended with an exit code other than 0.
	failed []string
	// said is the agent's last message.
	said   string
	result *turnResult
}

// turnResult is the outcome of a turn.
type turnResult struct {
	SessionID string `json:"sessionId"`
	TurnID    string `json:"turnId"`
	// Status is completed, failed or interrupted.
	Status string `json:"status"`
	// Text is the agent's last message.
	Text  string `json:"text"`
	Error string `json:"error,omitempty"`
}

// line is a notification of a runtime.
type line struct {
	Method string
	Params struct {
		TurnID string
		Turn   struct {
			ID, Status string
			Error      *struct{ Message string }
		}
		Item struct {
			ID, Type, Text, Command string
			ExitCode                *int
		}
	}
}

// follow watches a session until its turn ends; without a turn, until ctx ends.
func (w *watcher) follow(ctx context.Context, api *client.Client, session, after string) error {
	w.shown = map[string]bool{}
	lost := func(err error) {
		if !w.quiet {
			_, _ = fmt.Fprintf(w.notes, "Connection lost (%v). Resuming.\n", err)
		}
	}
	err := api.Follow(ctx, client.FollowOptions{Session: session, After: after, Lost: lost},
		func(frame client.Frame) error { return w.frame(ctx, session, frame) })
	if errors.Is(err, errDone) {
		return nil
	}
	return remedied(err)
}

func (w *watcher) frame(ctx context.Context, session string, frame client.Frame) error {
	if w.output == "jsonl" {
		if _, err := fmt.Fprintln(w.out, string(frame.Raw)); err != nil {
			return err
		}
	}
	if frame.Missed() {
		_, _ = fmt.Fprintln(w.notes, "Some events have expired; harness sessions show prints all entries.")
	}
	switch frame.Type {
	case "resumed", "gap", "ahead":
		if start := w.start; start != nil {
			w.start = nil
			var err error
			w.turn, err = start(ctx)
			return err
		}
	case "notification":
		if w.queued != "" {
			return w.remember(session, &frame)
		}
		return w.notification(session, &frame)
	case "message_queue_updated":
		return w.leaveQueue(&frame)
	case "transcript_updated":
		return w.retrying(&frame)
	case "approval", "tool_user_input_requested", "tool_call_requested":
		return w.request(ctx, frame)
	case "session_deleted": // all clients receive it
		if frame.ThreadID != session {
			return nil
		}
		return fmt.Errorf("session %s was deleted", session)
	}
	return nil
}

func (w *watcher) notification(session string, frame *client.Frame) error {
	if item, method, added := w.texts.Added(frame); method == wire.MethodMessageDelta && added != "" {
		w.shown[item] = true
		return w.print(added)
	}
	var line line
	if err := json.Unmarshal(frame.Payload, &line); err != nil {
		return fmt.Errorf("cannot read a notification: %w", err)
	}
	switch line.Method {
	case wire.MethodItemStarted:
		if line.Params.Item.Type == wire.ItemCommand && w.output == "" && !w.quiet {
			w.endLine()
			_, _ = fmt.Fprintln(w.notes, w.painted(w.notes, dim, "$ "+oneLine(line.Params.Item.Command, 200)))
		}
	case wire.MethodItemCompleted:
		if code := line.Params.Item.ExitCode; code != nil && *code != 0 && line.Params.Item.Type == wire.ItemCommand {
			w.failed = append(w.failed, fmt.Sprintf("%s (exit code %d)", oneLine(line.Params.Item.Command, 200), *code))
		}
		if line.Params.Item.Type != wire.ItemAgentMessage {
			return nil
		}
		w.said = line.Params.Item.Text
		if !w.shown[line.Params.Item.ID] {
			if err := w.print(line.Params.Item.Text); err != nil {
				return err
			}
		}
		w.endLine()
	case wire.MethodTurnCompleted:
		if w.turn == "" || line.Params.Turn.ID != w.turn {
			return nil
		}
		w.endLine()
		w.result = &turnResult{SessionID: session, TurnID: w.turn, Status: line.Params.Turn.Status, Text: w.said}
		if line.Params.Turn.Error != nil {
			w.result.Error = line.Params.Turn.Error.Message
		}
		return errDone
	}
	return nil
}

// retrying prints each attempt of the turn to reach its model.
func (w *watcher) retrying(frame *client.Frame) error {
	var body struct {
		Entry struct{ TurnID, Type, Status, Content string }
	}
	if err := json.Unmarshal(frame.Payload, &body); err != nil {
		return fmt.Errorf("cannot read a changed entry: %w", err)
	}
	entry := body.Entry
	if entry.Type != "turn.retrying" || entry.Status != "error" || w.turn != "" && entry.TurnID != w.turn ||
		w.quiet || w.output == "jsonl" {
		return nil
	}
	w.endLine()
	_, err := fmt.Fprintln(w.notes, w.painted(w.notes, dim, oneLine(entry.Content, 500)))
	return err
}

func (w *watcher) print(text string) error {
	if w.output != "" {
		return nil
	}
	w.midway = true
	if w.terminal(w.out) {
		text = harmless(text)
	}
	_, err := io.WriteString(w.out, text)
	return err
}

func (w *watcher) endLine() {
	if w.midway {
		_, _ = fmt.Fprintln(w.out)
	}
	w.midway = false
}

func (w *watcher) request(ctx context.Context, frame client.Frame) error {
	w.endLine()
	if w.decide == nil {
		var asked struct{ Summary string }
		if err := json.Unmarshal(frame.Payload, &asked); err != nil {
			return fmt.Errorf("cannot read a request: %w", err)
		}
		if w.output == "" {
			_, _ = fmt.Fprintf(w.notes, "pending: %s\n", harmless(asked.Summary))
		}
		return nil
	}
	err := w.answer(ctx, frame)
	if errors.Is(err, errNoAnswer) {
		w.decide.rule = "decline" // as without a terminal
		err = w.answer(ctx, frame)
	}
	return err
}

// answer answers a request.
func (w *watcher) answer(ctx context.Context, frame client.Frame) error {
	switch frame.Type {
	case "approval":
		var asked client.Approval
		if err := json.Unmarshal(frame.Payload, &asked); err != nil {
			return fmt.Errorf("cannot read an approval: %w", err)
		}
		return w.decide.approval(ctx, asked)
	case "tool_user_input_requested":
		return w.decide.questions(ctx, frame.Payload)
	default:
		return w.decide.toolCall(ctx, frame.Payload)
	}
}

// ended prints the turn's result for programs, and returns the error for its outcome.
func (w *watcher) ended() error {
	if w.output == "json" {
		encoded, err := json.Marshal(w.result)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintln(w.out, string(encoded)); err != nil {
			return err
		}
	}
	if len(w.failed) > 0 && w.output == "" && !w.quiet {
		_, _ = fmt.Fprintf(w.notes, "%d of its commands failed: %s\n", len(w.failed), strings.Join(w.failed, "; "))
	}
	switch w.result.Status {
	case "completed":
		return nil
	case "interrupted":
		return &ExitError{ExitTurnInterrupted, errors.New("the turn was interrupted")}
	}
	return &ExitError{ExitTurnFailed, fmt.Errorf("the turn %s: %s", w.result.Status, w.result.Error)}
}
