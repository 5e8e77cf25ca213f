package codex

import (
	"context"
	"encoding/json"

	"harness/internal/runtime"
)

// ForkThread implements runtime.Forker.
func (c *Codex) ForkThread(ctx context.Context, threadID string) (runtime.Thread, error) {
	config, err := c.sources(ctx, threadID)
	if err != nil {
		return runtime.Thread{}, err
	}
	params := object{"threadId": threadID}
	delete(config, unloadDelay)
	bind := c.grant(config)
	if len(config) > 0 {
		params["config"] = config
	}
	thread, err := threadIn(c.Call(ctx, "thread/fork", params))
	if err == nil {
		err = bind(ctx, thread.ID)
	}
	return thread, err
}

// CompactThread implements runtime.Compactor.
func (c *Codex) CompactThread(ctx context.Context, threadID string) (json.RawMessage, error) {
	return c.Call(ctx, "thread/compact/start", object{"threadId": threadID})
}

// CleanTerminals implements runtime.TerminalCleaner.
func (c *Codex) CleanTerminals(ctx context.Context, threadID string) (json.RawMessage, error) {
	return c.Call(ctx, "thread/backgroundTerminals/clean", object{"threadId": threadID})
}

// ReviewThread implements runtime.Reviewer. A missing part of the target stays empty, and codex refuses it.
func (c *Codex) ReviewThread(ctx context.Context, threadID string, review runtime.Review) (json.RawMessage, error) {
	target := object{"type": review.Target}
	switch review.Target {
	case runtime.ReviewBranch:
		target["branch"] = review.Branch
	case runtime.ReviewCommit:
		target["sha"] = review.SHA
		target = target.with("title", review.Title)
	case runtime.ReviewCustom:
		target["instructions"] = review.Instructions
	}
	return c.Call(ctx, "review/start", object{"threadId": threadID, "target": target}.with("delivery", review.Delivery))
}
