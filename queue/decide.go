package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
)

// decider makes the queue's decisions inside a journal unit: it reads, decides, writes and builds the events.
// It holds no state, so a unit may run it twice. Times are in ms.
type decider struct {
	policy      Policy
	definitions registry
	// hooks is false after a hook failed: decisions then run without hooks, and an ended job owes its reconciliation
	// (reconcile.go).
	hooks bool
	newID func() string
}

// claimant identifies who claims a job: a process (owner) of a node, until its lease ends.
type claimant struct {
	node, owner string
	leaseUntil  int64
}

// Request asks for a job.
type Request struct {
	Type            string
	ProjectID       string
	SourceSessionID *string
	// Priority defaults to the definition's priority when empty.
	Priority  Priority
	DedupeKey *string
	Payload   json.RawMessage
	// MaxAttempts defaults to the queue's limit when 0.
	MaxAttempts int
	// again runs a job once more: an ended job then does not count as a duplicate.
	again bool
}

// maxProject is the maximum length of a project's id, in bytes: the id shares an index row with the dedupe key.
const maxProject = 600

func (r Request) checkKeys() error {
	if len(database.EncodeText(r.ProjectID)) > maxProject {
		return fmt.Errorf("projectId is too long (%d bytes): use at most %d", len(r.ProjectID), maxProject)
	}
	if r.DedupeKey == nil {
		return nil
	}
	return database.CheckKeys("dedupeKey", *r.DedupeKey)
}

// EnqueueStatus says whether an enqueue created a job.
type EnqueueStatus string

// The results of an enqueue.
const (
	Enqueued      EnqueueStatus = "enqueued"
	AlreadyQueued EnqueueStatus = "already_queued"
)

// EnqueueResult is the job that an enqueue created or found. MergeError says why a duplicate could not be merged; the
// job is then unchanged.
type EnqueueResult struct {
	Status     EnqueueStatus
	Job        Job
	MergeError error
}

// enqueue checks type, payload, duplicates and capacity, and inserts the job. It returns a duplicate even when the
// queue is full.
func (d decider) enqueue(ctx context.Context, tx database.Tx, in Request, now int64) (EnqueueResult,
	[]journal.Event, error) {
	definition, known := d.definitions[in.Type]
	if !known {
		return EnqueueResult{}, nil, journal.Refuse(&Error{CodeUnknownType, "unknown orchestrator job type: " + in.Type})
	}
	payload, err := definition.Validate(in.Payload)
	if err == nil {
		err = in.checkKeys()
	}
	if err != nil {
		return EnqueueResult{}, nil, journal.Refuse(&Error{CodeInvalidPayload, err.Error()})
	}
	duplicate, found, err := d.duplicate(ctx, tx, definition, in)
	if err != nil {
		return EnqueueResult{}, nil, err
	}
	if found {
		return d.answerDuplicate(ctx, tx, definition, duplicate, payload)
	}
	if err := d.capacity(ctx, tx, in.ProjectID); err != nil {
		return EnqueueResult{}, nil, err
	}
	job := Job{ID: d.newID(), Type: in.Type, Version: definition.Version, ProjectID: in.ProjectID,
		SourceSessionID: in.SourceSessionID, Priority: in.Priority, State: Queued, DedupeKey: in.DedupeKey,
		dedupeMode: definition.Dedupe, Payload: payload, MaxAttempts: in.MaxAttempts, CreatedAt: now}
	if job.Priority == "" {
		job.Priority = definition.Priority
	}
	if job.MaxAttempts <= 0 {
		job.MaxAttempts = d.policy.MaxAttempts
	}
	if err := insertJob(ctx, tx, job); err != nil {
		return EnqueueResult{}, nil, err
	}
	events, err := d.announce(ctx, tx, definition.OnQueued, job, now)
	return EnqueueResult{Status: Enqueued, Job: job}, events, err
}

func (d decider) duplicate(ctx context.Context, tx database.Tx, definition Definition, in Request) (Job, bool, error) {
	if in.DedupeKey == nil || definition.Dedupe == DedupeNone {
		return Job{}, false, nil
	}
	condition := `project_id = $1 and type = $2 and dedupe_key = $3`
	if definition.Dedupe != DropDuplicate || in.again {
		condition += ` and ` + activeStates
	}
	jobs, err := readJobs(ctx, tx, condition, database.EncodeText(in.ProjectID), database.EncodeText(in.Type),
		database.EncodeText(*in.DedupeKey))
	if err != nil || len(jobs) == 0 {
		return Job{}, false, err
	}
	return jobs[0], true, nil
}

func (d decider) answerDuplicate(ctx context.Context, tx database.Tx, definition Definition, job Job,
	incoming json.RawMessage) (EnqueueResult, []journal.Event, error) {
	result := EnqueueResult{Status: AlreadyQueued, Job: job}
	if definition.Dedupe != MergeDuplicate {
		return result, nil, nil
	}
	var merged json.RawMessage
	if merged, result.MergeError = mergePayload(definition, job.Payload, incoming); result.MergeError != nil {
		return result, nil, nil //nolint:nilerr // the result carries it: the caller gets the unchanged job
	}
	result.Job.Payload = merged
	return result, nil, saveJob(ctx, tx, result.Job)
}

func mergePayload(definition Definition, existing, incoming json.RawMessage) (json.RawMessage, error) {
	if definition.Merge == nil {
		return nil, errors.New("job type " + definition.Type + " has no merge function")
	}
	merged, err := definition.Merge(existing, incoming)
	if err != nil {
		return nil, err
	}
	return definition.Validate(merged)
}

// capacity refuses a job when too many are queued or running. Jobs that no node can run do not count, because they
// would block all others.
func (d decider) capacity(ctx context.Context, tx database.Tx, projectID string) error {
	types, args := d.definitions.condition(1)
	counted := `(state = 'running' or state = 'queued' and ` + types + `)`
	all, err := count(ctx, tx, counted, args...)
	if err != nil {
		return err
	}
	if all >= d.policy.MaxGlobal {
		return journal.Refuse(&Error{CodeFull, "orchestrator queue is at global capacity"})
	}
	own, err := count(ctx, tx, counted+` and project_id = $`+strconv.Itoa(len(args)+1),
		append(args, database.EncodeText(projectID))...)
	if err != nil {
		return err
	}
	if own >= d.policy.MaxPerProject {
		return journal.Refuse(&Error{CodeFull, "orchestrator queue is at project capacity"})
	}
	return nil
}

// claim starts jobs of this node while there are free slots, and returns them. It ends a job that cannot run. When the
// next job in the order belongs to another node, claim leaves the slot to that node, until yields reports that its time
// has expired. yielded lists the jobs with such a slot, by node.
func (d decider) claim(ctx context.Context, tx database.Tx, who claimant, yields func(c Candidate) bool, now int64) (
	started []Job, yielded map[string]string, events []journal.Event, err error) {
	taken, err := count(ctx, tx, `state = 'running'`)
	if err != nil {
		return nil, nil, nil, err
	}
	yielded = map[string]string{}
	passed, reserved := map[string]bool{}, map[string]bool{} // passed: nodes that let their time expire; reserved: projects left to a node
	for taken < d.policy.Concurrency {
		candidates, err := readCandidates(ctx, tx, d.definitions, who.node, now)
		if err != nil {
			return nil, nil, nil, err
		}
		next, found := d.policy.Pick(slices.DeleteFunc(candidates, func(c Candidate) bool {
			return passed[c.Node] || reserved[c.ProjectID]
		}), now)
		switch {
		case !found:
			return started, yielded, events, nil
		case next.Node != "" && yields(next):
			if yielded[next.Node] == "" {
				yielded[next.Node] = next.ID
			}
			reserved[next.ProjectID] = true
			taken++
			continue
		case next.Node != "":
			yielded[next.Node] = next.ID
			passed[next.Node] = true
			continue
		}
		job, all, err := d.start(ctx, tx, next.ID, who, now)
		if err != nil {
			return nil, nil, nil, err
		}
		events = append(events, all...)
		if job.State == Running {
			started = append(started, job)
			taken++
		}
	}
	return started, yielded, events, nil
}

func (d decider) start(ctx context.Context, tx database.Tx, id string, who claimant, now int64) (Job,
	[]journal.Event, error) {
	job, err := readJob(ctx, tx, id)
	if err != nil {
		return Job{}, nil, err
	}
	definition := d.definitions[job.Type] // only jobs of known types are candidates
	if _, err := definition.Validate(job.Payload); err != nil {
		events, err := d.end(ctx, tx, &job, ending{state: Failed, reason: errorInvalidPayload + err.Error()}, now)
		return job, events, err
	}
	job.State, job.Attempts = Running, job.Attempts+1
	job.StartedAt, job.LastAttemptAt = &now, &now
	job.NextAttemptAt, job.Error, job.Result, job.CancelRequestedAt, job.ThreadID, job.TurnID =
		nil, nil, nil, nil, nil, nil
	job.cancelReason, job.nodeID, job.owner, job.leaseUntil = "", who.node, who.owner, who.leaseUntil
	if err := errors.Join(saveJob(ctx, tx, job), noteStart(ctx, tx, job)); err != nil {
		return Job{}, nil, err
	}
	events, err := d.announce(ctx, tx, definition.OnStarted, job, now)
	return job, events, err
}

// outcome is the result of an attempt, or its error.
type outcome struct {
	result json.RawMessage
	err    error
	// progress is the last report that was not yet published as an event.
	progress json.RawMessage
}

// finish records an attempt's outcome, fenced by owner and attempt. A process that lost the job gets errFenced, and
// finish writes nothing. A requested cancel takes precedence over every outcome.
func (d decider) finish(ctx context.Context, tx database.Tx, by attempt, out outcome, now int64) (Job, []journal.Event, error) {
	job, err := d.owned(ctx, tx, by)
	if err != nil {
		return Job{}, nil, err
	}
	var all []journal.Event
	if out.progress != nil {
		event, err := jobEvent(eventProgress, job, now, out.progress)
		if err != nil {
			return Job{}, nil, err
		}
		all = append(all, event)
	}
	final := ending{state: Completed, result: out.result}
	switch {
	case job.CancelRequestedAt != nil && job.cancelReason == errorShutdown:
		final = ending{state: Canceled, reason: errorShutdown}
	case job.CancelRequestedAt != nil:
		final = ending{state: Canceled, reason: errorCancelRequested}
	case out.err != nil:
		definition, known := d.definitions[job.Type]
		if known && job.Attempts < job.MaxAttempts && definition.Retryable(out.err) {
			next := now + definition.Delay(job.Attempts).Milliseconds()
			return d.requeue(ctx, tx, job, out.err.Error(), next)
		}
		final = ending{state: Failed, reason: out.err.Error()}
	}
	events, err := d.end(ctx, tx, &job, final, now)
	return job, append(all, events...), err
}

// attempt names one run of a job by one process.
type attempt struct {
	jobID, owner string
	number       int
}

// owned reads the running job that an attempt owns.
func (d decider) owned(ctx context.Context, tx database.Tx, by attempt) (Job, error) {
	job, err := readJob(ctx, tx, by.jobID)
	if errors.Is(err, ErrNotFound) {
		return Job{}, journal.Refuse(errFenced)
	}
	if err != nil {
		return Job{}, err
	}
	if job.State != Running || job.owner != by.owner || job.Attempts != by.number {
		return Job{}, journal.Refuse(errFenced)
	}
	return job, nil
}

// requeue gives a job another attempt. It publishes no event: clients still see the job as running.
func (d decider) requeue(ctx context.Context, tx database.Tx, job Job, reason string, next int64) (Job,
	[]journal.Event, error) {
	job.State, job.Error, job.NextAttemptAt = Queued, &reason, &next
	job.CancelRequestedAt, job.cancelReason = nil, ""
	job.nodeID, job.owner, job.leaseUntil = "", "", 0
	return job, nil, saveJob(ctx, tx, job)
}

// ending is a job's final state, with the result of a completed job or the reason for any other state.
type ending struct {
	state  State
	reason string
	result json.RawMessage
}

// end moves a job into a final state, publishes its event, runs the definition's reconciliation, and prunes.
func (d decider) end(ctx context.Context, tx database.Tx, job *Job, final ending, now int64) ([]journal.Event, error) {
	job.State, job.CompletedAt, job.NextAttemptAt, job.leaseUntil = final.state, &now, nil, 0
	job.Result, job.Error, job.checkpoint = final.result, nil, nil
	if final.state != Completed {
		job.Error = &final.reason
	}
	// A node of a newer version may know a type that is unknown here.
	if definition, known := d.definitions[job.Type]; !known || !d.hooks && definition.OnTerminal != nil {
		job.reconcileAt = &now
	}
	if err := saveJob(ctx, tx, *job); err != nil {
		return nil, err
	}
	events, err := d.announce(ctx, tx, d.definitions[job.Type].OnTerminal, *job, now)
	if err != nil {
		return nil, err
	}
	return events, prune(ctx, tx, job.ProjectID, d.policy.Retention)
}

// announce stores the definition's contribution before it publishes the event of the job's new state. A subscriber of
// the event therefore finds the contribution stored.
func (d decider) announce(ctx context.Context, tx database.Tx, hook Contribution, job Job, now int64) (
	[]journal.Event, error) {
	var events []journal.Event
	if hook != nil && d.hooks {
		contributed, err := hook(ctx, tx, job)
		if err != nil {
			return nil, &hookError{job: job.ID, err: err}
		}
		events = contributed
	}
	event, err := jobEvent(eventName(job.State), job, now, nil)
	if err != nil {
		return nil, fmt.Errorf("encode the event of job %s: %w", job.ID, err)
	}
	return append(events, event), nil
}

// hookError is the error that a contribution returned.
type hookError struct {
	job string
	err error
}

func (e *hookError) Error() string { return "contribution to job " + e.job + ": " + e.err.Error() }
func (e *hookError) Unwrap() error { return e.err }

// cancel ends a queued job, or a running one if its definition allows that. It asks any other running job to end.
func (d decider) cancel(ctx context.Context, tx database.Tx, id, reason string, now int64) (Job,
	[]journal.Event, error) {
	job, err := readJob(ctx, tx, id)
	if errors.Is(err, ErrNotFound) {
		return Job{}, nil, journal.Refuse(err)
	}
	if err != nil {
		return Job{}, nil, err
	}
	switch {
	case job.State.Final():
		return Job{}, nil, journal.Refuse(&TerminalError{Job: job})
	case job.State == Queued:
		events, err := d.end(ctx, tx, &job, ending{state: Canceled, reason: reason}, now)
		return job, events, err
	case job.CancelRequestedAt == nil:
		job.CancelRequestedAt, job.cancelReason = &now, reason
	}
	// For a job of an unknown type, the node that runs it decides.
	if definition, known := d.definitions[job.Type]; known && definition.Cancel != InterruptTurn {
		events, err := d.end(ctx, tx, &job, ending{state: Canceled, reason: reason}, now)
		return job, events, err
	}
	wake, err := jobEvent(eventCancelRequested, job, now, nil)
	if err != nil {
		return Job{}, nil, err
	}
	return job, []journal.Event{wake}, saveJob(ctx, tx, job)
}

// settleOverdue ends canceled jobs after their grace period, and recovers jobs with an expired lease.
func (d decider) settleOverdue(ctx context.Context, tx database.Tx, now int64, expired func(*Job) bool) ([]Job, []journal.Event, error) {
	running, err := readJobs(ctx, tx, `state = 'running'`)
	if err != nil {
		return nil, nil, err
	}
	ended := now - d.policy.CancelGrace.Milliseconds()
	overdue := slices.DeleteFunc(running, func(job Job) bool {
		return (job.CancelRequestedAt == nil || *job.CancelRequestedAt > ended) && !expired(&job)
	})
	return d.settle(ctx, tx, overdue, nil, now)
}

// settle recovers jobs. claimer takes over jobs that can resume; it is nil at a stop.
func (d decider) settle(ctx context.Context, tx database.Tx, jobs []Job, who *claimant, now int64) ([]Job,
	[]journal.Event, error) {
	var all []journal.Event
	for i := range jobs {
		events, err := d.recoverJob(ctx, tx, &jobs[i], who, now)
		if err != nil {
			return nil, nil, err
		}
		all = append(all, events...)
	}
	return jobs, all, nil
}

// recoverJob decides what happens to a job after its process exited. An accepted cancel stays accepted; codex-manager
// lost it.
func (d decider) recoverJob(ctx context.Context, tx database.Tx, job *Job, who *claimant, now int64) (
	[]journal.Event, error) {
	definition, known := d.definitions[job.Type]
	if job.CancelRequestedAt != nil {
		reason := errorInterruptTimeout
		if job.cancelReason == errorShutdown {
			reason = errorShutdownTimeout
		}
		return d.end(ctx, tx, job, ending{state: Canceled, reason: reason}, now)
	}
	if known {
		if _, err := definition.Validate(job.Payload); err != nil {
			return d.end(ctx, tx, job, ending{state: Failed, reason: errorRecoveryPayload + strings.TrimSpace(err.Error())}, now)
		}
	}
	if job.State == Queued {
		return nil, nil
	}
	resumable := known && definition.Resumable && job.checkpoint != nil
	if resumable && who != nil {
		job.nodeID, job.owner, job.leaseUntil = who.node, who.owner, who.leaseUntil
		return nil, saveJob(ctx, tx, *job) // follow starts its run
	}
	if job.Attempts >= job.MaxAttempts && !resumable {
		return d.end(ctx, tx, job, ending{state: Failed, reason: errorMaxAttempts}, now)
	}
	requeued, _, err := d.requeue(ctx, tx, *job, errorRecovered, now)
	*job = requeued
	return nil, err
}

// recoverNode settles the jobs that an earlier process of this node left running, and queued jobs with an invalid
// payload. It does not change a queued job of an unknown type. It queues a running one again, which frees its project.
func (d decider) recoverNode(ctx context.Context, tx database.Tx, who claimant, now int64) ([]Job,
	[]journal.Event, error) {
	jobs, err := readJobs(ctx, tx, `state = 'queued' or (state = 'running' and node_id = $1 and owner <> $2)`,
		who.node, who.owner)
	if err != nil {
		return nil, nil, err
	}
	return d.settle(ctx, tx, jobs, &who, now)
}
