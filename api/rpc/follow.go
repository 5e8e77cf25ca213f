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
		{name: registry.Watch, summary: "Receive the events of a session.", role: roleViewer, scope: scopeRuntime,
			socket: true, params: []param{space.must(), sessionID.must(), agentParam()}, result: ref("WatchResult"),
			handle: watch},
		{name: "session/watch", summary: "As workspace/session/watch.", role: roleViewer, scope: scopeRuntime, socket: true,
			params: []param{sessionID.must(), agentParam()}, result: ref("WatchResult"), handle: watch},
		{name: registry.Unwatch, summary: "Stop receiving them; without a session, those of the runtime's first one.",
			role: roleViewer, scope: scopeRuntime, socket: true, params: []param{sessionID, agentParam()},
			result: ref("WatchResult"), handle: unwatch},
		{name: "session/unwatch", summary: "As workspace/session/unwatch.", role: roleViewer, scope: scopeRuntime,
			socket: true, params: []param{sessionID, agentParam()}, result: ref("WatchResult"), handle: unwatch},
		{name: "workspace/subscribe", summary: "Receive changes of a workspace's list of sessions.", role: roleViewer,
			scope: scopeSocket, params: spaceOnly, result: object("success", "workspace_id", "subscribed"), handle: subscribe},
		{name: "workspace/unsubscribe", summary: "Stop receiving changes of a workspace.", role: roleViewer, scope: scopeSocket,
			params: spaceOnly, result: object("success", "workspace_id", "subscribed"), handle: unsubscribe},
		{name: "workspace/subscriptions", summary: "The workspaces that this socket subscribes to.", role: roleViewer,
			scope: scopeSocket, result: object("workspaces", "is_filtering", "count"), handle: subscriptions},
		{name: "workspace/subscribeAll", summary: "Receive changes of every workspace.", role: roleViewer, scope: scopeSocket,
			result: object("success", "is_filtering"), handle: subscribeAll},
		{name: "client/session/focus", summary: "Report which session is on the screen.", role: roleViewer, scope: scopeSocket,
			params: []param{space.must(), sessionID.must()},
			result: object("success", "other_viewers", "viewer_count", "workspace_id", "session_id"), handle: setFocus},
		{name: "events/resume", summary: "Receive the events after a position.", role: roleViewer, scope: scopeSocket,
			params: []param{count("after", "The position of the last notification received.").must()},
			result: ref("Verdict"), handle: resume},
	}
}

// watchResult is what a socket now watches.
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

// subscribed returns the workspaces of a socket, sorted; requires mu.
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

// maxSubscriptions limits the workspaces of a socket.
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

// maxViewers limits how many viewers of a session are named and notified of each other. With more viewers, no viewer
// needs to know who joins.
const maxViewers = 50

// viewing returns the sockets that have a session on their screen.
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

// ids returns the sorted names of sockets except one, at most maxViewers.
func ids(peers []*peer, but *peer) []string {
	named := []string{}
	for _, p := range peers {
		if p != but {
			named = append(named, p.ID)
		}
	}
	slices.Sort(named)
	return named[:min(len(named), maxViewers)]
}

// setFocus shows another session on a socket's screen, and notifies the other viewers of the old and the new session.
func (p *peer) setFocus(next focus) {
	p.mu.Lock()
	last := p.focus
	p.focus = next
	p.mu.Unlock()
	if last == next {
		return
	}
	p.notifyViewers(events.Left, last)
	p.notifyViewers(events.Joined, next)
}

// blur removes a session from the socket's screen.
func (p *peer) blur(sessionID string) {
	p.mu.Lock()
	showing := p.focus.session == sessionID
	p.mu.Unlock()
	if showing {
		p.setFocus(focus{})
	}
}

// notifyViewers notifies the other viewers of a session that a socket joins or leaves.
func (p *peer) notifyViewers(method string, about focus) {
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
	notice := notification(method, struct {
		ClientID string   `json:"client_id"`
		Viewers  []string `json:"viewers"`
		Count    int      `json:"viewer_count"`
		common
	}{p.ID, viewers, len(all),
		common{about.workspace, about.session, about.agent, javascript.ISOTime(s.opts.Clock().UnixMilli())}})
	for _, other := range others {
		other.Socket.TrySend(notice)
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

// resume sends its response itself. The response precedes the missed events, and undelivered events follow it again.
func resume(ctx context.Context, c *call) (any, error) {
	if c.request.Batched {
		return nil, &wire.Error{Code: wire.CodeInvalidRequest,
			Message: "Invalid request: events/resume goes alone, not in a batch"}
	}
	after, _ := c.params["after"].(int64)
	err := c.peer.Socket.Resume(ctx, after, func(notice stream.Notice) *stream.Message {
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
