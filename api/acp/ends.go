package acp

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"harness/api/door"
	"harness/internal/platform/telemetry"
	"harness/internal/runtime"
	"harness/internal/runtime/wire"
)

// outcome is how a turn ended.
type outcome struct {
	status         runtime.TurnStatus
	reason, remedy string
	login          bool
	usage          *wire.Tokens
}

// overTurn is a turn that ended.
type overTurn struct {
	turn    string
	outcome outcome
}

func outcomeOf(turn runtime.Turn) outcome {
	return outcome{status: turn.Status, reason: turn.Error, remedy: turn.Remedy, login: errors.Is(turn.Kind, runtime.ErrAuthRequired)}
}

// usage is what the turns of a session used.
type usage struct {
	turn       string
	first, now wire.Tokens // before the turn, and by now
}

// used notes the usage of the running turn and shows how much of the context is used. It requires f.mu.
func (f *follow) used(params json.RawMessage) {
	var in struct {
		TurnID string
		Usage  struct {
			Total, Last wire.Tokens
			Window      *int64 `json:"modelContextWindow"`
		} `json:"tokenUsage"`
	}
	if json.Unmarshal(params, &in) != nil {
		return
	}
	total, last := in.Usage.Total, in.Usage.Last
	if f.usage.turn != in.TurnID {
		f.usage = usage{turn: in.TurnID, first: wire.Tokens{Total: total.Total - last.Total, Input: total.Input - last.Input,
			Cached: total.Cached - last.Cached, Output: total.Output - last.Output, Reasoning: total.Reasoning - last.Reasoning}}
	}
	f.usage.now = total
	if in.Usage.Window != nil {
		f.send(object{"sessionUpdate": "usage_update", "used": last.Total, "size": *in.Usage.Window})
	}
}

// turnEnded answers the prompts of a turn. It requires f.mu.
func (f *follow) turnEnded(raw json.RawMessage) {
	turn := wire.ReadTurn(raw)
	end := outcomeOf(turn)
	if f.usage.turn == turn.ID {
		first, now := f.usage.first, f.usage.now
		end.usage = &wire.Tokens{Total: now.Total - first.Total, Input: now.Input - first.Input, Cached: now.Cached - first.Cached,
			Output: now.Output - first.Output, Reasoning: now.Reasoning - first.Reasoning}
	}
	const remembered = 32
	if f.over = append(f.over, overTurn{turn.ID, end}); len(f.over) > remembered {
		f.over = f.over[1:]
	}
	f.finishWith(slices.DeleteFunc(slices.Clone(f.prompts), func(p *prompt) bool { return p.turn != turn.ID }), end)
	for id, one := range f.shown {
		if one.ended {
			delete(f.shown, id)
		}
	}
	for key := range f.ends {
		if id, _, _ := strings.Cut(key, "\x00"); f.shown[id] == nil {
			delete(f.ends, key)
		}
	}
	delete(f.saidIn, turn.ID)
	f.checkQueue()
}

// finishAll answers all prompts of the socket.
func (f *follow) finishAll(end outcome) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.finishWith(f.prompts, end)
}

func (f *follow) finishWith(prompts []*prompt, end outcome) {
	for _, p := range slices.Clone(prompts) {
		f.finish(p, end)
	}
}

// finish answers a prompt, once. It requires f.mu.
func (f *follow) finish(p *prompt, end outcome) {
	if !f.remove(p) {
		return
	}
	result := object{"stopReason": "end_turn"}
	if end.usage != nil {
		result["usage"] = object{"totalTokens": end.usage.Total, "inputTokens": end.usage.Input, "outputTokens": end.usage.Output,
			"cachedReadTokens": end.usage.Cached, "thoughtTokens": end.usage.Reasoning}
	}
	switch end.status {
	case runtime.TurnDone:
	case runtime.TurnInterrupted:
		result["stopReason"] = "cancelled"
	default:
		failed := &door.Failure{Code: door.CodeInternal, Message: end.reason, Data: object{"code": "turn_failed", "remedy": end.remedy}}
		if failed.Message == "" {
			failed.Message = "The turn failed"
		}
		if end.login {
			failed.Code, failed.Data = codeLogin, object{"code": "unauthorized", "remedy": end.remedy}
		}
		f.peer.out.Put(form.Answer(p.id, nil, failed))
		return
	}
	f.peer.out.Put(form.Answer(p.id, result, nil))
}

// checkQueue finds the turns of queued prompts, in the background. It requires f.mu.
func (f *follow) checkQueue() {
	if slices.ContainsFunc(f.prompts, func(p *prompt) bool { return p.queued != "" }) {
		f.peer.server.Desk.Background(func() { f.settleQueue(f.peer.Context) })
	}
}

// settleQueue finds the turns that queued prompts began. A removed message is cancelled.
func (f *follow) settleQueue(ctx context.Context) {
	f.mu.Lock()
	all := slices.DeleteFunc(slices.Clone(f.prompts), func(p *prompt) bool { return p.queued == "" })
	f.mu.Unlock()
	for _, p := range all {
		if err := f.settleQueued(ctx, p); err != nil && ctx.Err() == nil {
			telemetry.Log(ctx).Warn().Err(err).Str("session_id", f.id).Msg("a queued prompt of a client has no turn")
		}
	}
}

func (f *follow) settleQueued(ctx context.Context, p *prompt) error {
	f.mu.Lock()
	message := p.queued
	f.mu.Unlock()
	if message == "" {
		return nil // another call found its turn
	}
	queued, err := f.peer.ops().Queued(ctx, f.id)
	if err != nil {
		return err
	}
	for _, one := range queued {
		if one.ID == message {
			return nil
		}
	}
	turn, err := f.peer.ops().TurnForKey(ctx, f.id, p.key)
	if err != nil {
		return err
	}
	if turn == "" || turn == message {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.finish(p, outcome{status: runtime.TurnInterrupted})
		return nil
	}
	f.assign(ctx, p, turn, "")
	return nil
}
