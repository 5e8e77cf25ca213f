package opencode

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"

	"harness/internal/runtime"
	"harness/internal/runtime/opencode/bridge"
)

// ListThreads implements runtime.History.
func (o *OpenCode) ListThreads(ctx context.Context, in runtime.ListThreads) (runtime.ThreadPage, error) {
	l, err := o.use(ctx)
	if err != nil {
		return runtime.ThreadPage{}, err
	}
	defer l.done()
	limit := in.Limit
	if limit <= 0 {
		limit = 50
	}
	// "archived" requests all of them; the other list omits a removed one.
	query := url.Values{"roots": {"true"}, "archived": {"true"}, "limit": {strconv.Itoa(limit)}}
	if in.Cursor != "" {
		query.Set("cursor", in.Cursor)
	}
	var list []sessionInfo
	step := bridge.Step{Do: http.MethodGet, Path: "/experimental/session?" + query.Encode(), Directory: o.options.Dir}
	if err := l.request(ctx, "list", "", step, &list); err != nil {
		return runtime.ThreadPage{}, err
	}
	page := runtime.ThreadPage{Threads: make([]runtime.Thread, 0, len(list))}
	for _, info := range list {
		if (info.Time.Archived != 0) == in.Archived {
			page.Threads = append(page.Threads, o.described(info))
		}
	}
	if len(list) == limit {
		page.NextCursor = strconv.FormatInt(list[len(list)-1].Time.Updated, 10)
	}
	return page, nil
}

// ReadThread implements runtime.History.
func (o *OpenCode) ReadThread(ctx context.Context, threadID string, withTurns bool) (runtime.Thread, error) {
	l, err := o.use(ctx)
	if err != nil {
		return runtime.Thread{}, err
	}
	defer l.done()
	native := o.native(threadID)
	info, err := l.fetchSession(ctx, native)
	if err != nil {
		return runtime.Thread{}, err
	}
	thread := o.described(info)
	if !withTurns {
		return thread, nil
	}
	var list []message
	step := bridge.Step{Do: http.MethodGet, Path: pathOf(native, "/message"), Directory: info.Directory}
	if err := l.request(ctx, "history", native, step, &list); err != nil {
		return runtime.Thread{}, missing(err)
	}
	thread.Turns = turns(native, info.Directory, list, l.turn(native))
	return thread, nil
}

// turns returns the turns of messages, translated as if they came in order. A user message starts a turn if the
// agent's last message was final; otherwise it steered. running is the running turn, "" for none.
func turns(native, folder string, messages []message, running string) []runtime.Turn {
	var out []runtime.Turn
	t := &translation{state: &state{}, past: true, dir: folder, name: func(native string) string { return native }}
	take := func() {
		for _, signal := range t.out {
			switch change := signal.Change.(type) {
			case runtime.TurnStarted:
				out = append(out, runtime.Turn{ID: change.TurnID, Status: runtime.TurnInProgress, StartedAt: change.StartedAt,
					Native: change.Native})
			case runtime.ItemChanged:
				if change.Done && len(out) > 0 {
					out[len(out)-1].Items = append(out[len(out)-1].Items, change.Item)
				}
			case runtime.TurnCompleted:
				last := &out[len(out)-1]
				last.Status, last.Error, last.Kind, last.Remedy = change.Status, change.Error, change.Kind, change.Remedy
				last.CompletedAt, last.Native = change.CompletedAt, change.Native
			}
		}
		t.out = nil
	}
	finish := func() {
		if in := t.Conversations[native]; in != nil && in.Turn != running {
			if in.Message != "" && !in.Finished { // its process ended during this message
				in.fail(&nativeError{Name: errorAborted})
			}
			t.end(native, in)
		}
		take()
	}
	settled := true
	for _, one := range messages {
		var info struct {
			messageInfo
			Finish string `json:"finish"`
		}
		if json.Unmarshal(one.Info, &info) != nil {
			continue
		}
		if info.Role == "user" && settled {
			finish()
		}
		t.at = max(info.Time.Created, info.Time.Completed)
		t.again(native, one, info.messageInfo)
		take()
		settled = info.Role == "assistant" && (info.Error != nil || info.Time.Completed == 0 || info.Finish != "tool-calls")
	}
	finish()
	return out
}
