package queue

import "time"

// leases is one process's view of the leases of running jobs. The clock of the job's node sets the stored end of a
// lease, and that clock may be wrong. A lease therefore ends when this process observed no renewal for the length of a
// lease.
type leases struct {
	lease  time.Duration
	seen   map[string]observation // by job
	polled time.Time
}

// observation is the time when this process first saw the current state of a lease.
type observation struct {
	until int64
	since time.Time
}

// expired returns the running jobs whose leases ended, with their stored lease times. After half a lease without a poll
// it restarts the timers of all leases: a process that could not read could not renew either.
func (l *leases) expired(running []Job, now time.Time) map[string]int64 {
	anew := now.Sub(l.polled) > l.lease/2
	before, expired := l.seen, map[string]int64{}
	l.seen, l.polled = make(map[string]observation, len(running)), now
	for i := range running {
		job := &running[i]
		seen, known := before[job.ID]
		if !known || anew || seen.until != job.leaseUntil {
			seen = observation{job.leaseUntil, now}
		}
		l.seen[job.ID] = seen
		if now.Sub(seen.since) >= l.lease {
			expired[job.ID] = job.leaseUntil
		}
	}
	return expired
}
