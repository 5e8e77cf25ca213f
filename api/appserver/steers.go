package appserver

import (
	"context"
	"slices"
	"strings"

	"harness/api/door"
	"harness/internal/operations"
	"harness/internal/runtime/wire"
	"harness/internal/services/session"
	"harness/transcript"
)

// steer is a message that this client added to a running turn.
type steer struct {
	turn    string
	message session.Message
	note    *door.Note
}

// addSteer remembers a message of a turn until the client adds one to another turn.
func (f *follow) addSteer(one steer) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.steers = append(slices.DeleteFunc(f.steers, func(before steer) bool { return before.turn != one.turn }), one)
}

// takeSteers returns the messages that the client added to a turn, once.
func (f *follow) takeSteers(turn string) (of []steer) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, one := range f.steers {
		if one.turn == turn {
			of = append(of, one)
		}
	}
	f.steers = nil
	return of
}

// sendUnanswered sends the messages of a stopped turn again that the model did not answer in it: its runtime dropped
// them, or kept them for the next turn. The TUI's user stops a turn so that they are carried out now, and the TUI itself
// repeats only messages without an item.
func (c *call) sendUnanswered(ctx context.Context, f *follow, steers []steer) {
	detail, _, err := c.ops().Read(ctx, c.session, operations.Reading{Limit: operations.MaxWindow})
	if err != nil {
		c.warn(c.session, "It is not known whether the agent read your last message: "+c.failed(ctx, err).Message)
		return
	}
	unanswered := unansweredIn(detail.Transcript, steers[0].turn)
	for _, one := range steers {
		text := strings.TrimSpace(one.message.Text)
		at := slices.Index(unanswered, text)
		if at < 0 {
			continue
		}
		unanswered = slices.Delete(unanswered, at, at+1)
		f.expectNot(text) // the echo of the first, which may have come
		f.expect(text)
		if one.message.Key != "" {
			one.message.Key += " after its turn"
		}
		if _, err := c.say(ctx, one.message, one.note); err != nil {
			f.expectNot(text)
			c.warn(c.session, "The agent did not answer “"+text+"”; send it again: "+c.failed(ctx, err).Message)
		}
	}
}

// unansweredIn returns the texts of the messages at the end of a turn: nothing follows them.
func unansweredIn(entries []transcript.Entry, turn string) (texts []string) {
	for _, entry := range entries {
		switch {
		case entry.TurnID != turn || entry.Role == "system": // the server noted who stopped it
		case entry.Type != wire.ItemUserMessage:
			texts = nil
		default:
			texts = append(texts, strings.TrimSpace(entry.Whole().Content))
		}
	}
	return texts
}

// isUnread reports whether an entry is a message that a runtime dropped with its turn.
func isUnread(entry transcript.Entry) bool {
	return entry.Type == wire.ItemUserMessage && entry.Status == transcript.Canceled
}
