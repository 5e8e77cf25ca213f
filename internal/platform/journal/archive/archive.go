// Package archive keeps ranges of the journal outside the database, so that pruned events can still be read. It stores
// them as compressed lines of JSON in a bucket or a folder.
//
// It owns the objects, their format, and the list of ranges. It must never know what an event means or when events are
// pruned.
package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/rs/zerolog"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
)

// Files keeps objects; *objectstore.Store and Folder implement it.
type Files interface {
	// Put stores a new object. If the object exists, Put leaves it unchanged and returns no error.
	Put(ctx context.Context, name string, content []byte) error
	// Open reads an object; it returns fs.ErrNotExist for a missing one. Remove deletes an object; a missing one is no
	// error.
	Open(ctx context.Context, name string) (io.ReadSeekCloser, error)
	Remove(ctx context.Context, name string) error
	// Each visits the objects whose names start with begins, in order of their names.
	Each(ctx context.Context, begins string, visit func(name string, changed time.Time) error) error
}

// The defaults of the limits that close a range.
const (
	defaultEvents = 20_000
	defaultBytes  = 64 << 20
	defaultAge    = 24 * time.Hour
)

// Options configure an Archiver. Journal, DB and Files are required.
type Options struct {
	Journal *journal.Journal
	DB      *database.DB
	Files   Files
	Logger  zerolog.Logger
	// Turn reports whether this process is the one, of several, that archives; nil means always. Two at once do no
	// harm.
	Turn func(ctx context.Context) (bool, error)
	// Stored is called for each archived range, with its number of events and the bytes of its object. nil: not
	// called.
	Stored func(events, bytes int64)
	// Events, Bytes (of lines) and Age (of its first event) close a range: 20,000, 64 MiB and 24 h when 0.
	Events int64
	Bytes  int
	Age    time.Duration
	// Now is time.Now when nil.
	Now func() time.Time
}

// Archiver stores ranges of the journal as they close. It is not safe for concurrent use.
type Archiver struct{ opts Options }

// New makes an Archiver.
func New(opts Options) *Archiver {
	if opts.Turn == nil {
		opts.Turn = func(context.Context) (bool, error) { return true, nil }
	}
	if opts.Stored == nil {
		opts.Stored = func(int64, int64) {}
	}
	if opts.Events <= 0 {
		opts.Events = defaultEvents
	}
	if opts.Bytes <= 0 {
		opts.Bytes = defaultBytes
	}
	if opts.Age <= 0 {
		opts.Age = defaultAge
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	return &Archiver{opts}
}

// Run archives the closed ranges, and redacts deleted sessions in archived ranges.
func (a *Archiver) Run(ctx context.Context) error {
	if turn, err := a.opts.Turn(ctx); err != nil || !turn {
		return err
	}
	if err := errors.Join(a.redact(ctx), a.clean(ctx)); err != nil {
		return err
	}
	for {
		closed, err := a.next(ctx)
		if err != nil || closed == nil {
			return err
		}
		if err := a.store(ctx, closed); errors.Is(err, errOvertaken) {
			return nil // the next run archives the rest
		} else if err != nil {
			return err
		}
	}
}

// next reads the range after the last one; nil if that range is not closed yet.
func (a *Archiver) next(ctx context.Context) (*object, error) {
	from, err := journal.ArchivedBelow(ctx, a.opts.DB.Read())
	if err != nil {
		return nil, err
	}
	_, head, err := a.opts.Journal.Bounds(ctx)
	if err != nil || head < from {
		return nil, err
	}
	if head-from+1 < a.opts.Events {
		first, err := a.opts.Journal.Read(ctx, journal.Query{After: from - 1, Limit: 1, Short: true})
		if err != nil || len(first) == 0 || a.opts.Now().Sub(time.UnixMilli(first[0].Time)) < a.opts.Age {
			return nil, err
		}
	}
	closed, err := newObject(from)
	if err != nil {
		return nil, err
	}
	for closed.next <= head && closed.next-from < a.opts.Events && closed.bytes < a.opts.Bytes {
		if err := a.read(ctx, closed, min(head, from+a.opts.Events-1)); err != nil {
			return nil, err
		}
	}
	return closed, nil
}

// page is how many events one read returns: memory holds one page of ordinary events, or one long event.
const page = 64

// read adds the next page of events, up to a position and until the range is long enough.
func (a *Archiver) read(ctx context.Context, into *object, to int64) error {
	limit := int(min(page, to-into.next+1))
	records, err := a.opts.Journal.Read(ctx, journal.Query{After: into.next - 1, Limit: limit, Short: true})
	if err != nil {
		return err
	}
	if len(records) == 0 {
		return fmt.Errorf("event %d is missing in the journal", into.next)
	}
	for i := range records {
		if len(records[i].Payload) == 0 { // the payload is too long for its row
			whole, err := a.opts.Journal.Read(ctx, journal.Query{After: records[i].Pos - 1, Limit: 1})
			if err != nil || len(whole) == 0 {
				return errors.Join(err, errOvertaken)
			}
			records[i] = whole[0]
		}
		if err := into.add(&records[i]); err != nil || into.bytes >= a.opts.Bytes {
			return err
		}
	}
	return nil
}
