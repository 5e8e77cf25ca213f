// Package search finds sessions by their titles and by the text of their transcripts.
//
// It owns an index that follows the journal in the background, so that no write waits for it. It rereads rows when an
// event names them. It must never know a runtime or a client protocol.
package search

import (
	"context"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"harness/internal/lib/lifecycle"
	"harness/internal/platform/database"
)

// Entries reads transcripts for the index. transcript.Store implements it.
type Entries interface {
	Beginning(ctx context.Context, q database.Querier, sessionID, messageID string, bytes int) (string, bool, error)
}

// Options configure an Index.
type Options struct {
	DB      *database.DB
	Entries Entries
	// Removes reports whether a type of event may remove entries of its session.
	Removes func(eventType string) bool
	// Head returns the position of the last event that this process has seen.
	Head   func() int64
	Logger zerolog.Logger
	// Pause is how long the journal must be idle before the index continues (default 1 s; it waits at most 10 times
	// that). Wait is how long a search waits for the index (default 2 s).
	Pause, Wait time.Duration
}

// Index is the index of one store. Make it with New, then Start it.
type Index struct {
	opts  Options
	loops lifecycle.Loops
	turn  sync.Mutex // held during a step
}

// New makes an index over a migrated store.
func New(opts Options) *Index {
	if opts.Pause <= 0 {
		opts.Pause = time.Second
	}
	if opts.Wait <= 0 {
		opts.Wait = 2 * time.Second
	}
	return &Index{opts: opts}
}

// Start starts to follow the journal. Calling it twice is allowed.
func (x *Index) Start(ctx context.Context) error {
	return x.loops.Start(ctx, func(context.Context) error {
		x.loops.Go(x.follow)
		return nil
	})
}

// Stop stops following. The next Start continues from its position.
func (x *Index) Stop(ctx context.Context) error {
	was, err := x.loops.Stop(ctx, "search index")
	if err != nil || !was {
		return err
	}
	bounded, cancel := context.WithTimeout(ctx, stopPatience)
	defer cancel()
	if err = x.catchUp(bounded, x.opts.Head()); err == nil {
		err = x.clean(bounded, func(time.Duration) {})
	}
	if err != nil && bounded.Err() == nil {
		x.opts.Logger.Warn().Err(err).Msg("the search index may have words of deleted entries until the next start")
	}
	return nil
}

// idleFactor is the ratio of the index's pause to its last work when no query waits.
const idleFactor = 3

// patience is the number of consecutive pauses with new events after which the index catches up anyway.
const patience = 10

func (x *Index) follow(ctx context.Context) {
	ticker := time.NewTicker(x.opts.Pause)
	defer ticker.Stop()
	known, busy := int64(-1), 0
	var next time.Time // time of the next cleaning
	for {
		if head := x.opts.Head(); head == known || busy >= patience {
			busy = 0
			if err := x.catchUp(ctx, 0); err != nil && ctx.Err() == nil {
				x.opts.Logger.Warn().Err(err).Msg("the search index cannot follow the journal; retrying")
			}
			known = x.opts.Head()
			if began := time.Now(); began.After(next) {
				if err := x.clean(ctx, x.pauseAfter(ctx)); err != nil && ctx.Err() == nil {
					x.opts.Logger.Warn().Err(err).Msg("cannot remove words of deleted entries from the search index; retrying")
				}
				next = time.Now().Add(cleanRest * time.Since(began))
			}
		} else {
			known = head
			busy++
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// catchUp indexes until the index includes everything stored up to a position, or everything for 0.
func (x *Index) catchUp(ctx context.Context, upTo int64) error {
	for ctx.Err() == nil {
		began := time.Now()
		there, err := x.step(ctx)
		if err != nil {
			return err
		}
		if there.idle || upTo > 0 && there.walking == 0 && there.pos >= upTo {
			return nil
		}
		if upTo == 0 {
			x.pauseAfter(ctx)(time.Since(began))
		}
	}
	return ctx.Err()
}

// pauseAfter returns a pause that leaves most of the time to other work, unless a query waits for the index.
func (x *Index) pauseAfter(ctx context.Context) func(took time.Duration) {
	return func(took time.Duration) {
		select {
		case <-time.After(idleFactor * took):
		case <-ctx.Done():
		}
	}
}
