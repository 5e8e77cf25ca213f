package queue

import "time"

// yield is the job that another node gets time to start, and the time since when it may (ms).
type yield struct {
	job   string
	since int64
}

// yieldTime is the time for which a free slot is reserved for another node: each node polls at least every Poll.
func (q *Queue) yieldTime() time.Duration { return 2 * q.opts.Poll }

// yields reports whether a slot is reserved for the node of the first job. After its time expired, a node gets no
// second wait until it started that job: it may be dead or draining, or may not know the job's type.
func (q *Queue) yields(c Candidate) bool {
	last, known := q.yielded[c.Node]
	return !known || last.job != c.ID || q.now() < last.since+q.yieldTime().Milliseconds()
}

// noteYielded stores the job that each node gets time for.
func (q *Queue) noteYielded(jobs map[string]string) {
	now := q.now()
	for node, job := range jobs {
		if q.yielded[node].job != job {
			q.yielded[node] = yield{job, now}
		}
	}
	for node := range q.yielded {
		if jobs[node] == "" {
			delete(q.yielded, node)
		}
	}
}
