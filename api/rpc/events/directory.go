package events

import "sync"

// Place is where a session belongs: its workspace, "" for none, and its runtime.
type Place struct{ Workspace, Runtime string }

// Directory stores the places of the sessions that a client watches.
type Directory struct {
	mu      sync.Mutex
	entries map[string]*entry
}

type entry struct {
	place Place
	uses  int
	since int64 // the record that moved it
}

// NewDirectory creates an empty Directory.
func NewDirectory() *Directory { return &Directory{entries: map[string]*entry{}} }

// Use records where a session belongs; call Drop for each Use.
func (d *Directory) Use(session string, place Place) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if known := d.entries[session]; known != nil {
		known.uses++
		return
	}
	d.entries[session] = &entry{place: place, uses: 1}
}

// Drop reverts one Use.
func (d *Directory) Drop(session string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if known := d.entries[session]; known != nil {
		if known.uses--; known.uses <= 0 {
			delete(d.entries, session)
		}
	}
}

// of returns a session's place, the zero value for a session without watchers.
func (d *Directory) of(session string) Place {
	d.mu.Lock()
	defer d.mu.Unlock()
	if known := d.entries[session]; known != nil {
		return known.place
	}
	return Place{}
}

// moved records that the record at a position moved a session to another workspace. Replaying older records changes
// nothing.
func (d *Directory) moved(session, workspace string, pos int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if known := d.entries[session]; known != nil && pos > known.since {
		known.place.Workspace, known.since = workspace, pos
	}
}
