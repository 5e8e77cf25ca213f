package codex

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"harness/internal/runtime"
)

// terminal is a running command of a conversation, from codex's list.
type terminal struct {
	ItemID    string `json:"itemId"`
	ProcessID string `json:"processId"`
	Command   string `json:"command"`
}

// endStep is the interval for checking whether a command has ended.
const endStep = 50 * time.Millisecond

// terminals returns the running commands of a conversation, none if it is not loaded.
func (c *conn) terminals(ctx context.Context, thread string) (all []terminal, err error) {
	ask := func(ctx context.Context, method string, params object) (json.RawMessage, error) {
		return c.Call(ctx, c.codex.callTimeout, method, params)
	}
	for one, err := range pages[terminal](ctx, ask, "thread/backgroundTerminals/list", object{"threadId": thread}) {
		if errors.Is(err, runtime.ErrThreadNotFound) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

// ListBackground implements runtime.Backgrounder. Commands of a running turn belong to that turn.
func (c *Codex) ListBackground(ctx context.Context, in runtime.ResumeThread) ([]runtime.BackgroundTask, error) {
	conn := connOf(c.process.Current())
	if conn == nil {
		return nil, nil
	}
	begun, active := conn.turns.commandsOf(in.ThreadID)
	if len(begun) == 0 && !conn.Inherited() {
		return nil, nil // a running command has an item without an end
	}
	found, err := conn.terminals(ctx, in.ThreadID)
	if unknownMethod(err) {
		return tracked(begun, active), nil
	}
	if err != nil {
		return nil, err
	}
	var tasks []runtime.BackgroundTask
	for _, one := range found {
		known := begun[one.ItemID]
		if active != "" && known.turn == active {
			continue
		}
		tasks = append(tasks, runtime.BackgroundTask{ID: one.ProcessID, Kind: runtime.BackgroundCommand, Command: one.Command,
			TurnID: known.turn, ItemID: one.ItemID, StartedAt: known.began, CanEnd: true})
	}
	return tasks, nil
}

// tracked returns the commands that started and have not ended, for a codex that does not list them.
func tracked(begun map[string]command, active string) (tasks []runtime.BackgroundTask) {
	for item, known := range begun {
		if known.turn == active {
			continue
		}
		_, text, _ := strings.Cut(known.text, ": ")
		tasks = append(tasks, runtime.BackgroundTask{ID: item, Kind: runtime.BackgroundCommand, Command: cmp.Or(text, known.text),
			TurnID: known.turn, ItemID: item, StartedAt: known.began})
	}
	slices.SortFunc(tasks, func(a, b runtime.BackgroundTask) int { return cmp.Compare(a.StartedAt, b.StartedAt) })
	return tasks
}

// EndBackground implements runtime.Backgrounder.
func (c *Codex) EndBackground(ctx context.Context, in runtime.ResumeThread, id string) error {
	conn := connOf(c.process.Current())
	if conn == nil {
		return runtime.ErrNoBackground
	}
	result, err := conn.Call(ctx, c.callTimeout, "thread/backgroundTerminals/terminate",
		object{"threadId": in.ThreadID, "processId": id})
	if unknownMethod(err) {
		begun, _ := conn.turns.commandsOf(in.ThreadID)
		if !slices.Contains(slices.Collect(maps.Keys(begun)), id) {
			return runtime.ErrNoBackground
		}
		return &runtime.UnsupportedError{Runtime: Name, Operation: "end one background command",
			Remedy: "POST /api/sessions/" + in.ThreadID + "/background-terminals/clean ends all of the session; codex from 0.169 on ends one"}
	}
	var ended struct {
		Terminated bool `json:"terminated"`
	}
	if err == nil {
		err = json.Unmarshal(result, &ended)
	}
	if err != nil {
		return err
	}
	if !ended.Terminated {
		return runtime.ErrNoBackground
	}
	for {
		left, err := conn.terminals(ctx, in.ThreadID)
		if err != nil || !slices.ContainsFunc(left, func(one terminal) bool { return one.ProcessID == id }) {
			return err
		}
		select {
		case <-time.After(endStep):
		case <-ctx.Done():
			return fmt.Errorf("%w: codex was asked to end command %s and has not yet: %w", runtime.ErrTimeout, id, ctx.Err())
		}
	}
}
