package queue

import "time"

// leases is what one process knows of the leases of running jobs. A lease's stored end is written by the
// clock of the node that runs the job, which may be wrong: a lease counts as over when this process observed
// no renewal for its whole length.
type leases struct {
	lease  time.Duration
	seen   map[string]sighting // by job
	polled time.Time
}

// sighting is since when a lease is as it is.
type sighting struct {
	until int64
	since time.Time
}

// expired returns the running jobs whose leases ended, with their stored lease times. After half a lease
// without a poll all leases are timed anew: a process that could not read could not renew either.
func (l *leases) expired(running []Job, now time.Time) map[string]int64 {
	anew := now.Sub(l.polled) > l.lease/2
	before, expired := l.seen, map[string]int64{}
	l.seen, l.polled = make(map[string]sighting, len(running)), now
	for i := range running {
		job := &running[i]
		seen, known := before[job.ID]
		if !known || anew || seen.until != job.leaseUntil {
			seen = sighting{job.leaseUntil, now}
		}
		l.seen[job.ID] = seen
		if now.Sub(seen.since) >= l.lease {
			expired[job.ID] = job.leaseUntil
		}
	}
	return expired
}
