package session

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"harness/database"
	"harness/journal"
	"harness/stream"
	"harness/transcript"
)

// upserts gathers what clients put into transcripts at the same time into one unit: while one transaction commits, the next upserts wait
// for the following one anyway, and together they need a few statements where each alone needs four.
type upserts struct {
	mu      sync.Mutex
	waiting []*upsert
	queued  bool // a unit is on its way that will take what waits
}

type upsert struct {
	put    transcript.Put
	event  journal.Event // encoded by its caller: the writer has no time for it
	err    error         // this upsert's own refusal, known once its unit ran
	result chan error
}

// errAlone: the unit failed for a reason that may be another upsert's.
var errAlone = errors.New("try alone")

// UpsertTranscript stores an entry by the rules of the transcript room and announces it as it was sent. It costs no runtime call: a session
// nobody here knows is ErrNotFound, a deleted one *DeletedError. When ctx ends before, the entry may still be stored.
func (s *Service) UpsertTranscript(ctx context.Context, sessionID string, entry transcript.Entry) error {
	u := &upsert{put: transcript.Put{SessionID: sessionID, Entry: entry}, event: transcriptUpdated(sessionID, entry, s.now(), false), result: make(chan error, 1)}
	if s.upserts.add(u) {
		batch := &upsertBatch{service: s}
		// Not this caller's deadline: the unit is everybody's who joins it.
		if err := s.journal.Submit(context.WithoutCancel(ctx), batch.run, batch.done); err != nil {
			batch.done(nil, err)
		}
	}
	select {
	case err := <-u.result:
		if errors.Is(err, errAlone) {
			return s.commit(ctx, func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
				return s.upsertAll(ctx, tx, []*upsert{u})
			})
		}
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// add tells whether a unit has to be queued.
func (q *upserts) add(u *upsert) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = append(q.waiting, u)
	if q.queued {
		return false
	}
	q.queued = true
	return true
}

func (q *upserts) take() []*upsert {
	q.mu.Lock()
	defer q.mu.Unlock()
	taken := q.waiting
	q.waiting, q.queued = nil, false
	return taken
}

// upsertBatch is one unit. It takes what waits when it first runs and keeps to it should it run again.
type upsertBatch struct {
	service *Service
	taken   bool
	all     []*upsert
}

func (b *upsertBatch) take() {
	if !b.taken {
		b.taken, b.all = true, b.service.upserts.take()
	}
}

func (b *upsertBatch) run(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
	b.take()
	return b.service.upsertAll(ctx, tx, b.all)
}

func (b *upsertBatch) done(_ []journal.Record, err error) {
	b.take() // a unit that never ran still owes its answers
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

// upsertAll stores the upserts of sessions that are there; the others' refusal is left in them.
func (s *Service) upsertAll(ctx context.Context, tx database.Tx, all []*upsert) ([]journal.Event, error) {
	owned, err := presences(ctx, tx, all)
	if err != nil {
		return nil, err
	}
	puts := make([]transcript.Put, 0, len(all))
	events := make([]journal.Event, 0, len(all))
	for _, u := range all {
		systemOwned, known := owned[u.put.SessionID]
		if !known {
			continue
		}
		event := u.event
		if systemOwned {
			event.Meta = stream.EncodeMeta(stream.Meta{SystemOwned: true})
		}
		puts, events = append(puts, u.put), append(events, event)
	}
	if len(puts) == 0 {
		if len(all) == 1 {
			return nil, journal.Refuse(all[0].err)
		}
		return nil, nil
	}
	return events, s.entries.UpsertAll(ctx, tx, puts)
}

// presences tells of the sessions that have a row whether they are system-owned, and leaves in the others' upserts why they have none.
func presences(ctx context.Context, tx database.Tx, all []*upsert) (map[string]bool, error) {
	owned := make(map[string]bool, 1)
	absentees := make(map[string]error)
	var ids []string
	for _, u := range all {
		id := u.put.SessionID
		if _, asked := absentees[id]; !asked {
			absentees[id] = ErrNotFound
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
		systemOwned, err := presence(ctx, tx, id)
		switch {
		case absent(err):
			absentees[id] = err
		case err != nil:
			return nil, err
		default:
			owned[id] = systemOwned
		}
	}
	for _, u := range all {
		u.err = nil
		if _, there := owned[u.put.SessionID]; !there {
			u.err = absentees[u.put.SessionID]
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
	rows, err := tx.QueryContext(ctx, `select id, system_owned from sessions where id in (`+strings.Join(marks, ", ")+`)`, args...)
	if err != nil {
		return fmt.Errorf("read %d sessions: %w", len(ids), err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var (
			id          string
			systemOwned int64
		)
		if err := rows.Scan(&id, &systemOwned); err != nil {
			return fmt.Errorf("read sessions: %w", err)
		}
		owned[database.DecodeText(id)] = systemOwned != 0
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("read sessions: %w", err)
	}
	return nil
}
