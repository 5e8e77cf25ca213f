package rpc

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"harness/api/rpc/events"
	"harness/api/rpc/registry"
	"harness/api/rpc/wire"
	"harness/internal/lib/javascript"
	"harness/stream"
)

func followMethods() []method {
	sessionID, space := text("session_id", "The session."), text("workspace_id", "The project.")
	spaceOnly := []param{space.must()}
	return []method{
		{name: registry.Watch, summary: "Be told what happens in a session.", role: roleViewer, scope: scopeRuntime,
			socket: true, params: []param{space.must(), sessionID.must(), agentParam()}, result: ref("WatchResult"),
			handle: watch},
		{name: "session/watch", summary: "As workspace/session/watch.", role: roleViewer, scope: scopeRuntime, socket: true,
			params: []param{sessionID.must(), agentParam()}, result: ref("WatchResult"), handle: watch},
		{name: registry.Unwatch, summary: "Be told no more; without a session, of the first one of the runtime.",
			role: roleViewer, scope: scopeRuntime, socket: true, params: []param{sessionID, agentParam()},
			result: ref("WatchResult"), handle: unwatch},
		{name: "session/unwatch", summary: "As workspace/session/unwatch.", role: roleViewer, scope: scopeRuntime,
			socket: true, params: []param{sessionID, agentParam()}, result: ref("WatchResult"), handle: unwatch},
		{name: "workspace/subscribe", summary: "Be told what happens to a workspace's list of sessions.", role: roleViewer,
			scope: scopeSocket, params: spaceOnly, result: object("success", "workspace_id", "subscribed"), handle: subscribe},
		{name: "workspace/unsubscribe", summary: "Be told no more of a workspace.", role: roleViewer, scope: scopeSocket,
			params: spaceOnly, result: object("success", "workspace_id", "subscribed"), handle: unsubscribe},
		{name: "workspace/subscriptions", summary: "The workspaces this socket subscribed to.", role: roleViewer,
			scope: scopeSocket, result: object("workspaces", "is_filtering", "count"), handle: subscriptions},
		{name: "workspace/subscribeAll", summary: "Be told of every workspace.", role: roleViewer, scope: scopeSocket,
			result: object("success", "is_filtering"), handle: subscribeAll},
		{name: "client/session/focus", summary: "Say which session is on the screen.", role: roleViewer, scope: scopeSocket,
			params: []param{space.must(), sessionID.must()},
			result: object("success", "other_viewers", "viewer_count", "workspace_id", "session_id"), handle: setFocus},
		{name: "events/resume", summary: "Get what was missed after a position.", role: roleViewer, scope: scopeSocket,
			params: []param{count("after", "The position of the last notification that was got.").must()},
			result: ref("Verdict"), handle: resume},
	}
}

// watchResult is what a socket follows now.
type watchResult struct {
	Status      string `json:"status"`
	Watching    bool   `json:"watching"`
	WorkspaceID string `json:"workspace_id"`
	SessionID   string `json:"session_id"`
}

func watch(_ context.Context, c *call) (any, error) {
	place := events.Place{Workspace: c.session.Owner(), Runtime: c.session.Runtime}
	c.peer.watch(c.session.ID, place)
	c.peer.setFocus(focus{place.Workspace, c.session.ID, place.Runtime})
	return watchResult{"watching", true, place.Workspace, c.session.ID}, nil
}

func unwatch(_ context.Context, c *call) (any, error) {
	id := ""
	if c.session != nil {
		id = c.session.ID
	}
	gone, place := c.peer.unwatch(id, c.agent)
	if gone != "" {
		c.peer.blur(gone)
	}
	return watchResult{"unwatched", false, place.Workspace, gone}, nil
}

// subscribed are the workspaces of a socket, sorted; mu is held.
func (p *peer) subscribed() []string {
	return append([]string{}, slices.Sorted(maps.Keys(p.workspaces))...)
}

type subscribeResult struct {
	Success     bool     `json:"success"`
	WorkspaceID string   `json:"workspace_id"`
	Subscribed  []string `json:"subscribed"`
}

func subscribe(_ context.Context, c *call) (any, error) {
	return c.changeSpaces(func(p *peer) { p.workspaces[c.text("workspace_id")] = true })
}

func unsubscribe(_ context.Context, c *call) (any, error) {
	return c.changeSpaces(func(p *peer) { delete(p.workspaces, c.text("workspace_id")) })
}

// maxSubscriptions bounds the workspaces of a socket.
const maxSubscriptions = 1000

func (c *call) changeSpaces(change func(*peer)) (any, error) {
	p := c.peer
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.workspaces) >= maxSubscriptions {
		return nil, failure(failedBusy, c.method.name,
			"Too many subscriptions; unsubscribe from some, or use workspace/subscribeAll", false)
	}
	change(p)
	p.see()
	return subscribeResult{true, c.text("workspace_id"), p.subscribed()}, nil
}

func subscriptions(_ context.Context, c *call) (any, error) {
	p := c.peer
	p.mu.Lock()
	defer p.mu.Unlock()
	list := p.subscribed()
	return struct {
		Workspaces []string `json:"workspaces"`
		Filtering  bool     `json:"is_filtering"`
		Count      int      `json:"count"`
	}{list, !p.allSpaces && len(list) > 0, len(list)}, nil
}

func subscribeAll(_ context.Context, c *call) (any, error) {
	p := c.peer
	p.mu.Lock()
	defer p.mu.Unlock()
	p.allSpaces, p.workspaces = true, map[string]bool{}
	p.see()
	return struct {
		Success   bool `json:"success"`
		Filtering bool `json:"is_filtering"`
	}{true, false}, nil
}

// maxViewers is how many viewers of a session are named, and notified of each other: in a crowd no viewer needs to know who
// comes.
const maxViewers = 50

// viewing are the sockets that have a session on their screen.
func (s *Server) viewing(sessionID string) (all []*peer) {
	s.each(func(p *peer) {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.focus.session == sessionID {
			all = append(all, p)
		}
	})
	return all
}

// ids are the names of sockets but one, sorted, as many as are named.
func ids(peers []*peer, but *peer) []string {
	named := []string{}
	for _, p := range peers {
		if p != but {
			named = append(named, p.id)
		}
	}
	slices.Sort(named)
	return named[:min(len(named), maxViewers)]
}

// setFocus puts another session on a socket's screen, and notifies the others who have it, or had it, there.
func (p *peer) setFocus(next focus) {
	p.mu.Lock()
	last := p.focus
	p.focus = next
	p.mu.Unlock()
	if last == next {
		return
	}
	p.tellViewers(events.Left, last)
	p.tellViewers(events.Joined, next)
}

// blur takes a session from the screen.
func (p *peer) blur(sessionID string) {
	p.mu.Lock()
	showing := p.focus.session == sessionID
	p.mu.Unlock()
	if showing {
		p.setFocus(focus{})
	}
}

// tellViewers notifies the others who have a session on their screen that one comes or goes.
func (p *peer) tellViewers(method string, about focus) {
	if about.session == "" {
		return
	}
	s := p.server
	all := s.viewing(about.session)
	others := slices.DeleteFunc(slices.Clone(all), func(other *peer) bool { return other == p || !other.wants(method) })
	if len(others) == 0 || len(all) > maxViewers {
		return
	}
	viewers := ids(all, nil)
	told := notification(method, struct {
		ClientID string   `json:"client_id"`
		Viewers  []string `json:"viewers"`
		Count    int      `json:"viewer_count"`
		common
	}{p.id, viewers, len(all),
		common{about.workspace, about.session, about.agent, javascript.ISOTime(s.opts.Clock().UnixMilli())}})
	for _, other := range others {
		other.socket.TrySend(told)
	}
}

func setFocus(ctx context.Context, c *call) (any, error) {
	found, err := c.find(ctx, c.text("session_id"))
	if err != nil {
		return nil, err
	}
	c.peer.setFocus(focus{found.Owner(), found.ID, found.Runtime})
	all := c.server.viewing(found.ID)
	others := ids(all, c.peer)
	return struct {
		Success     bool     `json:"success"`
		Others      []string `json:"other_viewers"`
		Count       int      `json:"viewer_count"`
		WorkspaceID string   `json:"workspace_id"`
		SessionID   string   `json:"session_id"`
	}{true, others, len(all), found.Owner(), found.ID}, nil
}

// resume answers by itself: the answer goes before what was missed, and what had not left yet is repeated behind it.
func resume(ctx context.Context, c *call) (any, error) {
	if c.request.Batched {
		return nil, &wire.Error{Code: wire.CodeInvalidRequest,
			Message: "Invalid request: events/resume goes alone, not in a batch"}
	}
	after, _ := c.params["after"].(int64)
	err := c.peer.socket.Resume(ctx, after, func(notice stream.Notice) *stream.Message {
		answer := json.RawMessage(nil)
		if !c.request.Notification() {
			answer = wire.Result(c.request.ID, events.VerdictOf(notice))
		} else {
			answer = wire.Notice(events.Gap, events.VerdictOf(notice))
		}
		return stream.NewMessage(len(answer), func(dst []byte) []byte { return append(dst, answer...) })
	})
	return wire.Sent{}, err
}
