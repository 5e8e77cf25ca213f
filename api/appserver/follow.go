package appserver

import (
	"encoding/json"
	"sync"
	"time"

	"harness/api/door"
	"harness/internal/platform/auth"
	"harness/internal/runtime"
	"harness/internal/runtime/wire"
	"harness/internal/services/session"
)

// follow is a socket's view of one session.
type follow struct {
	peer       *peer
	id, cwd    string
	forSession bool // an approval may last for the session
	following  *door.Following[event]

	mu       sync.Mutex
	timer    *time.Timer
	ends     door.Texts
	asked    map[string]*asked // the open requests that the client has
	mine     map[string]bool   // requests that this client decides
	steered  door.Echoes       // the client has their items already
	repeated map[string]bool   // items that repeat such a text
	steers   []steer           // what the client added to the last turn that it steered
	listed   bool              // the client has read its history
	shown    map[string]bool   // the whole items that it got before that
}

// follow begins to follow a session, or begins anew. A held one waits for release. It returns nil once the socket has
// ended.
func (p *peer) follow(s session.Session, held bool) *follow {
	var can runtime.Capabilities
	_ = json.Unmarshal(s.Capabilities, &can) // unknown ones: an approval is for once
	f := &follow{peer: p, id: s.ID, cwd: s.Cwd, forSession: can.ApproveForSession, ends: door.Texts{},
		asked: map[string]*asked{}, mine: map[string]bool{}, repeated: map[string]bool{}}
	if !p.views.Open(s.ID, func(before *follow) *follow {
		if before != nil {
			before.End()
		}
		f.following = p.server.Follows.Attach(s.ID, held, f.give)
		return f
	}) {
		return nil
	}
	return f
}

// End implements door.View.
func (f *follow) End() {
	f.mu.Lock()
	if f.timer != nil {
		f.timer.Stop()
	}
	f.mu.Unlock()
	f.following.Detach()
}

// give sends an event to the client.
func (f *follow) give(e event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.shown != nil && e.Method == wire.MethodItemCompleted {
		f.shown[e.Item] = true
	}
	switch {
	case e.Deleted:
		f.peer.notify("thread/deleted", object{"threadId": f.id})
		f.peer.server.Desk.Background(func() { f.peer.views.Drop(f.id) })
	case e.Moved:
		if auth.ProjectsFrom(f.peer.Context) != nil {
			f.peer.server.Desk.Background(func() { f.peer.recheck(f.id) })
		}
	case e.Asked != nil:
		f.ask(&asked{id: e.Asked.ID, kind: e.Asked.Kind, method: e.Method, at: e.Asked.CreatedAt, params: e.Params,
			questions: e.Asked.Questions})
	case e.Settled != nil:
		f.settle(e.Settled)
	case e.Text != nil:
		f.delta(e)
	case e.Item != "" && f.repeats(e):
	default:
		f.around(e)
	}
}

// around sends a notification, and the status that changes with it.
func (f *follow) around(e event) {
	switch e.Method {
	case wire.MethodTurnStarted:
		f.status("active")
	case wire.MethodTurnCompleted:
		f.repeated = map[string]bool{}
		f.status("idle")
	}
	if f.peer.wants(e.Method) {
		f.peer.out.Put(e.message)
	}
}

func (f *follow) status(state string, flags ...string) {
	status := object{"type": state}
	if state == "active" {
		status["activeFlags"] = append([]string{}, flags...)
	}
	f.peer.notify(noticeStatus, object{"threadId": f.id, "status": status})
}

// delta sends the part of a text that the client does not have.
func (f *follow) delta(e event) {
	const most = 1000 // texts that grow at once
	if len(f.ends) > most {
		clear(f.ends)
	}
	switch from, ok := f.ends.Take(e.Item, e.Text, e.Pos > 0); {
	case !ok:
	case from == e.Text.Offset:
		f.peer.out.Put(e.message)
	default:
		f.peer.out.Put(e.after(from))
	}
}

// repeats reports whether an item is the runtime's echo of a message that the client already has as an item.
func (f *follow) repeats(e event) bool {
	if f.repeated[e.Item] {
		return true
	}
	if e.said == "" || !f.steered.Take(e.said) {
		return false
	}
	f.repeated[e.Item] = true
	return true
}

// expect prepares for the echo of a message, which comes after the turn if the runtime cannot be steered.
func (f *follow) expect(text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.steered.Expect(text)
}

// expectNot ends what expect prepared, for a message that was refused.
func (f *follow) expectNot(text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.steered.Take(text)
}

// has notes how much of a text the client has.
func (f *follow) has(item, into, text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ends[door.TextKey(item, into)] = door.Length(text)
}

// release sends an answer and then what was held. pos is the position of the state that the answer describes; whole are
// the items that it lists and that grow no more, nil for an answer that lists none.
func (f *follow) release(text []byte, pos int64, whole map[string]bool, more func()) {
	f.following.Release(func() func(event) bool {
		f.peer.out.Put(text)
		if more != nil {
			more()
		}
		return func(e event) bool { // an early text of a whole item has no position
			return whole != nil && e.Item != "" && e.Pos <= pos && (whole[e.Item] || e.Text == nil && e.Pos > 0)
		}
	})
}

// held releases a session whose history the client does not read. A busy client may read it later.
func (f *follow) held(wait time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.timer = time.AfterFunc(wait, func() {
		f.mu.Lock()
		if !f.listed {
			f.shown = map[string]bool{}
		}
		f.mu.Unlock()
		f.release(nil, 0, nil, nil)
	})
}

// list begins the client's first list. It returns the items that the client has already and would show twice.
func (f *follow) list() (shown map[string]bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	shown, f.listed, f.shown = f.shown, true, nil
	return shown
}
