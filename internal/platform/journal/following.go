package journal

import (
	"context"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"harness/internal/lib/wake"
)

// Following keeps a service's in-memory state in step with its rows: all servers of a store change the rows, and rows
// expire. All members are required.
type Following struct {
	// What names the rows in log messages. EventPrefix is the prefix of the types of events about them.
	What, EventPrefix string
	// Expire ends the expired rows, and returns the time until the next one expires, at most LongestFollow.
	Expire func() time.Duration
	// Reread reads the rows again.
	Reread func(ctx context.Context) error
	Logger zerolog.Logger
}

// LongestFollow is how long Following waits when no row expires.
const LongestFollow = time.Hour

// rereadAgain is the delay before a failed reread is retried.
const rereadAgain = time.Second

// Follow reads the rows, and calls spawn with a function that follows their changes until its context ends.
func (f *Following) Follow(ctx context.Context, j *Journal, spawn func(func(context.Context))) error {
	news := wake.New()
	_, unsubscribe := j.Subscribe(func(records []Record) { f.signal(records, news) })
	if err := f.Reread(ctx); err != nil {
		unsubscribe()
		return err
	}
	spawn(func(ctx context.Context) {
		defer unsubscribe()
		f.run(ctx, news)
	})
	return nil
}

// signal reports that rows changed. It never blocks.
func (f *Following) signal(records []Record, news wake.Signal) {
	for i := range records {
		if strings.HasPrefix(records[i].Type, f.EventPrefix) {
			news.Set()
			return
		}
	}
}

// run ends expired rows, and rereads the rows after changes.
func (f *Following) run(ctx context.Context, news <-chan struct{}) {
	for stale := false; ; {
		wait := f.Expire()
		if stale {
			wait = min(wait, rereadAgain)
		}
		timer := time.NewTimer(wait)
		select {
		case <-news:
			stale = true
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
		timer.Stop()
		if !stale {
			continue
		}
		err := f.Reread(ctx)
		if stale = err != nil; stale && ctx.Err() == nil {
			f.Logger.Warn().Err(err).Dur("again_in", rereadAgain).Msg("cannot read the " + f.What + " that were changed")
		}
	}
}
