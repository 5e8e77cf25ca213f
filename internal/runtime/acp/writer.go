package acp

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"harness/internal/runtime"
	"harness/internal/runtime/stdio"
)

// A conversation of codex has one writer. After the kill of a bridge, its codex may briefly keep the conversation
// open. The next bridge then gets a refusal.

const (
	// writerPatience is how long another process may keep a conversation open.
	writerPatience = 10 * time.Second
	// writerPause is the time between two attempts to load it.
	writerPause = 50 * time.Millisecond
	// writerReason is the reason codex-acp gives.
	writerReason = "thread_active_writer"
)

// callWhenFree calls a method that loads a conversation, with retries while another process has it open.
func (r *Runtime) callWhenFree(ctx context.Context, conn *stdio.Conn, method string, params about) (json.RawMessage, error) {
	until := time.NewTimer(min(writerPatience, r.calls))
	defer until.Stop()
	for {
		result, err := conn.Call(ctx, r.calls, method, params)
		if !openElsewhere(err) {
			return result, err
		}
		again := time.NewTimer(writerPause)
		select {
		case <-again.C:
			continue
		case <-until.C:
		case <-ctx.Done():
		}
		again.Stop()
		return nil, err
	}
}

// openElsewhere reports whether an error means that another process has the conversation open.
func openElsewhere(err error) bool {
	var native *runtime.Error
	if !errors.As(err, &native) {
		return false
	}
	var data struct {
		Reason string `json:"reason"`
	}
	return json.Unmarshal(native.Data, &data) == nil && data.Reason == writerReason
}
