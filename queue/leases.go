package queue

import "time"

// leases is what one process sees of the leases of running jobs. When one ends is written by the clock of the node that
// runs the job, which may be wrong: a lease counts as over when it has not been renewed before our eyes for as long as it
// lasts.
type leases struct {
	lease  time.Duration
	seen   map[string]sighting // by job
	looked time.Time
}

// sighting is since when a lease is as it is.
type sighting struct {
	until int64
	since time.Time
}

// silent are the jobs of those running whose leases are over, and what stands in the store of each. After half a lease
// without a look all are watched anew: whoever could not read might as little have renewed.
func (l *leases) silent(running []Job, now time.Time) map[string]int64 {
	anew := now.Sub(l.looked) > l.lease/2
	before, silent := l.seen, map[string]int64{}
	l.seen, l.looked = make(map[string]sighting, len(running)), now
	for i := range running {
		job := &running[i]
		seen, known := before[job.ID]
		if !known || anew || seen.until != job.leaseUntil {
			seen = sighting{job.leaseUntil, now}
		}
		l.seen[job.ID] = seen
		if now.Sub(seen.since) >= l.lease {
			silent[job.ID] = job.leaseUntil
		}
	}
	return silent
}
