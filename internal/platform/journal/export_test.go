package journal

import "time"

// DeltasOfItem is the statement of ReadDeltas, for a test that asks the engine how it would run.
const DeltasOfItem = deltasOfItem

// LastCommitTook has the writer believe so; before Start.
func (j *Journal) LastCommitTook(d time.Duration) { j.took.Store(int64(d)) }
