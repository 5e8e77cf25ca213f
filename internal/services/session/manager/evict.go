package manager

import (
	"context"
	"slices"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
)

// keptThreads is how many sessions the view holds when it can; those of the last recentUse (ms) are kept whatever their
// number, because a reply or a listing that was asked for before may still have to be weighed against what is known of
// them.
const (
	keptThreads = 4096
	recentUse   = 60_000
)

// resting tells whether the store knows everything about the thread that matters, once what is queued is committed.
func (t *thread) resting() bool { return t.activeTurn == "" && len(t.idle) == 0 }

// crowded is asked under mu.
func (v *view) crowded() bool { return len(v.threads) > v.keep+v.keep/8 }

// spare lists the threads beyond those to keep that were not used for the longest time, with their last uses; none
// while there is room. It looks at most once a second.
func (v *view) spare() map[string]int64 {
	v.mu.Lock()
	defer v.mu.Unlock()
	now := v.now()
	if !v.crowded() || now-v.trimmed < 1000 {
		return nil
	}
	v.trimmed = now
	type use struct {
		id string
		at int64
	}
	var uses []use
	for id, t := range v.threads {
		if t.resting() && now-t.usedAt >= recentUse {
			uses = append(uses, use{id, t.used})
		}
	}
	slices.SortFunc(uses, func(a, b use) int { return int(a.at - b.at) })
	spare := map[string]int64{}
	for _, one := range uses[:min(len(uses), len(v.threads)-v.keep)] {
		spare[one.id] = one.at
	}
	return spare
}

// evict leaves threads out that were not looked at since they were found to be spare.
func (v *view) evict(spare map[string]int64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for id, used := range spare {
		if t, ok := v.threads[id]; ok && t.used == used && t.resting() {
			v.drop(id, t)
		}
	}
}

// makeRoom keeps the view from growing with every session ever touched. A thread may go only when the store says the
// same of it: that is so once everything queued before is committed, which an empty unit finds out.
func (s *Service) makeRoom(ctx context.Context) {
	spare := s.view.spare()
	if len(spare) == 0 {
		return
	}
	nothing := func(context.Context, database.Tx) ([]journal.Event, error) { return nil, nil }
	err := s.journal.Submit(ctx, nothing, func(_ []journal.Record, err error) {
		if err == nil {
			s.view.evict(spare)
		}
	})
	if err != nil && !expected(err) {
		s.opts.Logger.Debug().Err(err).Msg("sessions nobody looks at stay in memory for now")
	}
}
