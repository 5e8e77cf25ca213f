package operations

import (
	"context"

	"harness/internal/runtime"
	"harness/internal/services/session"
)

// ReasonWaits tells whether the reason of a denial reaches the agent with the next message only: its runtime takes none
// with the denial.
func (s *Service) ReasonWaits(ctx context.Context, denied session.Request) (bool, error) {
	if !denied.ReasonGiven() {
		return false, nil
	}
	of, err := s.opts.Sessions.Lookup(ctx, denied.SessionID)
	if err != nil {
		return false, err
	}
	adapter, err := s.chosen(of.Runtime)
	if err != nil {
		return false, err
	}
	return !runtime.CapabilitiesOf(adapter).DenyReason, nil
}
