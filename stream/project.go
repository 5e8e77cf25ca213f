package stream

import (
	"cmp"
	"context"
	"encoding/json"
	"sync"
	"time"

	"harness/internal/platform/journal"
)

// Reach is the set of projects that a limited connection may see.
type Reach interface {
	// Has reports whether the set contains a project; "" means no project.
	Has(projectID string) bool
	// Key is equal for equal sets of projects.
	Key() string
}

// within returns the audience without the frames out of reach.
func (a audience) within(reach Reach) audience {
	if reach == nil {
		return a
	}
	all := a.sees
	a.key += "\x00" + reach.Key()
	a.sees = func(f *Frame) bool { return f.project != "" && reach.Has(f.project) && all(f) }
	return a
}

// projects caches the projects of sessions. Records that change them must arrive in order.
type projects struct {
	of func(ctx context.Context, sessionID string) (string, error)

	mu      sync.Mutex
	known   map[string]string
	changes int // grows with each change, so that a result read before a change is not cached after it
}

const (
	maxProjectsKnown = 10_000
	projectPatience  = 5 * time.Second
)

// observe updates the cache from a record.
func (p *projects) observe(record *journal.Record) {
	switch record.Type {
	case "session_created", "session.created", "session_project_updated", "session_deleted":
	default:
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.changes++
	delete(p.known, record.SessionID)
}

// project returns the project of a record: its session's current project or, without a session, the project that the
// record names.
func (p *projects) project(ctx context.Context, record *journal.Record) (string, error) {
	if record.SessionID == "" {
		return namedProject(record.Payload), nil
	}
	if p.of == nil {
		return "", nil
	}
	p.mu.Lock()
	project, known := p.known[record.SessionID]
	before := p.changes
	p.mu.Unlock()
	if known {
		return project, nil
	}
	ctx, cancel := context.WithTimeout(ctx, projectPatience)
	defer cancel()
	project, err := p.of(ctx, record.SessionID)
	if err != nil {
		return "", err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.changes == before {
		if p.known == nil || len(p.known) >= maxProjectsKnown {
			p.known = map[string]string{}
		}
		p.known[record.SessionID] = project
	}
	return project, nil
}

// namedProject returns the project that an event without a session is about, "" for none.
func namedProject(payload json.RawMessage) string {
	var named struct {
		ProjectID string `json:"projectId"`
		OfID      string `json:"project_id"`
		Project   struct {
			ProjectID string `json:"projectId"`
		} `json:"project"`
	}
	if json.Unmarshal(payload, &named) != nil {
		return ""
	}
	return cmp.Or(named.ProjectID, named.OfID, named.Project.ProjectID)
}

// owners are the projects of records, nil if no client is limited to projects.
type owners []string

func (o owners) at(i int) string {
	if o == nil {
		return ""
	}
	return o[i]
}

// lockKnowing locks h.mu and returns the projects of the records if a connection is limited to some. It reads the
// store without the lock.
func (h *Hub) lockKnowing(records []journal.Record) (of owners) {
	h.mu.Lock()
	for h.limited > 0 && of == nil {
		h.mu.Unlock()
		of = make(owners, len(records))
		var err error
		for i := 0; i < len(records) && err == nil; i++ {
			if records[i].Type == "session_deleted" { // it belonged to the cached project
				of[i], err = h.projects.project(context.Background(), &records[i])
				h.projects.observe(&records[i])
				continue
			}
			h.projects.observe(&records[i])
			of[i], err = h.projects.project(context.Background(), &records[i])
		}
		h.mu.Lock()
		if err != nil {
			h.opts.Logger.Error().Err(err).Msg("cannot find the projects of events; ending the streams limited to projects")
			for c := range h.clients {
				if c.reach != nil {
					c.end(closeInternal, "journal unavailable")
				}
			}
			break
		}
	}
	if of == nil {
		for i := range records {
			h.projects.observe(&records[i])
		}
	}
	return of
}

// assign sets the project of the record on its frames. It returns false when the project is unknown, which ends
// the client.
func (c *client) assign(frames []*shared, record journal.Record) bool {
	project, err := c.hub.projects.project(c.ctx, &record)
	if err != nil {
		if c.ctx.Err() == nil {
			c.hub.opts.Logger.Error().Err(err).Msg("a stream client limited to projects cannot catch up")
			c.end(closeInternal, "journal unavailable")
		}
		return false
	}
	for _, frame := range frames {
		frame.project = project
	}
	return true
}
