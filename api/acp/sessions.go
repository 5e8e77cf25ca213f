package acp

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"strings"
	"time"

	"harness/api/door"
	"harness/internal/operations"
	"harness/internal/platform/auth"
	"harness/internal/runtime"
	"harness/internal/runtime/wire"
	"harness/internal/services/session"
	"harness/stream"
)

// opened are the parameters of the methods that open a session.
type opened struct {
	SessionID  string `json:"sessionId"`
	Cwd        *string
	MCPServers []struct {
		Name string `json:"name"`
	} `json:"mcpServers"`
	Folders []string `json:"additionalDirectories"`
	Meta    struct {
		Harness resumption `json:"harness"`
	} `json:"_meta"`
}

// resumption is what a client had when its connection was lost: everything up to a position, the ends of the texts
// that grew, and the keys of its prompts without an answer.
type resumption struct {
	After *int64           `json:"after"`
	Texts map[string]int64 `json:"texts"`
	Keys  []string         `json:"keys"`
}

// open reads the parameters. A client's own MCP servers are never given to an agent.
func (c *call) open() (in opened, err error) {
	if err := c.read(&in); err != nil {
		return in, err
	}
	if in.Cwd != nil && !filepath.IsAbs(*in.Cwd) {
		return in, door.Invalid("cwd is not absolute")
	}
	c.session = in.SessionID
	return in, nil
}

// unused says what of the parameters is not used, "" for nothing.
func (in opened) unused() string {
	var lost []string
	for _, one := range in.MCPServers {
		lost = append(lost, "MCP server "+one.Name)
	}
	for _, one := range in.Folders {
		lost = append(lost, "folder "+one)
	}
	if len(lost) == 0 {
		return ""
	}
	return "This server does not give the agent of the session: " + strings.Join(lost, ", ") + "."
}

func newSession(ctx context.Context, c *call) (any, error) {
	in, err := c.open()
	if err != nil {
		return nil, err
	}
	if in.Cwd == nil {
		return nil, door.Invalid("cwd is required")
	}
	want := session.Create{Runtime: c.runtime, RuntimeNamed: true, Cwd: *in.Cwd}
	if limit := auth.ProjectsFrom(ctx); limit != nil {
		ids := limit.IDs()
		if len(ids) != 1 {
			return nil, &operations.LimitedError{Reason: "a client of this protocol cannot name one of several projects"}
		}
		want.ProjectID = ids[0]
	}
	made, err := c.ops().Create(ctx, want)
	if err != nil {
		return nil, err
	}
	return c.began(ctx, made, in, object{"sessionId": made.ID})
}

func forkSession(ctx context.Context, c *call) (any, error) {
	in, err := c.open()
	if err != nil {
		return nil, err
	}
	from, err := c.ops().Find(ctx, in.SessionID)
	if err != nil {
		return nil, err
	}
	if !canDo(from).Fork {
		return nil, &door.Failure{Code: door.CodeNotOffered, Message: "the runtime " + from.Runtime + " cannot fork a session"}
	}
	made, err := c.ops().Fork(ctx, in.SessionID)
	if err != nil {
		return nil, err
	}
	return c.began(ctx, made, in, object{"sessionId": made.ID})
}

// canDo returns the capabilities of a session's runtime.
func canDo(s session.Session) runtime.Capabilities {
	var can runtime.Capabilities
	_ = json.Unmarshal(s.Capabilities, &can) // unknown ones: it can do little
	return can
}

// began follows a new session and answers with what it offers.
func (c *call) began(ctx context.Context, made session.Session, in opened, view object) (any, error) {
	c.session = made.ID
	f := c.follow(made, false)
	if f == nil {
		return nil, context.Canceled
	}
	maps.Copy(view, f.offers(ctx, made))
	c.after = append(c.after, func() {
		f.introduce(made, false)
		f.notice(in.unused())
	})
	return view, nil
}

// loadSession sends all of a session's transcript, answers, and follows it from there.
func loadSession(ctx context.Context, c *call) (any, error) {
	return c.attach(ctx, func(f *follow, _ opened) (func(event) bool, int64, error) {
		f.introduce(f.session, true)
		return f.replay(ctx)
	})
}

// resumeSession follows a session. A client that names what it had gets what it lacks first.
func resumeSession(ctx context.Context, c *call) (any, error) {
	return c.attach(ctx, func(f *follow, in opened) (func(event) bool, int64, error) {
		if in.Meta.Harness.After != nil {
			return f.catchUp(ctx, in.Meta.Harness)
		}
		now, _, err := c.ops().Read(ctx, f.id, operations.Reading{Limit: 1})
		return nil, now.Pos, err
	})
}

// attach follows a session from the position that send reached, and asks its open requests. The runtime is not loaded
// before a turn.
func (c *call) attach(ctx context.Context, send func(*follow, opened) (func(event) bool, int64, error)) (any, error) {
	in, err := c.open()
	if err != nil {
		return nil, err
	}
	if in.SessionID == "" {
		return nil, door.Invalid("sessionId is required")
	}
	found, err := c.ops().Find(ctx, in.SessionID)
	if err != nil {
		return nil, err
	}
	f := c.follow(found, true) // before anything is read, so that nothing falls between
	if f == nil {
		return nil, context.Canceled
	}
	view := f.offers(ctx, found)
	drop, pos, err := send(f, in)
	if err != nil {
		c.views.Drop(found.ID)
		return nil, err
	}
	view["_meta"] = object{"harness": meta{Pos: pos}}
	c.send = func(answer []byte) {
		f.following.Release(func() func(event) bool {
			c.out.Put(answer)
			return drop
		})
	}
	c.after = append(c.after, func() {
		if in.Meta.Harness.After == nil {
			f.notice(in.unused())
		}
		f.askOpen(ctx, true)
	})
	return view, nil
}

// introduce sends what clients show around a conversation: its commands, and its title.
func (f *follow) introduce(s session.Session, titled bool) {
	commands := []object{}
	can := canDo(s)
	if can.Compact {
		commands = append(commands, object{"name": commandCompact, "description": "Shorten the context of the session."})
	}
	if can.Review {
		commands = append(commands, object{"name": commandReview, "description": "Review the changes that are not committed.",
			"input": object{"hint": "instructions instead"}})
	}
	if len(commands) > 0 {
		f.sendUpdate(object{"sessionUpdate": "available_commands_update", "availableCommands": commands})
	}
	if titled {
		title, _ := s.Shown()
		f.sendUpdate(titleUpdate(title, s.UpdatedAt))
	}
}

func titleUpdate(title string, at int64) object {
	return object{"sessionUpdate": "session_info_update", "title": title, "updatedAt": timeOf(at)}
}

func timeOf(ms int64) string { return time.UnixMilli(ms).UTC().Format(time.RFC3339Nano) }

// listSessions lists the sessions of this connection's runtime.
func listSessions(ctx context.Context, c *call) (any, error) {
	var in struct{ Cwd, Cursor string }
	if err := c.read(&in); err != nil {
		return nil, err
	}
	page, err := c.ops().List(ctx, session.ListQuery{Runtime: c.runtime, Cursor: in.Cursor})
	if err != nil {
		return nil, err
	}
	all := []object{}
	for _, one := range page.Sessions {
		if in.Cwd == "" || in.Cwd == one.Cwd {
			title, _ := one.Shown()
			all = append(all, object{"sessionId": one.ID, "cwd": one.Cwd, "title": title, "updatedAt": timeOf(one.UpdatedAt)})
		}
	}
	view := object{"sessions": all}
	if page.NextCursor != "" {
		view["nextCursor"] = page.NextCursor
	}
	return view, nil
}

// named reads the session that a method names.
func (c *call) named() (string, error) {
	var in struct {
		SessionID string `json:"sessionId"`
	}
	if err := c.read(&in); err != nil {
		return "", err
	}
	if in.SessionID == "" {
		return "", door.Invalid("sessionId is required")
	}
	c.session = in.SessionID
	return in.SessionID, nil
}

func deleteSession(ctx context.Context, c *call) (any, error) {
	id, err := c.named()
	if err == nil {
		_, err = c.ops().Delete(ctx, id)
	}
	return object{}, err
}

// closeSession ends what the socket gets of a session, and the turns that this socket asked for. Others may follow it.
func closeSession(ctx context.Context, c *call) (any, error) {
	id, err := c.named()
	if err != nil {
		return nil, err
	}
	if _, err := c.ops().Find(ctx, id); err != nil {
		return nil, err
	}
	if f := c.views.Of(id); f != nil {
		f.mu.Lock()
		c.ended = len(f.prompts) > 0
		f.mu.Unlock()
		err = f.cancel(ctx, math.MaxInt)
		f.finishAll(outcome{status: runtime.TurnInterrupted})
		c.views.Drop(id)
	}
	return object{}, err
}

// recheck ends what the socket gets of a session that left the caller's projects.
func (p *peer) recheck(id string) {
	if p.ops().CheckSession(p.Context, id) != nil {
		p.views.Drop(id)
	}
}

// catchUp sends the stored events after a position, for a client that had the earlier ones.
func (f *follow) catchUp(ctx context.Context, had resumption) (drop func(event) bool, pos int64, err error) {
	f.mu.Lock()
	f.ends, f.late = had.Texts, true
	if f.ends == nil {
		f.ends = door.Texts{}
	}
	f.mu.Unlock()
	for _, key := range had.Keys {
		turn, err := f.peer.ops().TurnForKey(ctx, f.id, keyOf(f.id, key))
		if err != nil {
			return nil, 0, err
		}
		f.mu.Lock()
		f.saidIn[turn]++
		f.mu.Unlock()
	}
	whole := map[string]bool{} // items that grow no more
	after := had.After
	for pos = *after; after != nil; {
		page, err := f.peer.ops().Events(ctx, stream.Browse{Session: f.id, After: after, Limit: operations.MaxReport})
		if err != nil {
			return nil, 0, fmt.Errorf("read what the client lacks: %w", err)
		}
		for _, one := range page.Events {
			if e, ok := show(one.Record); ok && e.Asked == nil {
				f.give(e)
				whole[e.Item] = whole[e.Item] || e.Method == wire.MethodItemCompleted
			}
			pos = one.Cursor
		}
		if after = page.Next; after == nil {
			pos = max(pos, page.Head)
		}
	}
	f.mu.Lock()
	f.late = false
	f.mu.Unlock()
	return func(e event) bool { return e.Pos > 0 && e.Pos <= pos || e.Pos == 0 && whole[e.Item] }, pos, nil
}
