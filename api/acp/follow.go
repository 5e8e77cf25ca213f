package acp

import (
	"strings"
	"sync"
	"time"

	"harness/api/door"
	"harness/internal/platform/auth"
	"harness/internal/runtime/acp/words"
	"harness/internal/runtime/wire"
	"harness/internal/services/session"
)

// follow is a socket's view of one session.
type follow struct {
	peer      *peer
	id        string
	session   session.Session // as the client knows it
	following *door.Following[event]

	showing sync.Mutex // held while the options are read and shown
	mu      sync.Mutex
	pos     int64 // of the event that is being sent
	late    bool  // the client catches up
	ends    door.Texts
	shown   map[string]*tool // the items that the client has
	effort  string           // of the next messages, "" for the model's own
	said    door.Echoes
	saidIn  map[string]int // messages of this client by turn, whose item it does not need
	prompts []*prompt
	over    []overTurn // the latest ended turns
	usage   usage

	asked   map[string]*asked // the open requests that the client has
	reading map[string]bool   // requests that are being read
	pointed map[string]bool   // questions whose place the client knows
}

// tool is an item that the client has: a tool's call, or a message.
type tool struct {
	ended  bool
	output string
	timer  *time.Timer
}

// follow begins to follow a session, or begins anew. A held one waits for release. It returns nil once the socket has
// ended.
func (p *peer) follow(s session.Session, held bool) *follow {
	f := &follow{peer: p, id: s.ID, session: s, ends: door.Texts{}, shown: map[string]*tool{}, saidIn: map[string]int{},
		asked: map[string]*asked{}, reading: map[string]bool{}, pointed: map[string]bool{}}
	if !p.views.Open(s.ID, func(before *follow) *follow {
		if before != nil {
			f.inherit(before)
		}
		f.following = p.server.Follows.Attach(s.ID, held, f.give)
		return f
	}) {
		return nil
	}
	return f
}

// inherit continues what another view of the session began, which ends.
func (f *follow) inherit(before *follow) {
	before.End()
	before.mu.Lock()
	defer before.mu.Unlock()
	f.effort, f.said, f.prompts, f.over, f.usage = before.effort, before.said, before.prompts, before.over, before.usage
	before.prompts = nil
}

// End implements door.View.
func (f *follow) End() {
	f.following.Detach()
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, one := range f.shown {
		if one.timer != nil {
			one.timer.Stop()
		}
	}
}

// give sends an event to the client.
func (f *follow) give(e event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.pos = e.Pos
	defer func() { f.pos = 0 }()
	switch {
	case e.Deleted:
		f.finishWith(f.prompts, outcome{reason: "The session was deleted."})
		f.peer.server.Desk.Background(func() { f.peer.views.Drop(f.id) })
	case e.Moved:
		if auth.ProjectsFrom(f.peer.Context) != nil {
			f.peer.server.Desk.Background(func() { f.peer.recheck(f.id) })
		}
	case e.queue:
		f.checkQueue()
	case e.options:
		f.optionsChanged()
	case e.Asked != nil:
		f.reading[e.Asked.ID] = true
		f.peer.server.Desk.Background(func() { f.askOpen(f.peer.Context, false) })
	case e.Settled != nil:
		f.settle(e.Settled.ID)
	case e.Method == wire.MethodCommandOutput:
		f.output(e)
	case e.Text != nil:
		f.delta(e)
	case e.Method == wire.MethodItemStarted || e.Method == wire.MethodItemCompleted:
		f.sendAll(f.item(wire.Members(e.Params, "item")[0], e.Method == wire.MethodItemCompleted,
			wire.Text(wire.Members(e.Params, "turnId")[0])))
	default:
		f.around(e)
	}
}

// around sends what is about a turn or the session.
func (f *follow) around(e event) {
	switch e.Method {
	case wire.MethodTurnStarted:
		f.checkQueue()
		f.optionsChanged() // the message of the turn may have changed them
	case wire.MethodTurnCompleted:
		f.turnEnded(wire.Members(e.Params, "turn")[0])
	case wire.MethodTurnPlan:
		f.send(planUpdate(wire.Members(e.Params, "plan")[0]))
	case wire.MethodTokenUsage:
		f.used(e.Params)
	case wire.MethodThreadNamed:
		if title := wire.Text(wire.Members(e.Params, "threadName")[0]); title != "" {
			f.send(titleUpdate(title, f.peer.server.opts.Clock().UnixMilli()))
		}
	case wire.MethodWarning:
		f.send(aside(wire.Text(wire.Members(e.Params, "message")[0])))
	case wire.MethodError:
		given := wire.Members(e.Params, "willRetry", "error")
		if string(given[0]) == "true" {
			f.send(aside(wire.Text(wire.Members(given[1], "message")[0])))
		}
	}
}

// meta is what a client needs to go on after a lost connection: the position of an update, and the end of a text.
type meta struct {
	Pos  int64  `json:"pos,omitempty"`
	Text string `json:"text,omitempty"`
	End  int64  `json:"end,omitempty"`
}

// message encodes an update of the session. about says more of it than its position.
func (f *follow) message(update object, about meta) []byte {
	params := object{"sessionId": f.id, "update": update}
	if about.Pos = f.pos; about != (meta{}) {
		params["_meta"] = object{"harness": about}
	}
	return form.Request("", words.Update, params)
}

// send sends an update, unless it is nil. It requires f.mu.
func (f *follow) send(update object) {
	if update != nil {
		f.peer.out.Put(f.message(update, meta{}))
	}
}

func (f *follow) sendAll(updates []object) {
	for _, update := range updates {
		f.send(update)
	}
}

// sendUpdate is send for callers without f.mu.
func (f *follow) sendUpdate(update object) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.send(update)
}

// notice shows a text of the server, "" for none.
func (f *follow) notice(text string) { f.sendUpdate(aside(text)) }

// aside is a text that is not the agent's, nil for none.
func aside(text string) object {
	if text = strings.TrimSpace(text); text == "" {
		return nil
	}
	return object{"sessionUpdate": "agent_thought_chunk", "content": textBlock("*" + text + "*\n\n")}
}

func textBlock(text string) object { return object{"type": "text", "text": text} }
