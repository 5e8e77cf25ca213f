package journal

import "time"

// DeltasOfItem is the statement of ReadDeltas, for a test that checks the engine's query plan.
const DeltasOfItem = deltasOfItem

// LastCommitTook sets the duration of the last commit; call it before Start.
func (j *Journal) LastCommitTook(d time.Duration) { j.took.Store(int64(d)) }
