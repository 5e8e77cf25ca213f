package appserver

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"

	"harness/api/door"
	"harness/internal/operations"
	"harness/internal/services/session"
)

// threadView is a session as clients know it.
func (c *call) threadView(s session.Session) object {
	var name any
	preview := ""
	if s.Name != "" {
		name, preview = s.Name, s.Name
	}
	status := object{"type": "idle"}
	if s.Activity.State.Runs() {
		flags := []string{}
		if s.Activity.PendingCount > 0 {
			flags = append(flags, "waitingOnApproval")
		}
		status = object{"type": "active", "activeFlags": flags}
	}
	return object{"id": s.ID, "sessionId": s.ID, "preview": preview, "ephemeral": false, "historyMode": "paginated",
		"projectId": nil, "modelProvider": s.Runtime, "model": c.modelOf(s), "createdAt": s.CreatedAt / 1000, "updatedAt": s.UpdatedAt / 1000,
		"recencyAt": s.UpdatedAt / 1000, "status": status, "path": nil, "cwd": s.Cwd, "cliVersion": "harness", "source": "vscode",
		"canAcceptDirectInput": true, "name": name, "turns": []any{}}
}

// openedView is the answer of a method that opens a session.
func (c *call) openedView(s session.Session) object {
	return object{"thread": c.threadView(s), "model": c.modelOf(s), "modelProvider": s.Runtime, "cwd": s.Cwd,
		"runtimeWorkspaceRoots": []string{s.Cwd}, "disabledPluginIds": []any{}, "instructionSources": []any{},
		"approvalPolicy": shownPolicy(s.Controls.ApprovalPolicy), "approvalsReviewer": "user", "sandbox": sandboxView(s.Controls),
		"multiAgentMode": "explicitRequestOnly"}
}

// shownPolicy is an approval policy in the words of the protocol, which has no on-failure any more.
func shownPolicy(policy string) string {
	if policy == "on-failure" {
		return "on-request"
	}
	return cmp.Or(policy, "on-request")
}

func sandboxView(controls session.Controls) object {
	network := controls.EffectiveNetwork() == "enabled"
	switch controls.FilesystemSandbox {
	case "danger-full-access":
		return object{"type": "dangerFullAccess"}
	case "workspace-write":
		return object{"type": "workspaceWrite", "writableRoots": []any{}, "networkAccess": network, "excludeTmpdirEnvVar": false,
			"excludeSlashTmp": false}
	}
	return object{"type": "readOnly", "networkAccess": network}
}

// sandboxLevel is the reverse of sandboxView, "" for another policy.
func sandboxLevel(kind string) string {
	return map[string]string{"dangerFullAccess": "danger-full-access", "workspaceWrite": "workspace-write", "readOnly": "read-only"}[kind]
}

// threadID reads the session that a method names.
func (c *call) threadID() (string, error) {
	var in struct {
		ThreadID string `json:"threadId"`
	}
	if err := c.read(&in); err != nil {
		return "", err
	}
	if in.ThreadID == "" {
		return "", door.Invalid("threadId is required")
	}
	c.session = in.ThreadID
	return in.ThreadID, nil
}

// detail reads the state of the named session.
func (c *call) detail(ctx context.Context) (session.Detail, error) {
	id, err := c.threadID()
	if err != nil {
		return session.Detail{}, err
	}
	detail, _, err := c.ops().Read(ctx, id, operations.Reading{Limit: 1})
	if errors.Is(err, session.ErrNotFound) {
		return detail, &door.Failure{Code: door.CodeInvalidRequest, Message: "no rollout found for thread id " + id}
	}
	return detail, err
}

func readThread(ctx context.Context, c *call) (any, error) {
	detail, err := c.detail(ctx)
	if err != nil {
		return nil, err
	}
	return object{"thread": c.threadView(detail.Session)}, nil
}

// resumeThread follows a session. Its events are held until the client has read its history. The runtime is not
// loaded before a turn.
func resumeThread(ctx context.Context, c *call) (any, error) {
	if _, err := c.threadID(); err != nil {
		return nil, err
	}
	found, err := c.ops().Find(ctx, c.session)
	if errors.Is(err, session.ErrNotFound) {
		err = &door.Failure{Code: door.CodeInvalidRequest, Message: "no rollout found for thread id " + c.session}
	}
	if err != nil {
		return nil, err
	}
	f := c.follow(found, true) // before the read, so that nothing falls between
	if f == nil {
		return nil, context.Canceled
	}
	detail, err := c.detail(ctx)
	if err != nil {
		c.views.Drop(found.ID)
		return nil, err
	}
	open, err := c.ops().Pending(ctx, found.ID)
	if err != nil {
		c.views.Drop(found.ID)
		return nil, err
	}
	c.after = append(c.after, func() {
		f.askAgain(open)
		f.held(c.server.opts.ListWait)
	})
	return c.openedView(detail.Session), nil
}

func unsubscribe(_ context.Context, c *call) (any, error) {
	id, err := c.threadID()
	if err != nil {
		return nil, err
	}
	if !c.views.Drop(id) {
		return object{"status": "notSubscribed"}, nil
	}
	return object{"status": "unsubscribed"}, nil
}

// recheck ends what the socket gets of a session that left the caller's projects.
func (p *peer) recheck(id string) {
	if p.server.opts.Operations.CheckSession(p.Context, id) != nil {
		p.views.Drop(id)
	}
}

func fork(ctx context.Context, c *call) (any, error) {
	id, err := c.threadID()
	if err != nil {
		return nil, err
	}
	made, err := c.ops().Fork(ctx, id)
	if err != nil {
		return nil, err
	}
	f := c.follow(made, true)
	if f == nil {
		return nil, context.Canceled
	}
	c.after = append(c.after, func() { f.held(c.server.opts.ListWait) })
	view := c.openedView(made)
	view["thread"].(object)["forkedFromId"] = id
	return view, nil
}

func setName(ctx context.Context, c *call) (any, error) {
	var in struct{ ThreadID, Name string }
	if err := c.read(&in); err != nil {
		return nil, err
	}
	c.session = in.ThreadID
	_, err := c.ops().Rename(ctx, in.ThreadID, in.Name)
	return object{}, err
}

func archive(ctx context.Context, c *call) (any, error) {
	return c.change(func(id string) error { _, err := c.ops().Archive(ctx, id); return err })
}

func unarchive(ctx context.Context, c *call) (any, error) {
	id, err := c.threadID()
	if err != nil {
		return nil, err
	}
	opened, err := c.ops().Unarchive(ctx, id)
	return object{"thread": c.threadView(opened)}, err
}

func deleteThread(ctx context.Context, c *call) (any, error) {
	return c.change(func(id string) error { _, err := c.ops().Delete(ctx, id); return err })
}

// change is a method that only changes the named session.
func (c *call) change(fn func(id string) error) (any, error) {
	id, err := c.threadID()
	if err == nil {
		err = fn(id)
	}
	return object{}, err
}

// updateReadState moves the caller's marker to the end of a session, or removes it.
func updateReadState(ctx context.Context, c *call) (any, error) {
	var in struct {
		Operation struct {
			Type string `json:"type"`
		} `json:"operation"`
	}
	if err := c.read(&in); err != nil {
		return nil, err
	}
	detail, err := c.detail(ctx)
	if err != nil {
		return nil, err
	}
	revision := json.Number("0")
	if n := len(detail.Transcript); n > 0 {
		switch last := detail.Transcript[n-1].MessageID; in.Operation.Type {
		case "read":
			_, err = c.ops().MarkRead(ctx, c.Actor(), c.session, last)
		case "unread":
			err = c.ops().MarkUnread(ctx, c.Actor(), c.session)
		}
	}
	return object{"readState": object{"firstUnread": nil, "revision": revision.String()}}, err
}

// listThreads lists sessions. Lists that are about something else than sessions of people are empty.
func listThreads(ctx context.Context, c *call) (any, error) {
	var in struct {
		Cursor, SearchTerm, SectionID, SortKey string
		AncestorThreadID                       string
		SourceKinds                            []string
		Limit                                  int
		Archived                               bool
	}
	if err := c.read(&in); err != nil {
		return nil, err
	}
	if in.AncestorThreadID != "" && slices.Contains(in.SourceKinds, "subAgentThreadSpawn") {
		return c.listDescendants(ctx, in.AncestorThreadID, in.Archived)
	}
	ofPeople := len(in.SourceKinds) == 0
	for _, kind := range in.SourceKinds {
		ofPeople = ofPeople || kind == "cli" || kind == "vscode"
	}
	if !ofPeople || in.SectionID != "" {
		return object{"data": []any{}, "readStates": object{}, "nextCursor": nil}, nil
	}
	want := session.ListQuery{Text: in.SearchTerm, Cursor: in.Cursor, Limit: min(max(0, in.Limit), operations.MaxPage), Archived: in.Archived}
	if in.SortKey == "created_at" {
		want.Sort = session.SortCreated
	}
	page, err := c.ops().List(ctx, want)
	if err != nil {
		return nil, err
	}
	data := []object{}
	for _, one := range page.Sessions {
		data = append(data, c.threadView(one))
	}
	return object{"data": data, "readStates": object{}, "nextCursor": orNil(page.NextCursor)}, nil
}

// listDescendants lists the sessions that a session started, and those below them.
func (c *call) listDescendants(ctx context.Context, ancestor string, archived bool) (any, error) {
	data := []object{}
	if _, err := c.ops().Find(ctx, ancestor); err != nil {
		return nil, err
	}
	below, err := c.ops().Descendants(ctx, ancestor)
	for _, one := range below {
		if found, unknown := c.ops().Find(ctx, one.SessionID); unknown == nil && found.Archived == archived {
			data = append(data, c.threadView(found))
		}
	}
	return object{"data": data, "readStates": object{}, "nextCursor": nil}, err
}

func orNil(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// listLoaded lists the sessions in which a turn runs.
func listLoaded(ctx context.Context, c *call) (any, error) {
	ids := []string{}
	for _, state := range []session.State{session.StateRunning, session.StateWaiting, session.StateUnresponsive} {
		page, err := c.ops().List(ctx, session.ListQuery{State: state, Limit: operations.MaxPage})
		if err != nil {
			return nil, err
		}
		for _, one := range page.Sessions {
			ids = append(ids, one.ID)
		}
	}
	return object{"data": ids, "nextCursor": nil}, nil
}
