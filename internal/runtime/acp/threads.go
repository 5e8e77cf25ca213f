package acp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"harness/internal/runtime"
	"harness/internal/runtime/acp/words"
	"harness/internal/runtime/stdio"
)

// offer are the modes and models of a conversation, in the different forms that agents have.
type offer struct {
	Modes struct {
		Current string `json:"currentModeId"`
		All     []struct {
			ID string `json:"id"`
		} `json:"availableModes"`
	} `json:"modes"`
	Models struct {
		Current string `json:"currentModelId"`
		All     []struct {
			ID          string `json:"modelId"`
			Name        string `json:"name"`
			Description string `json:"description"`
		} `json:"availableModels"`
	} `json:"models"`
	Options []struct {
		ID       string `json:"id"`
		Category string `json:"category"`
		Current  string `json:"currentValue"`
		Options  []struct {
			Value       string `json:"value"`
			Name        string `json:"name"`
			Description string `json:"description"`
		} `json:"options"`
	} `json:"configOptions"`
}

// modeAsks is the agents' name of the mode with approvals.
const modeAsks = "default"

// asks returns the mode of a conversation with approvals, "" without one of that name.
func (o *offer) asks() string {
	for _, mode := range o.Modes.All {
		if mode.ID == modeAsks {
			return modeAsks
		}
	}
	return ""
}

// models returns the offered models, and the id of the option that sets one ("" if there is a method for it).
func (o *offer) models(images bool) (models []runtime.Model, option string) {
	models = []runtime.Model{}
	for _, one := range o.Models.All {
		models = append(models, runtime.Model{ID: one.ID, Name: cmp.Or(one.Name, one.ID), Description: one.Description,
			Default: one.ID == o.Models.Current, Efforts: []string{}, Images: images})
	}
	for _, setting := range o.Options {
		if len(models) > 0 || setting.Category != "model" {
			continue
		}
		option = setting.ID
		for _, one := range setting.Options {
			models = append(models, runtime.Model{ID: one.Value, Name: cmp.Or(one.Name, one.Value), Description: one.Description,
				Default: one.Value == setting.Current, Efforts: []string{}, Images: images})
		}
	}
	return models, option
}

// Models implements runtime.Adapter. An agent lists its models when a conversation opens, so Models opens one if
// there was none.
func (r *Runtime) Models(ctx context.Context) ([]runtime.Model, error) {
	if models, _ := r.offers(); len(models) > 0 {
		return models, nil
	}
	conn, done, err := r.process.Use(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	if _, err := r.open(ctx, conn, "", r.lookup("HOME")); err != nil {
		return nil, err
	}
	models, _ := r.offers()
	return models, nil
}

func (r *Runtime) offers() (models []runtime.Model, option string) {
	images := r.Capabilities().Images
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.offered.models(images)
}

// open creates a conversation and sets its mode and model.
func (r *Runtime) open(ctx context.Context, conn *stdio.Conn, thread, cwd string) (native string, err error) {
	if err := r.requireNoSettings(cwd); err != nil {
		return "", err
	}
	result, err := conn.Call(ctx, r.calls, words.New, about{thread, r.withMeta(map[string]any{"cwd": cwd,
		"mcpServers": r.offeredTools(conn, thread)})})
	if err != nil {
		return "", err
	}
	var made struct {
		SessionID string `json:"sessionId"`
		offer
	}
	if err := json.Unmarshal(result, &made); err != nil || made.SessionID == "" {
		return "", fmt.Errorf("%w: %s opened a conversation without an id (%.200s)", runtime.ErrInvalidState,
			r.profile.title(), result)
	}
	r.learn(conn, made.SessionID, made.offer)
	if r.profile.FirstTitle != "" {
		if _, err := conn.Call(ctx, r.calls, words.SetTitle,
			about{thread, map[string]string{"sessionId": made.SessionID, "title": r.profile.FirstTitle}}); err != nil {
			return "", fmt.Errorf("name the conversation: %w", err)
		}
	}
	return made.SessionID, nil
}

// withMeta adds the profile's _meta to the parameters that open or load a conversation.
func (r *Runtime) withMeta(params map[string]any) map[string]any {
	if r.profile.SessionMeta != "" {
		params["_meta"] = json.RawMessage(r.profile.SessionMeta)
	}
	return params
}

// learn stores the agent's data about an opened or loaded conversation.
func (r *Runtime) learn(conn *stdio.Conn, native string, said offer) {
	r.mu.Lock()
	if models, _ := said.models(false); len(models) > 0 {
		r.offered = said
	}
	r.mu.Unlock()
	now := settings{mode: said.Modes.Current, model: said.Models.Current, asks: said.asks()}
	for _, option := range said.Options {
		if option.Category == "model" && now.model == "" {
			now.model = option.Current
		}
	}
	p := protocolOf(conn)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.settings[native] = now
}

// autoApproved reports whether the server approves the agent's requests in a conversation without a user.
func (r *Runtime) autoApproved(p *protocol, native string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return r.profile.AutoApproves && p.settings[native].policy == "never"
}

// set sets the mode for an approval policy and the model of a conversation; "" leaves either.
func (r *Runtime) set(ctx context.Context, conn *stdio.Conn, thread, native, policy, model string) error {
	p := protocolOf(conn)
	p.mu.Lock()
	now := p.settings[native]
	p.mu.Unlock()
	if mode := r.profile.modeFor(policy, now); mode != "" && mode != now.mode {
		if _, err := conn.Call(ctx, r.calls, words.SetMode,
			about{thread, map[string]string{"sessionId": native, "modeId": mode}}); err != nil {
			return fmt.Errorf("set the mode of approval policy %s: %w", policy, err)
		}
		now.mode = mode
	}
	now.policy = cmp.Or(policy, now.policy)
	if model != "" && model != now.model {
		models, option := r.offers()
		if !slices.ContainsFunc(models, func(one runtime.Model) bool { return one.ID == model }) {
			return fmt.Errorf("%w: %s offers no model %q; it offers %s", runtime.ErrInvalidParams, r.profile.title(), model,
				modelIDs(models))
		}
		method, params := words.SetModel, map[string]string{"sessionId": native, "modelId": model}
		if option != "" {
			method, params = words.SetOption, map[string]string{"sessionId": native, "configId": option, "value": model}
		}
		if _, err := conn.Call(ctx, r.calls, method, about{thread, params}); err != nil {
			return fmt.Errorf("set model %s: %w", model, err)
		}
		now.model = model
	}
	p.mu.Lock()
	p.settings[native] = now
	p.mu.Unlock()
	return nil
}

func modelIDs(models []runtime.Model) string {
	ids := make([]string, len(models))
	for i, one := range models {
		ids[i] = one.ID
	}
	return cmp.Or(strings.Join(ids, ", "), "none")
}

// StartThread implements runtime.Threads.
func (r *Runtime) StartThread(ctx context.Context, in runtime.StartThread) (runtime.Thread, error) {
	if err := r.Capabilities().CheckControls(r.profile.Name, in.ApprovalPolicy, in.Sandbox, in.NetworkAccess); err != nil {
		return runtime.Thread{}, err
	}
	if !filepath.IsAbs(in.Cwd) {
		return runtime.Thread{}, fmt.Errorf("%w: the working folder %q is not an absolute path",
			runtime.ErrInvalidParams, in.Cwd)
	}
	conn, done, err := r.process.Use(ctx)
	if err != nil {
		return runtime.Thread{}, err
	}
	defer done()
	thread := cmp.Or(in.SessionID, uuid.NewString())
	native, err := r.open(ctx, conn, thread, in.Cwd)
	if err != nil {
		return runtime.Thread{}, err
	}
	if err := r.set(ctx, conn, thread, native, in.ApprovalPolicy, in.Model); err != nil {
		return runtime.Thread{}, err
	}
	r.remember(thread, native, in.Cwd)
	return runtime.Thread{ID: thread, NativeID: native, Cwd: in.Cwd, Model: modelOf(conn, native), Source: r.profile.Name}, nil
}

// modelOf returns the model of a conversation, "" if unknown.
func modelOf(conn *stdio.Conn, native string) string {
	p := protocolOf(conn)
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.settings[native].model
}

// remember stores the agent's id and the folder of a session, and returns the known ones.
func (r *Runtime) remember(thread, native, cwd string) (knownNative, knownCwd string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if native != "" {
		r.natives[thread] = native
	}
	if cwd != "" {
		r.folders[thread] = cwd
	}
	return cmp.Or(r.natives[thread], thread), r.folders[thread]
}

// ResumeThread implements runtime.Threads. A conversation without a known folder loads with its next message, which
// has the folder.
func (r *Runtime) ResumeThread(ctx context.Context, in runtime.ResumeThread) (runtime.Thread, error) {
	native, cwd := r.remember(in.ThreadID, in.NativeID, "")
	thread := runtime.Thread{ID: in.ThreadID, NativeID: native, Cwd: cwd, Source: r.profile.Name}
	conn, done, err := r.process.Use(ctx)
	if err != nil {
		return runtime.Thread{}, err
	}
	defer done()
	if cwd == "" {
		return thread, nil
	}
	return thread, r.load(ctx, conn, in.ThreadID, native, cwd)
}

// load loads a stored conversation, unless the process has it.
func (r *Runtime) load(ctx context.Context, conn *stdio.Conn, thread, native, cwd string) error {
	p := protocolOf(conn)
	p.mu.Lock()
	loaded, can := p.translator.threads[native] == thread, p.agent.Can
	p.mu.Unlock()
	method := words.Load
	switch {
	case loaded:
		return nil
	case can.Session.Resume != nil:
		method = words.Resume
	case !can.Load:
		return fmt.Errorf("%w: %s cannot load conversations of a process that has ended", runtime.ErrThreadNotFound,
			r.profile.title())
	}
	if err := r.requireNoSettings(cwd); err != nil {
		return err
	}
	if err := r.putAside(native); err != nil {
		return err
	}
	p.mu.Lock()
	p.loading[native] = 0
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.loading, native)
	}()
	result, err := r.callWhenFree(ctx, conn, method,
		about{thread, r.withMeta(map[string]any{"sessionId": native, "cwd": cwd, "mcpServers": r.offeredTools(conn, thread)})})
	if err != nil {
		return err
	}
	var said offer
	_ = json.Unmarshal(result, &said) // an agent may not report them
	r.learn(conn, native, said)
	if err := p.awaitHistory(ctx, r.calls, native); err != nil {
		return fmt.Errorf("read the history of conversation %s: %w", native, err)
	}
	p.opened(native, thread)
	return nil
}

// quietProbes is the number of consecutive answers without a message of a conversation, after which its history is
// complete.
const quietProbes = 2

// awaitHistory returns when an agent has sent the whole history of a conversation that it loads. Some agents answer
// the call earlier. Messages of old turns must not become part of the next one.
func (p *protocol) awaitHistory(ctx context.Context, limit time.Duration, native string) error {
	said := func() int {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.loading[native]
	}
	for quiet, before := 0, said(); quiet < quietProbes; {
		method, params := p.Probe()
		var refused *runtime.Error
		if _, err := p.Call(ctx, limit, method, params); err != nil && !errors.As(err, &refused) {
			return err
		}
		now := said()
		if quiet++; now != before {
			quiet, before = 0, now
		}
	}
	return nil
}

// CloseThread implements runtime.Threads. It closes the conversation if the agent supports that.
func (r *Runtime) CloseThread(ctx context.Context, threadID string) error {
	native, _ := r.remember(threadID, "", "")
	conn := r.process.Current()
	p := protocolOf(conn)
	if p == nil {
		return nil
	}
	p.mu.Lock()
	running, loaded, can := p.translator.state.Conversations[native] != nil, p.translator.threads[native] == threadID, p.agent.Can
	p.mu.Unlock()
	switch {
	case running:
		return fmt.Errorf("%w: in session %s", runtime.ErrTurnActive, threadID)
	case !loaded || can.Session.Close == nil || can.Session.Resume == nil && !can.Load:
		return nil
	}
	if _, err := conn.Call(ctx, r.calls, words.Close,
		about{threadID, map[string]string{"sessionId": native}}); err != nil {
		return err
	}
	p.closed(native)
	return nil
}
