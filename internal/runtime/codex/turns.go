package codex

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"harness/internal/runtime"
	"harness/internal/runtime/wire"
)

// announceLimit is how long a message waits for the announcement of the turn to steer.
const announceLimit = 2 * time.Second

const (
	sandboxReadOnly  = "read-only"
	sandboxWorkspace = "workspace-write"
	sandboxFull      = "danger-full-access"
	networkEnabled   = "enabled"
)

// StartTurn implements runtime.Threads.
//
// It never knowingly sends turn/start to a busy conversation: 0.169 would steer, but 0.101 loses the running turn. So
// the message steers if the caller or this connection knows a running turn.
func (c *Codex) StartTurn(ctx context.Context, in runtime.StartTurn) (runtime.StartedTurn, error) {
	conn, v, done, err := c.use(ctx, in.ThreadID)
	if err != nil {
		return runtime.StartedTurn{}, err
	}
	defer done()
	starting := conn.turns.starting(in.ThreadID)
	select {
	case starting <- struct{}{}:
		defer func() { <-starting }()
	case <-ctx.Done():
		return runtime.StartedTurn{}, conn.Overdue(ctx, "turn/start")
	}
	if active := conn.activeTurn(ctx, in); active != "" {
		if in.Alone {
			return runtime.StartedTurn{}, runtime.ErrTurnActive
		}
		turnID, err := conn.steer(ctx, in.ThreadID, active, in.Input)
		if err == nil {
			return runtime.StartedTurn{TurnID: turnID, Steered: true}, nil
		}
		if !errors.Is(err, runtime.ErrNoActiveTurn) && !errors.Is(err, runtime.ErrThreadNotFound) {
			return runtime.StartedTurn{}, err
		}
	}
	if err := c.load(ctx, conn, in); err != nil {
		return runtime.StartedTurn{}, err
	}
	params := turnParams(in, v)
	bare, err := c.nativeToolsOff(ctx, in.ThreadID)
	if err != nil {
		return runtime.StartedTurn{}, err
	}
	if bare {
		if err := v.toolsGo(); err != nil {
			return runtime.StartedTurn{}, err
		}
		params["environments"] = []string{}
	}
	result, err := conn.Call(ctx, c.callTimeout, "turn/start", params)
	if errors.Is(err, runtime.ErrThreadNotFound) {
		// The adapter unloaded it in between.
		conn.turns.unloaded(in.ThreadID)
		if _, err := c.resume(ctx, conn, in.ThreadID, ""); err != nil {
			return runtime.StartedTurn{}, err
		}
		result, err = conn.Call(ctx, c.callTimeout, "turn/start", params)
	}
	if err != nil {
		return runtime.StartedTurn{}, err
	}
	var started struct {
		Turn withID `json:"turn"`
	}
	if err := json.Unmarshal(result, &started); err != nil || started.Turn.ID == "" {
		return runtime.StartedTurn{}, fmt.Errorf("codex answered turn/start without a turn (%d bytes)", len(result))
	}
	return runtime.StartedTurn{TurnID: runtime.KnownID(started.Turn.ID)}, nil
}

// activeTurn returns the turn that a message must steer, "" for none. It waits for the announcement of a started
// turn: no message can steer it before.
func (c *conn) activeTurn(ctx context.Context, in runtime.StartTurn) string {
	ctx, cancel := context.WithTimeout(ctx, announceLimit)
	defer cancel()
	for {
		active, announced, changed := c.turns.turn(in.ThreadID)
		if active == "" {
			return in.ActiveTurnID
		}
		if announced {
			return active
		}
		select {
		case <-changed:
		case <-c.Gone():
			return active
		case <-ctx.Done():
			return active
		}
	}
}

// load resumes a conversation that this process has not loaded. It first writes a lost one again.
func (c *Codex) load(ctx context.Context, conn *conn, in runtime.StartTurn) error {
	if in.History != "" {
		path, err := c.restore(in)
		if err != nil {
			return err
		}
		_, err = c.resume(ctx, conn, in.ThreadID, path)
		return err
	}
	if conn.turns.loaded(in.ThreadID) {
		return nil
	}
	_, err := c.resume(ctx, conn, in.ThreadID, "")
	if conn.Inherited() && !in.Continues && errors.Is(err, runtime.ErrThreadNotFound) {
		// An earlier server may have loaded it without using it: the disk has no file to resume yet.
		return nil
	}
	return err
}

// steer adds input to the running turn and returns its id. The id differs from the expected one if that turn had
// already ended.
func (c *conn) steer(ctx context.Context, threadID, turnID string, input []json.RawMessage) (
	string, error) {
	params := func(expected string) object {
		return object{"threadId": threadID, "expectedTurnId": expected, "input": input}
	}
	result, err := c.Call(ctx, c.codex.callTimeout, "turn/steer", params(turnID))
	if found := c.codex.launcher.Natives.Known(activeTurnIn(err)); found != "" && found != turnID {
		turnID = found
		result, err = c.Call(ctx, c.codex.callTimeout, "turn/steer", params(found))
	}
	if err != nil {
		return "", err
	}
	var steered struct {
		TurnID string `json:"turnId"`
	}
	_ = json.Unmarshal(result, &steered)
	return cmp.Or(runtime.KnownID(steered.TurnID), turnID), nil
}

// SteerTurn implements runtime.Steerer. It returns ErrNoActiveTurn when that turn is not running.
func (c *Codex) SteerTurn(ctx context.Context, threadID, turnID string, input []json.RawMessage) error {
	_, err := c.call(ctx, "turn/steer", object{"threadId": threadID, "expectedTurnId": turnID, "input": input})
	return err
}

// InterruptTurn implements runtime.Threads. codex does not kill the commands of the turn.
func (c *Codex) InterruptTurn(ctx context.Context, threadID, turnID string) error {
	_, err := c.call(ctx, "turn/interrupt", object{"threadId": threadID, "turnId": turnID})
	return err
}

// Answer implements runtime.Threads. It answers a request at most once. A request that codex closed itself is gone,
// too.
func (c *Codex) Answer(ctx context.Context, ref runtime.RequestRef, reply runtime.Reply) error {
	line, done, ok := c.process.UseGeneration(ref.Generation)
	if !ok {
		return runtime.ErrRequestGone
	}
	defer done()
	conn := connOf(line)
	out := outgoing{ID: ref.RequestID}
	if reply.Refusal != "" {
		out.Error = &rpcError{Code: codeRefused, Message: reply.Refusal}
	} else {
		result, err := encodeReply(conn.version, ref, reply)
		if err != nil {
			return err
		}
		out.Result = result
	}
	if reply.Scope == "session" || bytes.Contains(reply.Choice, []byte("ForSession")) {
		conn.turns.keep(ref.ThreadID)
	}
	if !conn.Claim(ref.RequestID) {
		return fmt.Errorf("%w: codex does not wait for request %s any more", runtime.ErrRequestGone, ref.RequestID)
	}
	// The request is claimed, so codex must get the answer even if the caller cancels. send has its own limit.
	if reason := reasonApart(ref, reply); reason != nil {
		conn.sendReason(context.WithoutCancel(ctx), ref, reason)
	}
	if err := conn.answer(context.WithoutCancel(ctx), ref.RequestID, out); err != nil {
		return runtime.WithKind(runtime.ErrRequestGone, err)
	}
	if ref.Method == wire.MethodApprovePermissions && reply.Decision == actionCancel {
		// codex continues after a refused permission. A cancellation ends the turn, as for every other approval.
		err := c.InterruptTurn(ctx, ref.ThreadID, ref.TurnID)
		if errors.Is(err, runtime.ErrNoActiveTurn) {
			return nil // it has ended already
		}
		return err
	}
	return nil
}

// CheckReply implements runtime.Threads.
func (c *Codex) CheckReply(ref runtime.RequestRef, reply runtime.Reply) error {
	if reply.Refusal != "" {
		return nil
	}
	_, err := encodeReply(version{}, ref, reply)
	return err
}

func turnParams(in runtime.StartTurn, v version) object {
	input := in.Input
	if input == nil {
		input = []json.RawMessage{}
	}
	params := object{"threadId": in.ThreadID, "input": input}.
		with("cwd", in.Cwd).with("model", in.Model).with("effort", in.Effort).
		with("approvalPolicy", v.approvalPolicy(in.ApprovalPolicy)).
		withRaw("collaborationMode", in.CollaborateMode)
	if policy := sandboxPolicy(in.Sandbox, in.NetworkAccess); policy != nil {
		params["sandboxPolicy"] = policy
	}
	return params
}

// sandboxPolicy returns the form for turn/start; thread/start uses the plain name.
func sandboxPolicy(sandbox, network string) object {
	enabled := network == networkEnabled
	switch sandbox {
	case sandboxReadOnly:
		policy := object{"type": "readOnly"}
		if enabled {
			policy["networkAccess"] = true
		}
		return policy
	case sandboxWorkspace:
		return object{
			"type": "workspaceWrite", "writableRoots": []string{}, "networkAccess": enabled,
			"excludeTmpdirEnvVar": false, "excludeSlashTmp": false,
		}
	case sandboxFull:
		return object{"type": "dangerFullAccess"}
	case "":
		return nil
	}
	return object{"type": sandbox} // unknown here: codex must refuse it, not run the turn without the policy
}

// EndProcess implements runtime.Ender. The process serves all conversations.
func (c *Codex) EndProcess(ctx context.Context, _, reason string) error {
	return c.process.End(ctx, reason)
}
