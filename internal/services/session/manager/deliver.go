package manager

import (
	"context"
	"fmt"
	"sync"
	"time"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/services/session/store"
)

// deliverAgain is how long after a failed look at the store the next one comes.
const deliverAgain = time.Second

// delivery is who reports which decision to its runtime: the caller that settled the request here, or deliverLoop for those
// settled elsewhere or before a restart. Never both.
type delivery struct {
	mu   sync.Mutex
	held map[string]holder
	wake chan struct{}
}

type holder int

const (
	delivering holder = iota
	// refused: the runtime did not take it, and is asked again only when it starts, or is attached to, anew.
	refused
)

func newDelivery() *delivery {
	return &delivery{held: map[string]holder{}, wake: make(chan struct{}, 1)}
}

// want lets deliverLoop look.
func (d *delivery) want() {
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// wantAgain is want with what runtimes have refused.
func (d *delivery) wantAgain() {
	d.mu.Lock()
	for id, by := range d.held {
		if by == refused {
			delete(d.held, id)
		}
	}
	d.mu.Unlock()
	d.want()
}

// take makes the caller the one who delivers; false when another client is.
func (d *delivery) take(requestID string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, taken := d.held[requestID]; taken {
		return false
	}
	d.held[requestID] = delivering
	return true
}

func (d *delivery) isUnderWay(requestID string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	by, held := d.held[requestID]
	return held && by == delivering
}

func (d *delivery) refuse(requestID string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.held[requestID] = refused
}

func (d *delivery) release(requestID string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.held, requestID)
}

// deliverLoop reports runtimes of this node the decisions that other nodes made, and those that were stored while no
// server, or a dying one, could report them, until ctx ends.
func (s *Service) deliverLoop(ctx context.Context) {
	var (
		again   <-chan time.Time
		answers sync.WaitGroup
	)
	defer answers.Wait()
	for {
		select {
		case <-s.delivery.wake:
		case <-again:
		case <-ctx.Done():
			return
		}
		again = nil
		if err := s.deliverAll(ctx, &answers); err != nil && ctx.Err() == nil {
			s.opts.Logger.Warn().Err(err).Msg("decisions to deliver could not be read; trying again")
			again = time.After(deliverAgain)
		}
	}
}

// deliverAll does not wait for the answers it gives: a runtime may take its time with one.
func (s *Service) deliverAll(ctx context.Context, answers *sync.WaitGroup) error {
	if err := s.CheckLease(); err != nil {
		return err
	}
	waiting, err := store.UndeliveredRequests(ctx, s.db.Read(), s.opts.NodeID)
	if err != nil {
		return err
	}
	for _, request := range waiting {
		if !s.delivery.take(request.ID) {
			continue
		}
		// Who had it before may have delivered it since the look above.
		still, err := store.IsUndelivered(ctx, s.db.Read(), request.ID)
		if err != nil || !still {
			s.delivery.release(request.ID)
		}
		if err != nil {
			return err
		}
		if still {
			answers.Go(func() { s.deliver(ctx, request) })
		}
	}
	return nil
}

// delivered notes that who asked knows the decision.
func delivered(ctx context.Context, tx database.Tx, requestID string, at int64) error {
	_, err := tx.ExecContext(ctx, `update interactive_requests set delivered_at = $2 where id = $1`, requestID, at)
	if err != nil {
		return fmt.Errorf("store that request %s was answered: %w", requestID, err)
	}
	return nil
}

// deliver reports the runtime a decision this caller has taken, and stores that it did. The shim passes an answer on
// once, so that it does no harm when the server dies in between and the next one reports it again. The decision stands
// whatever comes of it: a process that is gone takes its turn with it, and that is sent to clients by the news of its
// end.
func (s *Service) deliver(ctx context.Context, request store.Request) {
	adapter, err := s.Adapter(request.Runtime)
	if err == nil {
		request, err = request.WithParams(ctx, s.db.Read())
	}
	if err == nil {
		err = adapter.Threads().Answer(ctx, request.Ref(), *request.Reply)
	}
	if err != nil {
		s.delivery.refuse(request.ID)
		s.opts.Logger.Warn().Err(err).Str("session", request.SessionID).Str("turn", request.TurnID).Str("request",
			request.ID).
			Msg("the decision is stored, but the runtime that asked could not be told")
		return
	}
	at := s.now()
	unit := func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		return nil, delivered(ctx, tx, request.ID, at)
	}
	noted := func(_ []journal.Record, err error) {
		s.delivery.release(request.ID)
		if err != nil && !expected(err) {
			s.opts.Logger.Warn().Err(err).Str("request", request.ID).
				Msg("a decision was delivered, but that could not be stored; it is told again, which the runtime ignores")
		}
	}
	// Not with the caller's deadline: the runtime has been sent.
	if err := s.journal.Submit(context.WithoutCancel(ctx), unit, noted); err != nil {
		noted(nil, err)
	}
}
