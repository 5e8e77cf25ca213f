package processes

import (
	"slices"
	"time"
)

// grant serves the waiters in order: with an existing process, or a slot for a new one. The caller holds mu.
func (s *Set[P]) grant() {
	s.waiting = slices.DeleteFunc(s.waiting, func(one *waiter[P]) bool {
		e := s.entries[one.threadID]
		switch {
		case e == nil && s.options.Max > 0 && len(s.entries) >= s.options.Max:
			return false
		case e == nil:
			e = s.enter(one.threadID)
			s.working.Go(func() { s.start(e) })
		case e.state == Ending:
			return false // its conversation resumes in a new process
		}
		s.keep(e)
		one.granted <- e
		return true
	})
}

// makeRoom ends unused processes, the longest unused first, one per waiter. The caller holds mu.
func (s *Set[P]) makeRoom() {
	ending := 0
	var unused []*entry[P]
	for _, e := range s.entries {
		switch {
		case e.state == Ending:
			ending++
		case e.state == Running && e.uses == 0:
			unused = append(unused, e)
		}
	}
	slices.SortFunc(unused, func(a, b *entry[P]) int { return a.unused.Compare(b.unused) })
	for _, e := range unused[:min(len(unused), max(len(s.waiting)-ending, 0))] {
		s.end(e)
	}
}

// enter adds an entry in the starting state. The caller holds mu.
func (s *Set[P]) enter(threadID string) *entry[P] {
	e := &entry[P]{threadID: threadID, state: Starting, startedAt: time.Now(), ready: make(chan struct{}),
		ended: make(chan struct{})}
	s.entries[threadID] = e
	return e
}

// start starts an entry's process.
func (s *Set[P]) start(e *entry[P]) {
	over := false // the process ended before its start was published
	process, err := s.options.Start(s.ctx, e.threadID, func() {
		s.mu.Lock()
		starting := e.state == Starting
		over = over || starting
		s.mu.Unlock()
		if !starting {
			s.gone(e)
		}
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	e.process, e.err = process, err
	close(e.ready)
	switch {
	case err != nil || over:
		s.freeSlot(e)
	case s.stopped != nil:
		s.end(e)
	default:
		e.state = Running
		s.park(e)
	}
}

// keep adds a use of an entry. The caller holds mu.
func (s *Set[P]) keep(e *entry[P]) {
	e.uses++
	if e.timer != nil {
		e.timer.Stop()
	}
}

// release ends a use of an entry.
func (s *Set[P]) release(e *entry[P]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e.uses--
	s.park(e)
}

// park makes an unused entry evictable, or ends it after the idle time. The caller holds mu.
func (s *Set[P]) park(e *entry[P]) {
	if e.uses > 0 || e.state != Running {
		return
	}
	e.unused = time.Now()
	s.makeRoom()
	if e.state != Running || s.options.Idle <= 0 {
		return
	}
	since := e.unused
	e.timer = time.AfterFunc(s.options.Idle, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if e.uses == 0 && e.state == Running && e.unused.Equal(since) {
			s.end(e)
		}
	})
}

// end ends an entry's process. The caller holds mu.
func (s *Set[P]) end(e *entry[P]) {
	if e.timer != nil {
		e.timer.Stop()
	}
	e.state = Ending
	s.working.Go(func() {
		s.options.End(e.threadID, e.process)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.freeSlot(e)
	})
}

// gone records that an entry's process exited by itself. A caller that ends a process waits for it.
func (s *Set[P]) gone(e *entry[P]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.state == Running || e.over {
		s.freeSlot(e)
	}
}

// freeSlot removes an entry and gives its slot to the next waiter. The caller holds mu.
func (s *Set[P]) freeSlot(e *entry[P]) {
	if s.entries[e.threadID] != e {
		return // it is already removed
	}
	if e.timer != nil {
		e.timer.Stop()
	}
	e.state = Ending
	delete(s.entries, e.threadID)
	close(e.ended)
	if s.stopped == nil {
		s.grant()
		s.makeRoom()
	}
}
