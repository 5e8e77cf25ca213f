package manager

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	goruntime "runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/services/session"
	"harness/internal/services/session/store"
	"harness/stream"
	"harness/transcript"
)

// upserts joins concurrent single entries of clients into one unit. While one transaction commits, the next upserts
// have to wait anyway. Together they need only a few statements; separately, each needs four. Upserts of several
// entries have a separate queue (bulkUpserts).
type upserts struct {
	many *semaphore.Weighted // maxManyEntries

	mu   sync.Mutex
	open *upsertBatch // submitted to the writer, and still open
	// company is how many upserts were in progress when the last unit ended; running is how many of them the open unit
	// lacks. Clients that write entries one by one send their next one shortly. A unit of all of them costs little
	// more than one of half. If a fast commit overlaps the next unit, the halves alternate.
	company, running int
}

// Upserter stores the entries of clients in transcripts.
type Upserter struct {
	db      *database.DB
	journal *journal.Journal
	entries transcript.Store
	nodeID  string
	now     func() int64 // ms
	upserts upserts
	bulk    *bulkUpserts
}

func newUpserter(opts Options, now func() int64) *Upserter {
	return &Upserter{db: opts.DB, journal: opts.Journal, nodeID: opts.NodeID, now: now, bulk: newBulkUpserts(),
		upserts: upserts{many: semaphore.NewWeighted(maxManyEntries)}}
}

// maxManyEntries limits the encoded entries of queued upserts of several entries. Further callers wait before they
// encode.
const maxManyEntries = 2048

// maxGathered and maxGatheredBytes limit the single entries and the event bytes of one unit, unless one entry alone
// exceeds them. The journal puts several units into one transaction.
const (
	maxGathered      = 256
	maxGatheredBytes = 512 << 10
)

// upsert is one caller's change of one transcript.
type upsert struct {
	ctx       context.Context //nolint:containedctx // its caller's, who may leave while it waits
	sessionID string
	entries   []transcript.Entry
	events    []journal.Event // the caller encodes them: the writer has no time for it
	bytes     int             // of the events
	weight    int64           // of the admitted entries
	err       error           // why this upsert alone is refused, set after its unit ran
	result    chan error
	// stored is the number of stored entries of an upsert of several; the next field is the row that completes it.
	stored int
	row    string
}

// encode makes the events and returns each entry as JSON.
func (u *upsert) encode(at int64) (sent []json.RawMessage) {
	u.events, sent = make([]journal.Event, len(u.entries)), make([]json.RawMessage, len(u.entries))
	for i := range u.entries {
		if i%minBulk == minBulk-1 {
			goruntime.Gosched() // let single upserts run
		}
		u.events[i], sent[i] = session.TranscriptUpdated(u.sessionID, &u.entries[i], at, false)
		u.bytes += len(u.events[i].Payload)
	}
	return sent
}

// errAlone means that the unit failed, perhaps because of another upsert.
var errAlone = errors.New("try alone")

// UpsertTranscript is UpsertTranscripts of one entry.
func (s *Upserter) UpsertTranscript(ctx context.Context, sessionID string, entry transcript.Entry) error {
	_, err := s.UpsertTranscripts(ctx, sessionID, []transcript.Entry{entry})
	return err
}

// UpsertTranscripts stores entries one by one by the rules of package transcript and publishes each as it was sent. It
// stores all of them or, with an error, none. With very many entries, readers may see the first before the last. It
// returns each as JSON.
//
// It calls no runtime: an unknown session is ErrNotFound, a deleted one *DeletedError. If ctx ends or the store fails
// during the call, entries may still be stored.
func (s *Upserter) UpsertTranscripts(ctx context.Context, sessionID string, entries []transcript.Entry) (
	[]json.RawMessage, error) {
	if err := s.journal.AwaitWrites(ctx); err != nil {
		return nil, err
	}
	u := &upsert{ctx: ctx, sessionID: sessionID, entries: entries, result: make(chan error, 1)}
	if err := s.upserts.admit(ctx, u); err != nil {
		return nil, err
	}
	sent := u.encode(s.now())
	s.journal.Attribute(ctx, u.events)
	if len(entries) == 1 {
		s.submitSingle(u)
	} else if !s.bulk.add(u) {
		s.finishBulk(u, journal.ErrStopped)
	}
	outcome, err := journal.Await(ctx, s.journal, u.result)
	if err == nil {
		err = outcome
	}
	if errors.Is(err, errAlone) {
		err = s.journal.Do(ctx, func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
			return s.upsertAll(ctx, tx, []*upsert{u})
		})
	}
	if err != nil {
		return nil, err
	}
	return sent, nil
}

func (s *Upserter) submitSingle(u *upsert) {
	now := time.Now()
	s.bulk.single.Store(&now)
	if batch, first := s.upserts.join(s, u, s.journal.Overlaps()); first {
		// Do not use this caller's context: the unit belongs to all callers that join it.
		if err := s.journal.SubmitOpen(context.Background(), batch.run, batch.done, batch.whole); err != nil {
			batch.done(nil, err)
		}
	}
}

// admit waits until an upsert of several entries may continue.
func (q *upserts) admit(ctx context.Context, u *upsert) error {
	if len(u.entries) == 1 {
		return nil
	}
	u.weight = min(int64(len(u.entries)), maxManyEntries)
	return q.many.Acquire(ctx, u.weight)
}

// join adds an upsert to the open unit, or opens one, which its caller must submit. overlaps reports that units with
// half of the company are faster than units with all (journal.Overlaps).
func (q *upserts) join(s *Upserter, u *upsert, overlaps bool) (batch *upsertBatch, first bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	batch = q.open
	if first = batch == nil || len(batch.all) >= maxGathered || batch.bytes+u.bytes > maxGatheredBytes; first {
		if batch != nil {
			batch.complete()
		}
		batch = &upsertBatch{service: s, whole: make(chan struct{})}
		q.open = batch
	}
	batch.add(u)
	expected := q.company
	if overlaps {
		expected = min((q.company+1)/2, q.company-q.running)
	}
	if len(batch.all) >= expected {
		batch.complete()
	}
	return batch, first
}

// ended records how many upserts are in progress at the end of a unit: those in it and those in the next.
func (q *upserts) ended(b *upsertBatch) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.company = q.running
	if q.open != nil {
		q.company += len(q.open.all)
	}
	if b.left {
		q.running -= len(b.all)
	}
}

// upsertBatch is one unit. It accepts upserts until it first runs; a second run has the same upserts.
type upsertBatch struct {
	service *Upserter
	// upserts.mu guards these until the batch is closed.
	all       []*upsert
	bytes     int
	completed bool
	left      bool // it accepts no more

	whole chan struct{} // closed when no more upserts are expected
}

// complete lets the writer start the unit immediately. The caller holds upserts.mu.
func (b *upsertBatch) complete() {
	if !b.completed {
		b.completed = true
		close(b.whole)
	}
}

func (b *upsertBatch) add(u *upsert) {
	b.all = append(b.all, u)
	b.bytes += u.bytes
}

func (b *upsertBatch) close() {
	q := &b.service.upserts
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.open == b {
		q.open = nil
	}
	if !b.left {
		b.left = true
		q.running += len(b.all)
	}
}

func (b *upsertBatch) run(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
	b.close()
	return b.service.upsertAll(ctx, tx, b.all)
}

func (b *upsertBatch) done(_ []journal.Record, err error) {
	b.close() // callers of a unit that never ran still need a result
	b.service.upserts.ended(b)
	if err != nil && len(b.all) > 1 && !expected(err) {
		err = errAlone
	}
	for _, u := range b.all {
		if err != nil {
			u.result <- err
			continue
		}
		u.result <- u.err
	}
}

// upsertAll stores the upserts of existing sessions, and sets the errors of the others. Its events must be the first
// of the unit: entries refer to them by position.
func (s *Upserter) upsertAll(ctx context.Context, tx database.Tx, all []*upsert) ([]journal.Event, error) {
	owned, err := presences(ctx, tx, all)
	if err != nil {
		return nil, err
	}
	entries := 0
	for _, u := range all {
		entries += len(u.entries)
	}
	puts := make([]transcript.Put, 0, entries)
	events := make([]journal.Event, 0, entries)
	next := journal.NextPos(ctx)
	for _, u := range all {
		systemOwned, known := owned[u.sessionID]
		if !known {
			continue
		}
		var meta json.RawMessage
		if systemOwned {
			meta = stream.EncodeMeta(stream.Meta{SystemOwned: true})
		}
		for i := range u.entries {
			event := u.events[i]
			event.Meta = meta
			puts = append(puts, transcript.Put{SessionID: u.sessionID, Entry: u.entries[i], Pos: next + int64(len(events))})
			events = append(events, event)
		}
	}
	if len(puts) == 0 {
		if len(all) == 1 {
			return nil, journal.Refuse(all[0].err)
		}
		return nil, nil
	}
	return events, s.entries.UpsertAll(ctx, tx, puts)
}

// presences returns whether each stored session is system-owned, and sets the errors of upserts without a session.
func presences(ctx context.Context, tx database.Tx, all []*upsert) (map[string]bool, error) {
	owned := make(map[string]bool, 1)
	absentees := make(map[string]error)
	var ids []string
	for _, u := range all {
		id := u.sessionID
		if _, asked := absentees[id]; !asked {
			absentees[id] = session.ErrNotFound
			ids = append(ids, id)
		}
	}
	const most = 64
	for rest := ids; len(rest) > 0; {
		chunk := rest[:min(len(rest), most)]
		rest = rest[len(chunk):]
		if err := readPresences(ctx, tx, chunk, owned); err != nil {
			return nil, err
		}
	}
	for _, id := range ids {
		if _, there := owned[id]; there {
			continue
		}
		systemOwned, err := store.IsSystemOwned(ctx, tx, id)
		switch {
		case session.Absent(err):
			absentees[id] = err
		case err != nil:
			return nil, err
		default:
			owned[id] = systemOwned
		}
	}
	for _, u := range all {
		u.err = nil
		if _, there := owned[u.sessionID]; !there {
			u.err = absentees[u.sessionID]
		}
	}
	return owned, nil
}

func readPresences(ctx context.Context, tx database.Tx, ids []string, owned map[string]bool) error {
	args := make([]any, len(ids))
	marks := make([]string, len(ids))
	for i, id := range ids {
		args[i], marks[i] = database.EncodeText(id), "$"+strconv.Itoa(i+1)
	}
	return database.ReadEach(ctx, tx, fmt.Sprintf("read %d sessions", len(ids)), func(row database.Row) error {
		var (
			id          string
			systemOwned int64
		)
		err := row.Scan(&id, &systemOwned)
		owned[database.DecodeText(id)] = systemOwned != 0
		return err
	}, `select id, system_owned from sessions where id in (`+strings.Join(marks, ", ")+`)`, args...)
}

// UpsertTranscriptIn is UpsertTranscript as part of another package's unit: entry and event commit with that package's
// rows. It skips a missing session, and publishes no event for an unchanged entry.
func (s *Upserter) UpsertTranscriptIn(ctx context.Context, tx database.Tx, sessionID string, entry transcript.Entry) (
	[]journal.Event, error) {
	systemOwned, err := store.IsSystemOwned(ctx, tx, sessionID)
	if session.Absent(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	merged, changed, err := s.entries.Upsert(ctx, tx, sessionID, entry)
	if err != nil || !changed {
		return nil, err
	}
	event, _ := session.TranscriptUpdated(sessionID, &merged, s.now(), systemOwned)
	return []journal.Event{event}, nil
}

// PresentIn reports, as part of another package's unit, whether a session exists.
func (s *Upserter) PresentIn(ctx context.Context, tx database.Tx, sessionID string) (bool, error) {
	_, err := store.IsSystemOwned(ctx, tx, sessionID)
	if session.Absent(err) {
		return false, nil
	}
	return err == nil, err
}
