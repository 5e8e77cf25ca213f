package session

import (
	"context"
	"time"

	"harness/database"
	"harness/journal"
	"harness/runtime"
	"harness/stream"
)

// takePiece takes a piece of text: listeners are told at once, the store gets it with the pieces around it. Service.order is held.
func (s *Service) takePiece(runtimeName string, signal runtime.Signal, delta runtime.TextDelta) {
	p := s.speech(runtimeName, signal.Generation)
	if signal.Offset != 0 {
		if signal.Offset <= p.heard {
			return // read again after the process was attached to again
		}
		p.heard = signal.Offset
	}
	p.runtime, p.last = runtimeName, signal
	key := textKey{signal.ThreadID, signal.ItemID, delta.Key}
	text := p.known[key]
	if text == nil {
		text = &knownText{outlives: delta.Outlives}
		p.known[key] = text
	}
	signal.Change = nil // nothing stored changes by it
	a := s.arrive(runtimeName, signal)
	text.turn, p.changed = a.meta.TurnID, true

	literal := signal.Raw[delta.Start+1 : delta.End-1]
	ref := stream.TextRef{Offset: text.length, Length: stream.TextLength(literal), At: delta.Start, Into: delta.Into}
	group := text.group
	if group == nil {
		s.texts.lastGroup++
		a.meta.Text = &stream.TextRef{Group: s.texts.lastGroup, Offset: ref.Offset, At: ref.At, Into: ref.Into}
		group = &textGroup{of: text, first: a, start: delta.Start + 1, end: delta.End - 1}
		text.group, ref.First = group, true
		p.open = append(p.open, group)
	}
	joined := group.first.meta.Text
	ref.Group = joined.Group
	joined.Length += ref.Length
	text.length += ref.Length
	group.text = append(group.text, literal...)

	if group.first.thread.known {
		s.tell(a, ref)
	}
	if p.pieces++; p.pieces == 1 {
		p.since = time.Now()
		select {
		case s.texts.wake <- struct{}{}:
		default: // it is told already
		}
	}
	if p.bytes += len(literal); p.pieces >= textPieces || p.bytes >= textBytes {
		s.flushTexts(signal.Generation)
	}
}

// tell passes a piece on. Of a conversation nobody here knows it is not yet clear who may see it.
func (s *Service) tell(a arrival, ref stream.TextRef) {
	meta := a.meta
	meta.Text = &ref
	event := a.event()
	event.Meta = stream.EncodeMeta(meta)
	if err := s.journal.Tell(context.Background(), event); err != nil {
		s.opts.Logger.Debug().Err(err).Str("session", a.signal.ThreadID).Msg("a piece of text was not told early")
	}
}

// flushTexts queues what was heard of a process's texts: one event for each. Service.order is held.
func (s *Service) flushTexts(generation string) {
	p := s.texts.speeches[generation]
	if p == nil || p.pieces == 0 {
		return
	}
	arrivals := make([]arrival, len(p.open))
	for i, group := range p.open {
		arrivals[i], group.of.group = group.join(), nil
	}
	last := p.last
	p.open, p.pieces, p.bytes, p.last = nil, 0, 0, runtime.Signal{}
	unit := func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		var events []journal.Event
		for _, a := range arrivals {
			event, err := s.apply(ctx, tx, a)
			if err != nil {
				return nil, err
			}
			events = append(events, event...)
		}
		return events, nil
	}
	s.submit(p.runtime, last, s.once(p.runtime, generation, last.Offset, unit))
}

// join is the one arrival a group is stored as.
func (g *textGroup) join() arrival {
	a := g.first
	line := a.signal.Raw
	joined := make([]byte, 0, len(line)+len(g.text))
	joined = append(joined, line[:g.start]...)
	joined = append(joined, g.text...)
	a.signal.Raw = append(joined, line[g.end:]...)
	return a
}

func (s *Service) flushAllTexts() {
	for generation := range s.texts.speeches {
		s.flushTexts(generation)
	}
}

// endTexts forgets the texts a signal ends: its item's, which are complete or begin anew, or those of the turn that is over.
func (s *Service) endTexts(a arrival) {
	p := s.texts.speeches[a.signal.Generation]
	if p == nil {
		return
	}
	id := a.signal.ThreadID
	switch change := a.signal.Change.(type) {
	case runtime.ItemChanged:
		p.end(func(key textKey, _ *knownText) bool { return key.session == id && key.item == change.Item.ID })
	case runtime.TurnCompleted:
		p.end(func(key textKey, text *knownText) bool {
			return key.session == id && text.turn == change.TurnID && !text.outlives
		})
	}
}

// textLoop stores texts in time when nothing else does.
func (s *Service) textLoop(ctx context.Context) {
	timer := time.NewTimer(textWait)
	defer timer.Stop()
	timer.Stop()
	for {
		select {
		case <-s.texts.wake:
		case <-timer.C:
		case <-ctx.Done():
			return
		}
		if wait := s.flushDue(); wait > 0 {
			timer.Reset(wait)
		}
	}
}

// flushDue queues the texts that have waited long enough, and tells when the next ones have, 0 when there are none.
func (s *Service) flushDue() (next time.Duration) {
	s.order.Lock()
	defer s.order.Unlock()
	now := time.Now()
	for generation, p := range s.texts.speeches {
		if p.pieces == 0 {
			continue
		}
		left := textWait - now.Sub(p.since)
		if left <= 0 {
			s.flushTexts(generation)
		} else if next == 0 || left < next {
			next = left
		}
	}
	return next
}
