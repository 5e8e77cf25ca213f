package remote

import (
	"encoding/json"
	"fmt"

	"harness/client"
	"harness/internal/runtime/wire"
)

// enterQueue waits for a message that is queued behind the running turn.
func (w *watcher) enterQueue(id string, position *int) {
	w.queued, w.early = id, map[string]*turnResult{}
	place := 1
	if position != nil {
		place = *position
	}
	if !w.quiet {
		_, _ = fmt.Fprintf(w.notes, "Another turn is running. Your message is number %d in the queue.\n", place)
	}
}

// remember stores the results of turns while the message is queued: one of them may belong to the message.
func (w *watcher) remember(session string, frame *client.Frame) error {
	var line line
	if err := json.Unmarshal(frame.Payload, &line); err != nil {
		return fmt.Errorf("cannot read a notification: %w", err)
	}
	id := line.Params.TurnID
	if line.Method == wire.MethodTurnCompleted {
		id = line.Params.Turn.ID
	}
	result := w.early[id]
	if result == nil {
		result = &turnResult{SessionID: session, TurnID: id}
		w.early[id] = result
	}
	switch {
	case line.Method == wire.MethodItemCompleted && line.Params.Item.Type == wire.ItemAgentMessage:
		result.Text = line.Params.Item.Text
	case line.Method == wire.MethodTurnCompleted:
		result.Status = line.Params.Turn.Status
		if line.Params.Turn.Error != nil {
			result.Error = line.Params.Turn.Error.Message
		}
	}
	return nil
}

// leaveQueue continues with the turn that the queued message became.
func (w *watcher) leaveQueue(frame *client.Frame) error {
	if w.queued == "" {
		return nil
	}
	var now struct {
		Data []struct{ ID, State, Error string }
		Sent *struct{ ID, TurnID string }
	}
	if err := json.Unmarshal(frame.Payload, &now); err != nil {
		return fmt.Errorf("cannot read the queue: %w", err)
	}
	if now.Sent != nil && now.Sent.ID == w.queued {
		return w.sentAs(now.Sent.TurnID)
	}
	for _, one := range now.Data {
		if one.ID == w.queued && one.State == "held" {
			return fmt.Errorf("the queued message was not sent: %s", one.Error)
		}
		if one.ID == w.queued {
			return nil
		}
	}
	return fmt.Errorf("the queued message %s was removed", w.queued)
}

// sentAs watches the turn of the message from now on; it first shows the earlier output of that turn.
func (w *watcher) sentAs(turn string) error {
	early := w.early[turn]
	w.turn, w.queued, w.early = turn, "", nil
	if early == nil {
		return nil
	}
	w.said = early.Text
	if early.Text != "" {
		if err := w.print(early.Text); err != nil {
			return err
		}
		w.endLine()
	}
	if early.Status == "" {
		return nil
	}
	w.result = early
	return errDone
}
