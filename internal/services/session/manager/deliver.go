package manager

import (
	"context"
	"fmt"
	"sync"
	"time"

	"harness/internal/lib/wake"
	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/internal/services/session/store"
)

// deliverAgain is the pause after a failed read of undelivered decisions.
const deliverAgain = time.Second

// delivery assigns each decision to one deliverer: the caller that settled the request on this node, or deliverLoop.
// deliverLoop delivers decisions from other nodes or from before a restart.
type delivery struct {
	mu   sync.Mutex
	held map[string]holder
	wake wake.Signal
}

type holder int

const (
	delivering holder = iota
	// refused: the runtime refused the decision, and gets it again only after it starts or is attached again.
	refused
)

func newDelivery() *delivery {
	return &delivery{held: map[string]holder{}, wake: wake.New()}
}

// wantAgain wakes deliverLoop for all decisions, including those that runtimes have refused.
func (d *delivery) wantAgain() {
	d.mu.Lock()
	for id, by := range d.held {
		if by == refused {
			delete(d.held, id)
		}
	}
	d.mu.Unlock()
	d.wake.Set()
}

// take makes the caller the deliverer of a decision; it returns false if another caller already is.
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

// deliverLoop delivers decisions to this node's runtimes until ctx ends. It delivers those made on other nodes, and
// those stored while no server could deliver them.
func (s *Service) deliverLoop(ctx context.Context) {
	var answers sync.WaitGroup
	defer answers.Wait()
	s.delivery.wake.Loop(ctx, func(ctx context.Context) (again time.Duration) {
		if err := s.deliverAll(ctx, &answers); err != nil && ctx.Err() == nil {
			s.opts.Logger.Warn().Err(err).Msg("cannot read undelivered decisions; retrying")
			return deliverAgain
		}
		return 0
	})
}

// deliverAll does not wait for the runtimes' responses, which may take long.
func (s *Service) deliverAll(ctx context.Context, answers *sync.WaitGroup) error {
	if err := s.Ownership.CheckLease(); err != nil {
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
		// Another deliverer may have delivered it since the read above.
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

// delivered records that the asking runtime has received the decision.
func delivered(ctx context.Context, tx database.Tx, requestID string, at int64) error {
	_, err := tx.ExecContext(ctx, `update interactive_requests set delivered_at = $2 where id = $1`, requestID, at)
	if err != nil {
		return fmt.Errorf("store that request %s was answered: %w", requestID, err)
	}
	return nil
}

// deliver sends the runtime a decision of this caller, and records the delivery. The shim forwards an answer only
// once, so the next server may repeat it after a crash. The decision stays valid if delivery fails: a dead process
// ends its turn, and the event for that notifies clients.
func (s *Service) deliver(ctx context.Context, request store.Request) {
	adapter, err := s.Registry.Adapter(request.Runtime)
	if err == nil {
		request, err = request.WithParams(ctx, s.db.Read())
	}
	goesOn := func() {}
	if err == nil {
		if request.Kind == runtime.RequestApproval && request.Reply.Decision == "cancel" {
			goesOn = s.Stopper.canceled(request.SessionID, request.TurnID)
		}
		err = adapter.Threads().Answer(ctx, request.Ref(), *request.Reply)
	}
	if err != nil {
		goesOn()
		s.delivery.refuse(request.ID)
		s.opts.Logger.Warn().Err(err).Str("session", request.SessionID).Str("turn", request.TurnID).Str("request",
			request.ID).
			Msg("decision stored, delivery to the runtime pending")
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
				Msg("decision delivered, but not recorded; it is sent again, which the runtime ignores")
		}
	}
	// Ignore the caller's deadline: the runtime has the decision.
	if err := s.journal.Submit(context.WithoutCancel(ctx), unit, noted); err != nil {
		noted(nil, err)
	}
}
