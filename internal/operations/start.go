package operations

import (
	"context"

	"harness/internal/services/session"
)

// Starter opens sessions with their first message.
type Starter struct {
	opener *Opener
	turns  *Turns
	reader *Reader
}

// Started is a session that was opened and given its first message.
type Started struct {
	Session session.Session
	Sent    session.Sent
	// Unsent is why the message was not sent. The session exists: the message can be sent again.
	Unsent error
}

// Start opens a session and sends its first message. An invalid message opens none. Its images are data URLs, because
// uploads belong to a session.
func (s *Starter) Start(ctx context.Context, in session.Create, message session.Message) (started Started, err error) {
	if err := checkMessage(message); err != nil {
		return started, err
	}
	if err := checkImages(message.Images); err != nil {
		return started, err
	}
	if started.Session, err = s.opener.Create(ctx, in); err != nil {
		return started, err
	}
	id := started.Session.ID
	if started.Sent, started.Unsent = s.turns.Send(ctx, id, message); started.Unsent != nil {
		return started, nil //nolint:nilerr // the result has it
	}
	// With the turn and the title that it has now; without them if the store refuses this read.
	if detail, _, err := s.reader.Read(ctx, id, Reading{Limit: 1}); err == nil {
		started.Session = detail.Session
	}
	return started, nil
}
