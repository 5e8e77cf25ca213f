package manager

import (
	"context"
	"time"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/stream"
)

// onlyDeltas reports whether a batch changes no stored state: it contains only text deltas, or only moves the
// position.
func onlyDeltas(batch runtime.Batch) bool {
	for _, signal := range batch.Signals {
		if _, is := signal.Change.(runtime.TextDelta); !is {
			return false
		}
	}
	return true
}

// acceptDeltas publishes a batch of deltas immediately, and stores it together with its neighbors. Service.order is
// held.
func (s *Service) acceptDeltas(runtimeName string, batch runtime.Batch, natives []journal.Event) {
	p := s.textBuffer(runtimeName, batch.Generation)
	for _, signal := range batch.Signals {
		if delta, ok := signal.Change.(runtime.TextDelta); ok {
			s.acceptDelta(p, signal, delta)
		}
	}
	p.natives = append(p.natives, natives...)
	state := batch.State
	if state == nil {
		state = p.last.State
	}
	p.last = runtime.Batch{Generation: batch.Generation, Offset: batch.Offset, State: state, Stored: batch.Stored}
	if p.batches++; p.batches == 1 {
		p.since = time.Now()
		s.texts.wake.Set()
	}
	if p.batches >= textBatches || p.bytes >= textBytes {
		s.flushTexts(batch.Generation)
	}
}

// acceptDelta publishes a delta and buffers it for the store.
func (s *Service) acceptDelta(p *textBuffer, signal runtime.Signal, delta runtime.TextDelta) {
	a, text, ref := s.appendDelta(p, signal, delta)
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
	literal := signal.Raw[delta.Start+1 : delta.End-1]
	group.text = append(group.text, literal...)
	p.bytes += len(literal)
	if group.first.thread.Stored {
		s.publishEphemeral(a, ref)
	}
}

// standaloneDelta is a delta stored separately, because its line contained other signals. Service.order is held.
func (s *Service) standaloneDelta(runtimeName string, signal runtime.Signal, delta runtime.TextDelta) arrival {
	a, _, ref := s.appendDelta(s.textBuffer(runtimeName, signal.Generation), signal, delta)
	s.texts.lastGroup++
	ref.Group = s.texts.lastGroup
	a.meta.Text = &ref
	return a
}

// appendDelta records the growth of a text, and the delta's position in it.
func (s *Service) appendDelta(p *textBuffer, signal runtime.Signal, delta runtime.TextDelta) (arrival, *knownText,
	stream.TextRef) {
	key := textKey{signal.ThreadID, signal.ItemID, delta.Key}
	text := p.known[key]
	if text == nil {
		text = &knownText{outlives: delta.Outlives}
		p.known[key] = text
	}
	signal.Change = nil // it changes no stored state
	a := s.prepareSignal(p.runtime, signal)
	text.turn, p.changed = a.meta.TurnID, true
	ref := stream.TextRef{Offset: text.length, Length: stream.TextLength(signal.Raw[delta.Start+1 : delta.End-1]),
		At: delta.Start, Into: delta.Into}
	text.length += ref.Length
	return a, text, ref
}

// publishEphemeral publishes a delta before it is stored. It skips unknown conversations: the server does not know
// their readers yet.
func (s *Service) publishEphemeral(a arrival, ref stream.TextRef) {
	meta := a.meta
	meta.Text = &ref
	event := a.event()
	event.Known = &meta // it is not stored
	if err := s.journal.PublishEphemeral(context.Background(), event); err != nil {
		s.opts.Logger.Debug().Err(err).Str("session", a.signal.ThreadID).Msg("live text delta dropped")
	}
}

// flushTexts queues the texts received from a process, one event for each, and the offset after them. Service.order is
// held.
func (s *Service) flushTexts(generation string) {
	p := s.texts.buffers[generation]
	if p == nil || p.batches == 0 {
		return
	}
	arrivals := make([]arrival, len(p.open))
	for i, group := range p.open {
		arrivals[i], group.of.group = group.join(), nil
	}
	last, natives := p.last, p.natives
	p.open, p.natives, p.batches, p.bytes, p.last = nil, nil, 0, 0, runtime.Batch{}
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
	s.submit(p.runtime, last, s.once(p.runtime, last, s.after(natives, unit)))
}

// join merges a group into a single arrival, which is then stored.
func (g *textGroup) join() arrival {
	a := g.first
	line := a.signal.Raw
	joined := make([]byte, 0, len(line)+len(g.text))
	joined = append(joined, line[:g.start]...)
	joined = append(joined, g.text...)
	a.signal.Raw = append(joined, line[g.end:]...)
	layout := a.meta.Layout.Moved(g.start, len(g.text)-(g.end-g.start))
	a.meta.Layout = &layout
	return a
}

func (s *Service) flushAllTexts() {
	for generation := range s.texts.buffers {
		s.flushTexts(generation)
	}
}

// endTexts drops the texts that a signal ends. When an item is complete or starts again, its texts end; when a turn
// ends, all its texts do.
func (s *Service) endTexts(a arrival) {
	p := s.texts.buffers[a.signal.Generation]
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

// textLoop stores texts that are due if no other signal has done so.
func (s *Service) textLoop(ctx context.Context) {
	s.texts.wake.Loop(ctx, func(context.Context) time.Duration { return s.flushDue() })
}

// flushDue queues the texts that are due, and returns the time until the next ones are due, 0 for none.
func (s *Service) flushDue() (next time.Duration) {
	s.order.Lock()
	defer s.order.Unlock()
	now := time.Now()
	for generation, p := range s.texts.buffers {
		if p.batches == 0 {
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
