package codex

import (
	"context"
	"encoding/json"
	"slices"

	"harness/internal/runtime"
	"harness/internal/runtime/wire"
)

// LastTurns lists the last turns of a conversation, newest first, at most limit, without their items.
func (c *Codex) LastTurns(ctx context.Context, threadID string, limit int) ([]runtime.Turn, error) {
	turns := []runtime.Turn{}
	params := object{"threadId": threadID, "limit": min(limit, 100), "itemsView": "summary"}
	for raw, err := range pages[json.RawMessage](ctx, c.call, "thread/turns/list", params) {
		if native, ok := asNative(err); ok && unknownMethod(native) {
			return c.turnsOfHistory(ctx, threadID, limit) // 0.101, and its conversations
		}
		if err != nil {
			return nil, err
		}
		turn := wire.ReadTurn(raw)
		c.launcher.Natives.Described(turn.ID, raw)
		turns = append(turns, runtime.Turn{ID: turn.ID, Status: turn.Status})
		if len(turns) == limit {
			break
		}
	}
	return turns, nil
}

func (c *Codex) turnsOfHistory(ctx context.Context, threadID string, limit int) ([]runtime.Turn, error) {
	thread, err := c.ReadThread(ctx, threadID, true)
	if err != nil {
		return nil, err
	}
	last := slices.Clone(thread.Turns[max(0, len(thread.Turns)-limit):])
	slices.Reverse(last)
	return last, nil
}

// RollBack removes the last turns of a conversation; last are the newest turns from LastTurns. 0.101 gets their
// number, later versions the first turn to remove. RollBack fails while a turn is running, as in 0.101: later
// versions would end that turn. It may return *runtime.TooFewTurnsError.
func (c *Codex) RollBack(ctx context.Context, threadID string, numTurns int, last []runtime.Turn) (
	runtime.RolledBack, error) {
	const method = "thread/rollback"
	conn, _, finish, err := c.use(ctx, threadID)
	if err != nil {
		return runtime.RolledBack{}, err
	}
	defer finish()
	if active, _, _ := conn.turns.turn(threadID); active != "" || len(last) > 0 &&
		last[0].Status == runtime.TurnInProgress {
		return runtime.RolledBack{}, Refusal(method, codeInvalidRequest, "Cannot rollback while a turn is in progress.")
	}
	result, err := c.call(ctx, method, object{"threadId": threadID, "numTurns": numTurns})
	if unknownMethod(err) {
		return c.revert(ctx, threadID, numTurns, last)
	}
	left, err := threadIn(result, err)
	if err != nil {
		return runtime.RolledBack{}, err
	}
	done := runtime.RolledBack{Result: result}
	for _, turn := range last {
		if !slices.ContainsFunc(left.Turns, func(kept runtime.Turn) bool { return kept.ID == turn.ID }) {
			done.Turns = append(done.Turns, turn.ID)
		}
	}
	return done, nil
}

func (c *Codex) revert(ctx context.Context, threadID string, numTurns int, last []runtime.Turn) (
	runtime.RolledBack, error) {
	if len(last) < numTurns {
		return runtime.RolledBack{}, &runtime.TooFewTurnsError{Have: len(last)}
	}
	await, end := c.process.Expect("thread/reverted", threadID)
	defer end()
	result, err := c.call(ctx, "thread/revert", object{"threadId": threadID, "beforeTurnId": last[numTurns-1].ID})
	if err != nil {
		return runtime.RolledBack{}, err
	}
	await(ctx) // the notification precedes the stored result
	done := runtime.RolledBack{Result: result}
	for _, turn := range last[:numTurns] {
		done.Turns = append(done.Turns, turn.ID)
	}
	return done, nil
}
