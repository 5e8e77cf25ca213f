package appserver

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"harness/api/door"
	"harness/internal/operations"
	"harness/internal/platform/auth"
	"harness/internal/runtime/wire"
	"harness/internal/services/session"
)

// startThread opens a session. A level that its runtime does not enforce is refused, with the flags that work: the
// text is all that the user reads.
func startThread(ctx context.Context, c *call) (any, error) {
	var in struct {
		Model, Cwd, Sandbox string
		Ephemeral           bool
		ApprovalPolicy      json.RawMessage
	}
	if err := c.read(&in); err != nil {
		return nil, err
	}
	if in.Ephemeral {
		return nil, &door.Failure{Code: door.CodeNotOffered, Message: "not offered by this server: sessions that are not stored"}
	}
	want := session.Create{Cwd: in.Cwd}
	runtimeName, model, err := c.chosenModel(in.Model, c.ops().DefaultRuntime())
	if err != nil {
		return nil, err
	}
	if want.Runtime = runtimeName; model != "" {
		want.Model = &model
	}
	if in.Sandbox != "" {
		want.FilesystemSandbox = &in.Sandbox
	}
	if policy := wire.Text(in.ApprovalPolicy); policy != "" {
		want.ApprovalPolicy = &policy
	}
	if want.ProjectID, err = c.project(ctx); err != nil {
		return nil, err
	}
	if err := c.checkLevels(ctx, want); err != nil {
		return nil, err
	}
	made, err := c.ops().Create(ctx, want)
	if err != nil {
		return nil, err
	}
	c.session = made.ID
	if c.follow(made, false) == nil {
		return nil, context.Canceled
	}
	view := c.openedView(made)
	c.after = append(c.after, func() { c.notify(noticeStarted, object{"thread": view["thread"]}) })
	return view, nil
}

// project is the project of a new session: the only one of a limited caller.
func (c *call) project(ctx context.Context) (string, error) {
	limit := auth.ProjectsFrom(ctx)
	if limit == nil {
		return "", nil
	}
	if ids := limit.IDs(); len(ids) == 1 {
		return ids[0], nil
	}
	return "", &operations.LimitedError{Reason: "a client of this protocol cannot name one of several projects"}
}

// checkLevels refuses levels that the runtime does not enforce.
func (c *call) checkLevels(ctx context.Context, want session.Create) error {
	found, err := c.ops().Runtime(ctx, want.Runtime)
	if err != nil {
		return err
	}
	var flags, lacks []string
	check := func(flag, name string, given *string, enforced []string) {
		if given == nil || len(enforced) == 0 || slices.Contains(enforced, *given) {
			return
		}
		lacks = append(lacks, fmt.Sprintf("%s %s", name, *given))
		flags = append(flags, flag+" "+enforced[0])
	}
	check("-s", "sandbox", want.FilesystemSandbox, found.Capabilities.Sandboxes)
	check("-a", "approval policy", want.ApprovalPolicy, found.Capabilities.ApprovalPolicies)
	if len(lacks) == 0 {
		return nil
	}
	return &door.Failure{Code: door.CodeInvalidRequest, Message: fmt.Sprintf("%s does not enforce the %s: start with %s",
		want.Runtime, strings.Join(lacks, " and the "), strings.Join(flags, " "))}
}

// updateSettings changes the controls of a session from the next turn on. What cannot be changed stays, and the client
// learns both.
func updateSettings(ctx context.Context, c *call) (any, error) {
	var in wishes
	if err := c.read(&in); err != nil {
		return nil, err
	}
	detail, err := c.detail(ctx)
	if err != nil {
		return nil, err
	}
	next, problem, err := c.wished(detail.Session, in)
	if err != nil {
		return nil, err
	}
	if !next.Equal(detail.Session.Controls) {
		changed, err := c.ops().SetControls(ctx, c.session, operations.ScopeSession, next,
			operations.Audit{Actor: c.Actor(), Source: protocol})
		if err != nil {
			problem = c.failed(ctx, err).Message
		} else {
			detail.Session.Controls = changed.Controls
		}
	}
	c.after = append(c.after, func() {
		c.notify(noticeSettings, object{"threadId": c.session, "threadSettings": c.settingsView(detail.Session)})
		if problem != "" {
			c.warn(c.session, problem)
		}
	})
	return object{}, nil
}

// wishes are the controls that a client names, in a change of settings and with each turn.
type wishes struct {
	Model          string
	Effort         string
	ApprovalPolicy json.RawMessage
	SandboxPolicy  struct{ Type string }
}

// wished returns the controls with a client's wishes. What equals what the client was shown changes nothing. problem
// says what cannot be.
func (c *call) wished(s session.Session, in wishes) (next session.Controls, problem string, err error) {
	next = s.Controls
	if in.Model != "" && in.Model != c.modelOf(s) {
		runtimeName, model, err := c.chosenModel(in.Model, s.Runtime)
		switch {
		case err != nil:
			return next, "", err
		case runtimeName != s.Runtime:
			problem = "A session keeps its runtime; start one with -m " + in.Model
		case model == "":
			next.Model = nil
		default:
			next.Model = &model
		}
	}
	if policy := wire.Text(in.ApprovalPolicy); policy != "" && policy != shownPolicy(next.ApprovalPolicy) {
		next.ApprovalPolicy = policy
	}
	if level := sandboxLevel(in.SandboxPolicy.Type); level != "" && level != next.FilesystemSandbox {
		next = next.WithSandbox(level)
	}
	return next, problem, nil
}

func (c *call) settingsView(s session.Session) object {
	model := c.modelOf(s)
	return object{"cwd": s.Cwd, "approvalPolicy": shownPolicy(s.Controls.ApprovalPolicy), "approvalsReviewer": "user",
		"sandboxPolicy": sandboxView(s.Controls), "model": model, "modelProvider": s.Runtime, "disabledPluginIds": []any{},
		"collaborationMode": object{"mode": "default", "settings": object{"model": model, "reasoning_effort": nil,
			"developer_instructions": nil}}}
}
