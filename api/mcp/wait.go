package mcp

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"harness/internal/lib/wake"
	"harness/internal/operations"
	"harness/internal/platform/journal"
	"harness/internal/services/session"
	"harness/stream"
)

type waitInput struct {
	Sessions sessionList `json:"sessions"`
	Until    until       `json:"until"`
	After    int64       `json:"after,omitempty" jsonschema:"pos of an earlier answer: changes behind it count"`
	Timeout  timeout     `json:"timeout_s,omitempty" jsonschema:"seconds, 50 by default"`
}

const (
	// defaultWait is below the minute after which clients give up.
	defaultWait = 50 * time.Second
	// maxWaits is the number of waiting calls of one caller.
	maxWaits = 4
	// maxEvents is the number of events in an answer.
	maxEvents = 50
)

// waits counts the waiting calls of each caller.
type waits struct {
	mu sync.Mutex
	of map[string]int
}

func (w *waits) enter(who string) (leave func(), ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.of[who] >= maxWaits {
		return nil, false
	}
	if w.of == nil {
		w.of = map[string]int{}
	}
	w.of[who]++
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.of[who]--; w.of[who] == 0 {
			delete(w.of, who)
		}
	}, true
}

// wait returns when a session is as requested. It subscribes before it reads, so that no change is missed.
func wait(ctx context.Context, k *call, in waitInput) (any, error) {
	leave, ok := k.server.waits.enter(k.Actor())
	if !ok {
		refused := refuse(http.StatusTooManyRequests, string(operations.CodeLimitReached),
			fmt.Sprintf("%d calls of wait are open; end one", maxWaits))
		refused.Data.(*failure).RetryAfter = 1000 //nolint:forcetypeassert // refuse sets it
		return nil, refused
	}
	defer leave()
	news := wake.New()
	_, cancel := k.server.opts.Journal.Subscribe(func(records []journal.Record) {
		if slices.ContainsFunc(records, func(r journal.Record) bool { return slices.Contains(in.Sessions, r.SessionID) }) {
			news.Set()
		}
	})
	defer cancel()
	lasts := time.Duration(in.Timeout) * time.Second
	if lasts == 0 {
		lasts = defaultWait
	}
	end, beat := time.NewTimer(lasts), time.NewTicker(k.server.opts.Progress)
	defer end.Stop()
	defer beat.Stop()
	var pos int64
	for beats := 1; ; {
		found, err := k.check(ctx, &in, &pos)
		if err != nil || found != nil {
			return found, err
		}
		select {
		case <-news:
		case <-beat.C:
			k.progress(beats)
			beats++
		case <-end.C:
			return object{"reason": "timeout", "pos": pos, "events": []eventView{}}, nil
		case <-k.server.desk.Quit():
			return object{"reason": "timeout", "pos": pos, "events": []eventView{}}, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// check returns the answer if a session is as requested, else nil, and sets pos to the position of what it read.
func (k *call) check(ctx context.Context, in *waitInput, pos *int64) (any, error) {
	first := int64(0)
	for _, id := range in.Sessions {
		if err := k.own(ctx, id); err != nil {
			return nil, err
		}
		read, _, err := k.ops().Read(ctx, id, operations.Reading{Limit: 1, OmitDetails: true})
		if err != nil {
			return nil, err
		}
		if first == 0 {
			first = read.Pos
		}
		var events []eventView
		if in.After > 0 {
			if events, err = k.events(ctx, id, in.After); err != nil {
				return nil, err
			}
		}
		reached, err := k.reached(ctx, read.Session, in.Until, len(events) > 0)
		if err != nil {
			return nil, err
		}
		if reached {
			return object{"reason": in.Until, "session": id, "pos": first, "events": slices.Concat([]eventView{}, events)}, nil
		}
	}
	if *pos = first; in.After == 0 {
		in.After = first // what comes from now on is a change
	}
	return nil, nil //nolint:nilnil // no session is as requested
}

// reached reports whether a session is as requested. Messages that will be sent make it busy.
func (k *call) reached(ctx context.Context, s session.Session, until until, changed bool) (bool, error) {
	switch until {
	case "needs_person":
		return s.Activity.PendingCount > 0, nil
	case "change":
		return changed, nil
	case "mail":
		return k.mailed(ctx, s.ID)
	}
	if s.Activity.ActiveTurnID != "" || s.Activity.State != session.StateIdle && s.Activity.State != session.StateError {
		return false, nil
	}
	queue, err := k.ops().Queued(ctx, s.ID)
	return !slices.ContainsFunc(queue, func(m session.QueuedMessage) bool { return m.State != session.QueuedHeld }), err
}

// eventView is an event of a session in an answer.
type eventView struct {
	Type string `json:"type"`
	Turn string `json:"turn,omitempty"`
	At   string `json:"at"`
	Pos  int64  `json:"pos"`
}

// events returns the newest events of a session after a position.
func (k *call) events(ctx context.Context, sessionID string, after int64) (events []eventView, err error) {
	newest, err := k.server.opts.Journal.Newest(ctx, sessionID)
	if err != nil {
		return nil, err
	}
	records, err := k.server.opts.Journal.ReadSession(ctx, sessionID, max(newest-maxEvents, 0), maxEvents)
	for i := range records {
		record := &records[i]
		at := stream.CursorAfter(record.Pos)
		if at <= after {
			continue
		}
		frames, err := stream.Frames(*record)
		if err != nil {
			return nil, err
		}
		for _, frame := range frames {
			if !frame.Repeats && !frame.Replaceable {
				events = append(events, eventView{frame.Type, record.TurnID, instant(record.Time), at})
			}
		}
	}
	return events[max(0, len(events)-maxEvents):], err
}
