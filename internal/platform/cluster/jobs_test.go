//go:build cluster && linux

package cluster_test

import (
	"encoding/json"
	"net/http"

	"harness/internal/platform/journal"
)

// enqueue creates a job at any node, with a session of its own.
func (p *trio) enqueue() { p.enqueueWith(object{}) }

func (p *trio) enqueueWith(body object) (job string) {
	p.t.Helper()
	session := p.session()
	turn := p.send(session, "MOCK_REPLY[Now run the tests.]")
	p.eventually("does the turn end", func() bool { return p.turn(turn) != "inProgress" })
	return p.enqueueAt(session, body)
}

func (p *trio) enqueueAt(session string, body object) (job string) {
	p.t.Helper()
	answer := p.want(p.anyNode(), http.StatusAccepted, http.MethodPost, "/api/sessions/"+session+"/suggested-request/jobs", body)
	job = answer["jobId"].(string)
	p.jobs = append(p.jobs, job)
	return job
}

func (p *trio) awaitJobs() {
	p.t.Helper()
	for _, job := range p.jobs {
		const over = `select count(*) from jobs where id = $1 and state not in ('queued', 'running')`
		p.eventually("does a job end", func() bool { return p.count(over, job) == 1 })
	}
}

// checkJobs checks that each job has ended, exactly once.
func (p *trio) checkJobs() {
	p.t.Helper()
	finished := map[string]int{}
	p.readJournal(func(r journal.Record) {
		var job struct{ JobID string }
		if r.Type == "orchestrator_job_completed" && json.Unmarshal(r.Payload, &job) == nil {
			finished[job.JobID]++
		}
	})
	for _, job := range p.jobs {
		if finished[job] != 1 {
			var state, said string
			if err := p.db.Read().QueryRowContext(p.t.Context(), `select state, coalesce(error, '') from jobs where id = $1`, job).
				Scan(&state, &said); err != nil {
				p.t.Fatal(err)
			}
			p.violated("job %s was finished %d times, and is %s: %s", job, finished[job], state, said)
		}
	}
}
