package sdk

// EnqueueStrategy selects which enqueue wins.
type EnqueueStrategy string

// The strategies of SelectEnqueueWinner.
const (
	PreferEnqueued EnqueueStrategy = "prefer_enqueued" // the default, also for ""
	PreferExisting EnqueueStrategy = "prefer_existing"
)

// SelectEnqueueWinner selects the job for a route's response: the first enqueued, otherwise the first already_queued.
// With PreferExisting it is the first already_queued, otherwise the first. It returns nil if nothing was enqueued: the
// route then responds with its queue conflict.
func SelectEnqueueWinner(results []EmitResult, strategy EnqueueStrategy) *EmitResult {
	first, second := Enqueued, AlreadyQueued
	if strategy == PreferExisting {
		first, second = second, first
	}
	for _, status := range []string{first, second} {
		for i := range results {
			if results[i].Kind == EnqueueResult && results[i].Status == status {
				return &results[i]
			}
		}
	}
	return nil
}

// SelectFirstSuccessfulAction returns the first performed action, nil for none.
func SelectFirstSuccessfulAction(results []EmitResult) *EmitResult {
	for i := range results {
		if results[i].Kind == ActionResult && results[i].Status == string(Performed) {
			return &results[i]
		}
	}
	return nil
}

// ActionClass classifies an outcome for reconciliation.
type ActionClass string

// The classes of outcomes.
const (
	Winner     ActionClass = "winner"
	Reconciled ActionClass = "reconciled"
	FailedPath ActionClass = "failed"
)

// ClassifyReconciledActionStatus reports whether an outcome won, was reconciled, or failed. An unknown outcome counts
// as failed.
func ClassifyReconciledActionStatus(status ActionStatus) ActionClass {
	switch status {
	case Performed:
		return Winner
	case AlreadyResolved, NotEligible, Conflict:
		return Reconciled
	}
	return FailedPath
}

// ActionSelection is the plan over the actions of one emit pass.
type ActionSelection struct {
	// Winner is the first performed action, nil for none.
	Winner *EmitResult
	// Reconciled and Failed are the others by class; a second performed action counts as reconciled.
	Reconciled, Failed []EmitResult
}

// SelectActionExecutionPlan selects the authoritative action of an emit and classifies the others.
func SelectActionExecutionPlan(results []EmitResult) ActionSelection {
	plan := ActionSelection{Winner: SelectFirstSuccessfulAction(results)}
	for i := range results {
		if results[i].Kind != ActionResult || &results[i] == plan.Winner {
			continue
		}
		if ClassifyReconciledActionStatus(ActionStatus(results[i].Status)) == FailedPath {
			plan.Failed = append(plan.Failed, results[i])
		} else {
			plan.Reconciled = append(plan.Reconciled, results[i])
		}
	}
	return plan
}
