package opencode

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"harness/internal/runtime"
	"harness/internal/runtime/opencode/bridge"
)

// StartThread implements runtime.Threads.
func (o *OpenCode) StartThread(ctx context.Context, in runtime.StartThread) (runtime.Thread, error) {
	if err := o.Capabilities().CheckControls(Name, in.ApprovalPolicy, in.Sandbox, in.NetworkAccess); err != nil {
		return runtime.Thread{}, err
	}
	now := levels{in.Sandbox, in.ApprovalPolicy, in.NetworkAccess}.or(closed())
	rules, err := now.rules(o.toolRules(in.SessionID), in.NativeToolsOff)
	if err != nil {
		return runtime.Thread{}, err
	}
	body := struct {
		Title      string     `json:"title"`
		Permission []rule     `json:"permission"`
		Model      *nameModel `json:"model,omitempty"`
	}{untitled, rules, nil}
	if in.Model != "" {
		model, err := parseModel(in.Model)
		if err != nil {
			return runtime.Thread{}, err
		}
		body.Model = &model
	}
	folder := in.Cwd
	if folder == "" {
		folder = o.options.Dir
	}
	l, err := o.use(ctx)
	if err != nil {
		return runtime.Thread{}, err
	}
	defer l.done()
	var info sessionInfo
	if err := l.request(ctx, "open", "", bridge.Step{Do: http.MethodPost, Path: "/session", Directory: folder,
		Body: encoded(body)}, &info); err != nil {
		return runtime.Thread{}, err
	}
	id := in.SessionID
	if id == "" {
		id = info.ID
	}
	o.names.learn(id, info.ID, info.Directory)
	if in.SessionID != "" || len(o.options.ServerNames()) == 0 { // otherwise its rules and its name are not set yet
		o.names.apply(info.ID, now)
	}
	thread := o.described(info)
	if thread.Model == "" {
		var config struct {
			Model string `json:"model"`
		}
		err := l.request(ctx, "models", "", bridge.Step{Do: http.MethodGet, Path: "/config", Directory: folder}, &config)
		if err != nil { // the conversation is open and works without it
			o.options.Launch.Logger.Warn().Err(err).Str("session", id).Msg("which model OpenCode runs is not known")
		}
		thread.Model = config.Model
	}
	return thread, nil
}

// parseModel parses a model's name: provider, slash, model.
func parseModel(text string) (nameModel, error) {
	provider, id, ok := strings.Cut(text, "/")
	if !ok || provider == "" || id == "" {
		return nameModel{}, fmt.Errorf("%w: a model of opencode is PROVIDER/MODEL, not %q", runtime.ErrInvalidParams, text)
	}
	return nameModel{ID: id, Provider: provider}, nil
}

// isTitle reports whether a title is neither this server's nor OpenCode's placeholder.
func isTitle(title string) bool {
	return !strings.HasPrefix(title, untitled) && !strings.HasPrefix(title, "New session - ") &&
		!strings.HasPrefix(title, "Child session - ")
}

// described returns a conversation from OpenCode's description.
func (o *OpenCode) described(info sessionInfo) runtime.Thread {
	thread := runtime.Thread{ID: o.names.thread(info.ID), NativeID: info.ID, Cwd: info.Directory, Source: Name,
		CreatedAt: info.Time.Created, UpdatedAt: info.Time.Updated, Archived: info.Time.Archived != 0, Raw: encoded(info)}
	if isTitle(info.Title) {
		thread.Name = info.Title
	}
	if info.Model != nil {
		thread.ModelProvider, thread.Model = info.Model.Provider, info.Model.Provider+"/"+info.Model.ID
	}
	return thread
}

// ResumeThread implements runtime.Threads. OpenCode loads a conversation on its first use.
func (o *OpenCode) ResumeThread(ctx context.Context, in runtime.ResumeThread) (runtime.Thread, error) {
	l, err := o.use(ctx)
	if err != nil {
		return runtime.Thread{}, err
	}
	defer l.done()
	native := in.NativeID
	if native == "" {
		native = in.ThreadID
	}
	info, err := l.fetchSession(ctx, native)
	if err != nil {
		return runtime.Thread{}, err
	}
	o.names.learn(in.ThreadID, native, info.Directory)
	return o.described(info), nil
}

// fetchSession reads a conversation. It returns runtime.ErrThreadNotFound when there is none.
func (l *line) fetchSession(ctx context.Context, native string) (sessionInfo, error) {
	var info sessionInfo
	err := l.request(ctx, "look", native, bridge.Step{Do: http.MethodGet, Path: pathOf(native, "")}, &info)
	return info, missing(err)
}

// missing adds the subject to "not found".
func missing(err error) error {
	if errors.Is(err, runtime.ErrNotFound) {
		return runtime.WithKind(runtime.ErrThreadNotFound, err)
	}
	return err
}

// CloseThread implements runtime.Threads. OpenCode has no resources of a conversation to release.
func (o *OpenCode) CloseThread(_ context.Context, threadID string) error {
	c := o.process.Current()
	if c == nil {
		return nil
	}
	if p, ok := c.Protocol().(*protocol); ok && p.turn(o.names.native(threadID)) != "" {
		return runtime.ErrTurnActive
	}
	return nil
}

// NameThread implements runtime.Archiver.
func (o *OpenCode) NameThread(ctx context.Context, threadID, name string) error {
	_, err := o.change(ctx, threadID, map[string]any{"title": name})
	return err
}

// ArchiveThread implements runtime.Archiver.
func (o *OpenCode) ArchiveThread(ctx context.Context, threadID string) error {
	l, err := o.use(ctx)
	if err != nil {
		return err
	}
	defer l.done()
	info, err := l.fetchSession(ctx, o.native(threadID))
	if err != nil {
		return err
	}
	_, err = o.change(ctx, threadID, map[string]any{"time": map[string]int64{"archived": max(1, info.Time.Updated)}})
	return err
}

// UnarchiveThread implements runtime.Archiver.
func (o *OpenCode) UnarchiveThread(ctx context.Context, threadID string) (runtime.Thread, error) {
	info, err := o.change(ctx, threadID, map[string]any{"time": map[string]int64{"archived": 0}})
	if err != nil {
		return runtime.Thread{}, err
	}
	return o.described(info), nil
}

func (o *OpenCode) change(ctx context.Context, threadID string, body any) (info sessionInfo, err error) {
	l, err := o.use(ctx)
	if err != nil {
		return info, err
	}
	defer l.done()
	native := o.native(threadID)
	err = l.request(ctx, "change", native,
		bridge.Step{Do: http.MethodPatch, Path: pathOf(native, ""), Body: encoded(body)}, &info)
	return info, missing(err)
}

// native returns OpenCode's id of a conversation, by a session's id or its own.
func (o *OpenCode) native(threadID string) string {
	if native := o.names.native(threadID); native != "" {
		return native
	}
	return threadID
}

// DeleteThread implements runtime.Archiver. OpenCode does not report the number of deleted files; one conversation
// counts as one.
func (o *OpenCode) DeleteThread(ctx context.Context, threadID string) (int, error) {
	l, err := o.use(ctx)
	if err != nil {
		return 0, err
	}
	defer l.done()
	native := o.names.native(threadID)
	if native == "" {
		return 0, nil
	}
	err = l.request(ctx, "delete", native, bridge.Step{Do: http.MethodDelete, Path: pathOf(native, "")}, nil)
	if errors.Is(err, runtime.ErrNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	o.detachTools(ctx, l, threadID, native)
	o.names.forget(native)
	return 1, nil
}

// ForkThread implements runtime.Forker.
func (o *OpenCode) ForkThread(ctx context.Context, threadID string) (runtime.Thread, error) {
	l, err := o.use(ctx)
	if err != nil {
		return runtime.Thread{}, err
	}
	defer l.done()
	native := o.native(threadID)
	was, err := l.fetchSession(ctx, native)
	if err != nil {
		return runtime.Thread{}, err
	}
	var info sessionInfo
	if err := l.request(ctx, "fork", native, bridge.Step{Do: http.MethodPost, Path: pathOf(native, "/fork"),
		Body: encoded(struct{}{})}, &info); err != nil {
		return runtime.Thread{}, missing(err)
	}
	// OpenCode does not fork the permissions of a conversation; until they are set, the new one gets no requests.
	step := bridge.Step{Do: http.MethodPatch, Path: pathOf(info.ID, ""), Directory: info.Directory,
		Body: encoded(map[string]any{"permission": was.Permission})}
	if err := l.request(ctx, "fork", info.ID, step, &info); err != nil {
		return runtime.Thread{}, err
	}
	return o.described(info), nil
}
