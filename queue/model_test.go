package queue

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"
)

// model is a second implementation of the queue's contract, in memory and as plain as possible. The store must agree
// with it after every step.
type model struct {
	policy Policy
	modes  map[string]DedupeMode
	asks   map[string]bool // types whose running jobs must be asked to end
	jobs   []*modelJob
	burst  map[string]int
	events []string
	nextID int
}

type modelJob struct {
	id, project, kind, key, payload string
	priority                        Priority
	state                           State
	attempts, max                   int
	created, next, cancelAt, done   int64 // next and cancelAt: -1 for none
	reason, err, node, owner        string
	lease                           int64
}

func (m *model) emit(name string, j *modelJob) { m.events = append(m.events, name+" "+j.id) }

func (m *model) active(project string) (n int) {
	for _, j := range m.jobs {
		if !j.state.Final() && (project == "" || j.project == project) {
			n++
		}
	}
	return n
}

func (m *model) enqueue(project, kind, key, payload string, priority Priority, now int64) string {
	mode := m.modes[kind]
	if key != "" && mode != DedupeNone {
		for _, j := range m.jobs {
			if j.project != project || j.kind != kind || j.key != key || mode != DropDuplicate && j.state.Final() {
				continue
			}
			if mode == MergeDuplicate {
				j.payload = `{"n":0}`
			}
			return "already_queued " + j.id
		}
	}
	if m.active("") >= m.policy.MaxGlobal {
		return "orchestrator queue is at global capacity"
	}
	if m.active(project) >= m.policy.MaxPerProject {
		return "orchestrator queue is at project capacity"
	}
	m.nextID++
	j := &modelJob{id: modelID(m.nextID), project: project, kind: kind, key: key, payload: payload, priority: priority,
		state: Queued, max: m.policy.MaxAttempts, created: now, next: -1, cancelAt: -1}
	m.jobs = append(m.jobs, j)
	m.emit("orchestrator_job_queued", j)
	return "enqueued " + j.id
}

func modelID(n int) string { return fmt.Sprintf("job-%04d", n) }

func (m *model) running(project string) (n int) {
	for _, j := range m.jobs {
		if j.state == Running && (project == "" || j.project == project) {
			n++
		}
	}
	return n
}

// claim follows the contract: each idle project selects a job, then claim takes the best of those.
func (m *model) claim(node, owner string, lease, now int64) {
	for m.running("") < m.policy.Concurrency {
		type choice struct {
			job    *modelJob
			forced bool
		}
		var choices []choice
		projects := map[string][]*modelJob{}
		for _, j := range m.jobs {
			if j.state == Queued && (j.next < 0 || j.next <= now) && m.running(j.project) == 0 {
				projects[j.project] = append(projects[j.project], j)
			}
		}
		for project, ready := range projects {
			sort.Slice(ready, func(a, b int) bool { return older(ready[a], ready[b]) })
			oldest := func(p Priority) *modelJob {
				for _, j := range ready {
					if j.priority == p {
						return j
					}
				}
				return nil
			}
			interactive, background := oldest(Interactive), oldest(Background)
			switch {
			case background != nil && now-background.created >= m.policy.BackgroundAging.Milliseconds() &&
				m.burst[project] >= m.policy.MaxBurst:
				choices = append(choices, choice{background, true})
			case interactive != nil:
				choices = append(choices, choice{interactive, false})
			default:
				choices = append(choices, choice{background, false})
			}
		}
		if len(choices) == 0 {
			return
		}
		sort.Slice(choices, func(a, b int) bool {
			x, y := choices[a], choices[b]
			if x.forced != y.forced {
				return x.forced
			}
			if x.job.priority != y.job.priority && !x.forced {
				return x.job.priority == Interactive
			}
			return older(x.job, y.job)
		})
		j := choices[0].job
		j.state, j.attempts, j.err, j.next, j.cancelAt, j.reason = Running, j.attempts+1, "", -1, -1, ""
		j.node, j.owner, j.lease = node, owner, lease
		if m.burst[j.project]++; j.priority == Background {
			m.burst[j.project] = 0
		}
		m.emit("orchestrator_job_started", j)
	}
}

func older(a, b *modelJob) bool {
	return a.created < b.created || a.created == b.created && a.id < b.id
}

func (m *model) find(id string) *modelJob {
	for _, j := range m.jobs {
		if j.id == id {
			return j
		}
	}
	return nil
}

func (m *model) end(j *modelJob, state State, reason string, now int64) {
	j.state, j.err, j.next, j.done = state, reason, -1, now
	m.emit("orchestrator_job_"+string(state), j)
	// Retention: the newest failed, then canceled, then completed ones.
	var kept []*modelJob
	for _, other := range m.jobs {
		if other.project == j.project && other.state.Final() {
			kept = append(kept, other)
		}
	}
	class := map[State]int{Failed: 0, Canceled: 1, Completed: 2}
	sort.Slice(kept, func(a, b int) bool {
		x, y := kept[a], kept[b]
		if class[x.state] != class[y.state] {
			return class[x.state] < class[y.state]
		}
		return x.done > y.done || x.done == y.done && x.id > y.id
	})
	if len(kept) > m.policy.Retention {
		gone := kept[m.policy.Retention:]
		m.jobs = slices.DeleteFunc(m.jobs, func(j *modelJob) bool { return slices.Contains(gone, j) })
	}
}

func (m *model) requeue(j *modelJob, reason string, next int64) {
	j.state, j.err, j.next, j.cancelAt, j.reason, j.node, j.owner = Queued, reason, next, -1, "", "", ""
}

func (m *model) finish(id, owner string, attempt int, failure string, now int64) string {
	j := m.find(id)
	if j == nil || j.state != Running || j.owner != owner || j.attempts != attempt {
		return "fenced"
	}
	switch {
	case j.cancelAt >= 0:
		m.end(j, Canceled, "cancel_requested", now)
	case failure == "":
		m.end(j, Completed, "", now)
	case strings.Contains(failure, "timeout") && j.attempts < j.max:
		m.requeue(j, failure, now+int64(j.attempts-1)*60)
	default:
		m.end(j, Failed, failure, now)
	}
	return "finished"
}

func (m *model) cancel(id string, now int64) string {
	j := m.find(id)
	switch {
	case j == nil:
		return "not found"
	case j.state.Final():
		return "over"
	case j.state == Queued, !m.asks[j.kind]:
		if j.state == Running && j.cancelAt < 0 {
			j.cancelAt = now
		}
		m.end(j, Canceled, "api_cancel", now)
		return "canceled"
	}
	if j.cancelAt < 0 {
		j.cancelAt = now
	}
	m.emit("queue.cancel_requested", j)
	return "asked"
}

func (m *model) recover(j *modelJob, now int64) {
	switch {
	case j.cancelAt >= 0:
		m.end(j, Canceled, "interrupt_timeout", now)
	case j.state == Queued:
	case j.attempts >= j.max:
		m.end(j, Failed, "recovery_max_attempts_exceeded", now)
	default:
		m.requeue(j, "recovered_from_running_state", now)
	}
}

func (m *model) sorted() []*modelJob {
	jobs := slices.Clone(m.jobs)
	sort.Slice(jobs, func(a, b int) bool { return older(jobs[a], jobs[b]) })
	return jobs
}

func (m *model) settleOverdue(now int64) {
	for _, j := range m.sorted() {
		if j.state == Running && (j.cancelAt >= 0 && j.cancelAt <= now-m.policy.CancelGrace.Milliseconds() ||
			j.lease <= now) {
			m.recover(j, now)
		}
	}
}

func (m *model) recoverNode(node, owner string, now int64) {
	for _, j := range m.sorted() {
		if j.state == Queued || j.state == Running && j.node == node && j.owner != owner {
			m.recover(j, now)
		}
	}
}

// show formats the fields of a job by which the store and the model are compared.
func (j *modelJob) show() string {
	at := func(ms int64) string {
		if ms < 0 {
			return "-"
		}
		return fmt.Sprint(ms)
	}
	return fmt.Sprintf("%s %s %s key=%s %s %s %s %d/%d next=%s cancel=%s err=%q owner=%s", j.id, j.project, j.kind, j.key,
		j.payload, j.priority, j.state, j.attempts, j.max, at(j.next), at(j.cancelAt), j.err, j.owner)
}

func showJob(j Job) string {
	text := func(t *string) string {
		if t == nil {
			return ""
		}
		return *t
	}
	at := func(ms *int64) string {
		if ms == nil {
			return "-"
		}
		return fmt.Sprint(*ms)
	}
	return fmt.Sprintf("%s %s %s key=%s %s %s %s %d/%d next=%s cancel=%s err=%q owner=%s", j.ID, j.ProjectID, j.Type,
		text(j.DedupeKey), j.Payload, j.Priority, j.State, j.Attempts, j.MaxAttempts, at(j.NextAttemptAt),
		at(j.CancelRequestedAt), text(j.Error), j.owner)
}

func modelPolicy() Policy {
	return Policy{Concurrency: 2, MaxGlobal: 7, MaxPerProject: 4, MaxAttempts: 2, BackgroundAging: 15 * time.Second,
		MaxBurst: 2, Retention: 3, CancelGrace: 1500 * time.Millisecond}.withDefaults()
}
