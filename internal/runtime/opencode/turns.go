package opencode

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"harness/internal/runtime"
	"harness/internal/runtime/opencode/bridge"
)

// prompt is a message in OpenCode's format.
type prompt struct {
	MessageID string      `json:"messageID"`
	Model     *modelRef   `json:"model,omitempty"`
	Variant   string      `json:"variant,omitempty"`
	Parts     []inputPart `json:"parts"`
}

type modelRef struct {
	Provider string `json:"providerID"`
	Model    string `json:"modelID"`
}

type inputPart struct {
	Type     string `json:"type"`
	Text     string `json:"text,omitempty"`
	MIME     string `json:"mime,omitempty"`
	Filename string `json:"filename,omitempty"`
	URL      string `json:"url,omitempty"`
	// Synthetic marks text for the model only: clients do not see it as part of the message.
	Synthetic bool `json:"synthetic,omitempty"`
}

// StartTurn implements runtime.Threads. A message to a conversation in a turn joins that turn.
func (o *OpenCode) StartTurn(ctx context.Context, in runtime.StartTurn) (runtime.StartedTurn, error) {
	if err := o.Capabilities().CheckControls(Name, in.ApprovalPolicy, in.Sandbox, in.NetworkAccess); err != nil {
		return runtime.StartedTurn{}, err
	}
	p := prompt{Variant: in.Effort}
	var err error
	if p.Parts, err = parts(in.Input); err != nil {
		return runtime.StartedTurn{}, err
	}
	if in.Model != "" {
		model, err := parseModel(in.Model)
		if err != nil {
			return runtime.StartedTurn{}, err
		}
		p.Model = &modelRef{model.Provider, model.ID}
	}
	l, err := o.use(ctx)
	if err != nil {
		return runtime.StartedTurn{}, err
	}
	defer l.done()
	native, anew := cmp.Or(in.NativeID, o.native(in.ThreadID)), ""
	if in.History != "" {
		bare, err := o.nativeToolsOff(ctx, in.ThreadID)
		if err != nil {
			return runtime.StartedTurn{}, err
		}
		made, err := o.StartThread(ctx, runtime.StartThread{SessionID: in.ThreadID, Cwd: in.Cwd, Model: in.Model,
			ApprovalPolicy: in.ApprovalPolicy, Sandbox: in.Sandbox, NetworkAccess: in.NetworkAccess,
			NativeToolsOff: bare})
		if err != nil {
			return runtime.StartedTurn{}, err
		}
		native, anew = made.Native(), made.Native()
		p.Parts = append([]inputPart{{Type: "text", Text: in.History, Synthetic: true}}, p.Parts...)
	}
	if err := o.enter(ctx, l, in, native); err != nil {
		return runtime.StartedTurn{}, err
	}
	if in.Alone && l.turn(native) != "" {
		return runtime.StartedTurn{}, runtime.ErrTurnActive
	}
	turn, err := o.send(ctx, l, native, &p)
	return runtime.StartedTurn{TurnID: turn, Steered: turn != p.MessageID, NativeID: anew}, err
}

// enter loads a conversation and sets its permissions to exactly the levels of the message.
func (o *OpenCode) enter(ctx context.Context, l *line, in runtime.StartTurn, native string) error {
	was := o.names.of(native)
	var permissions []rule
	if was.folder == "" || was.levels == (levels{}) {
		info, err := l.fetchSession(ctx, native)
		if err != nil {
			return err
		}
		permissions = info.Permission
		o.names.learn(in.ThreadID, native, info.Directory)
		was = o.names.of(native)
	}
	if in.Cwd != "" && in.Cwd != was.folder && !sameFolder(in.Cwd, was.folder) {
		return fmt.Errorf("%w: an opencode conversation cannot change its folder (%s)",
			runtime.ErrInvalidParams, was.folder)
	}
	if err := o.attachTools(ctx, l, in.ThreadID, native); err != nil {
		return err
	}
	now := levels{in.Sandbox, in.ApprovalPolicy, in.NetworkAccess}.or(was.levels)
	if now == was.levels {
		return nil
	}
	now = now.or(closed())
	bare, err := o.nativeToolsOff(ctx, in.ThreadID)
	if err != nil {
		return err
	}
	rules, err := now.rules(o.toolRules(in.ThreadID), bare)
	if err != nil {
		return err
	}
	if !inForce(permissions, rules) {
		step := bridge.Step{Do: http.MethodPatch, Path: pathOf(native, ""),
			Body: encoded(map[string]any{"permission": rules})}
		if err := l.request(ctx, "levels", native, step, nil); err != nil {
			return missing(err)
		}
	}
	o.names.apply(native, now)
	return nil
}

func sameFolder(a, b string) bool {
	one, err := filepath.EvalSymlinks(a)
	if err != nil {
		return false
	}
	other, err := filepath.EvalSymlinks(b)
	return err == nil && one == other
}

// send is line.send; the caller holds sending.
func (o *OpenCode) send(ctx context.Context, l *line, native string, p *prompt) (turn string, err error) {
	o.sending.RLock()
	defer o.sending.RUnlock()
	return l.send(ctx, native, p)
}

// send sends a message and returns its turn.
func (l *line) send(ctx context.Context, native string, p *prompt) (turn string, err error) {
	p.MessageID = l.newMessageID(time.Now())
	outcomes, forget := l.await(p.MessageID, native)
	defer forget()
	ctx, cancel := context.WithTimeout(ctx, l.limit)
	defer cancel()
	c := call{Command: bridge.Command{Message: p.MessageID,
		Steps: []bridge.Step{{Do: http.MethodPost, Path: pathOf(native, "/prompt_async"), Body: encoded(p)}}}}
	if err := l.command(ctx, "send", native, c, nil); err != nil {
		return "", missing(err)
	}
	var complaint error
	var polls <-chan time.Time
	for {
		select {
		case in := <-outcomes:
			if in.err == nil {
				return in.turn, nil
			}
			complaint = in.err
			ticker := time.NewTicker(complaintGrace)
			defer ticker.Stop()
			polls = ticker.C
		case <-polls:
			step := bridge.Step{Do: http.MethodGet, Path: pathOf(native, "/message/"+url.PathEscape(p.MessageID))}
			if err := l.request(ctx, "look", native, step, nil); errors.Is(err, runtime.ErrNotFound) {
				return "", complaint
			}
		case <-l.Gone():
			return "", fmt.Errorf("%w: opencode ended while it took a message", runtime.ErrProcessGone)
		case <-ctx.Done():
			return "", l.Overdue(ctx, "send")
		}
	}
}

// complaintGrace is how long a message may take to appear after an error of its conversation, which may be about an
// earlier message.
const complaintGrace = 5 * time.Second

// SteerTurn implements runtime.Steerer.
func (o *OpenCode) SteerTurn(ctx context.Context, threadID, turnID string, input []json.RawMessage) error {
	content, err := parts(input)
	if err != nil {
		return err
	}
	l, err := o.use(ctx)
	if err != nil {
		return err
	}
	defer l.done()
	native := o.native(threadID)
	if err := l.running(native, turnID); err != nil {
		return err
	}
	_, err = o.send(ctx, l, native, &prompt{Parts: content})
	return err
}

// running returns an error when a turn is not the running one.
func (l *line) running(native, turnID string) error {
	switch now := l.turn(native); now {
	case turnID:
		return nil
	case "":
		return runtime.ErrNoActiveTurn
	default:
		return runtime.ErrOtherTurn
	}
}

// InterruptTurn implements runtime.Threads.
func (o *OpenCode) InterruptTurn(ctx context.Context, threadID, turnID string) error {
	l, err := o.use(ctx)
	if err != nil {
		return err
	}
	defer l.done()
	native := o.native(threadID)
	if err := l.running(native, turnID); err != nil {
		return err
	}
	waiting := l.queuedMessages(native)
	stop := call{Command: bridge.Command{Turn: turnID, Steps: abort(native, o.names.of(native).folder)}}
	stopping, cancel := outlast(ctx, stopGrace)
	defer cancel()
	if err := l.command(stopping, "interrupt", native, stop, nil); err != nil || len(waiting) == 0 {
		return err
	}
	return l.withdraw(ctx, native, turnID, waiting)
}

// stopGrace is how long a stop may take after its caller has canceled, as callers do at the end of the turn. OpenCode
// stops whatever runs, so the next message must not overtake a stop.
const stopGrace = 2 * time.Second

// outlast returns a context that ends some time after another one.
func outlast(ctx context.Context, grace time.Duration) (context.Context, context.CancelFunc) {
	out, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(grace, cancel) })
	return out, func() {
		stop()
		cancel()
	}
}

// withdraw removes the messages that the agent had not started to answer when its turn was stopped. Otherwise the
// next turn would answer them.
func (l *line) withdraw(ctx context.Context, native, turnID string, messages []string) error {
	// The caller may wait only for the end of the turn and then cancel.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.limit)
	defer cancel()
	polls := time.NewTicker(20 * time.Millisecond)
	defer polls.Stop()
	for l.turn(native) == turnID { // before that, OpenCode removes nothing
		select {
		case <-polls.C:
		case <-l.Gone():
			return nil
		case <-ctx.Done():
			return fmt.Errorf("%w: the turn is still running: %w", runtime.ErrTimeout, ctx.Err())
		}
	}
	for _, message := range messages {
		step := bridge.Step{Do: http.MethodDelete, Path: pathOf(native, "/message/"+url.PathEscape(message))}
		if err := l.request(ctx, "withdraw", native, step, nil); err != nil && !errors.Is(err, runtime.ErrNotFound) {
			return fmt.Errorf("withdraw a message that was not begun: %w", err)
		}
	}
	return nil
}

// queuedMessages returns the messages to a running turn that the agent has not started to answer.
func (p *protocol) queuedMessages(native string) (messages []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	in := p.state.Conversations[native]
	if in == nil {
		return nil
	}
	for _, id := range in.Users {
		if id != in.Turn && id > in.Answers {
			messages = append(messages, id)
		}
	}
	return messages
}

// abort returns the requests that stop a turn.
func abort(native, folder string) []bridge.Step {
	return []bridge.Step{{Do: http.MethodPost, Path: pathOf(native, "/abort"), Directory: folder},
		{Do: bridge.DoAborted, Directory: folder}}
}

// parts returns the parts of a message in OpenCode's format: files, and one text. OpenCode publishes them in this
// order, and the translator publishes the message when its text arrives.
func parts(input []json.RawMessage) ([]inputPart, error) {
	var texts []string
	var files []inputPart
	for _, raw := range input {
		var p struct {
			Type string `json:"type"`
			Text string `json:"text"`
			URL  string `json:"url"`
			Path string `json:"path"`
		}
		if err := json.Unmarshal(raw, &p); err != nil {
			return nil, fmt.Errorf("%w: a part of the message is not an object", runtime.ErrInvalidParams)
		}
		switch p.Type {
		case "text":
			texts = append(texts, p.Text)
		case "image":
			files = append(files, inputPart{Type: "file", MIME: imageType(p.URL), URL: p.URL})
		case "localImage":
			if !filepath.IsAbs(p.Path) {
				return nil, fmt.Errorf("%w: the path of an image must be absolute", runtime.ErrInvalidParams)
			}
			files = append(files, inputPart{Type: "file", MIME: imageType(p.Path), Filename: filepath.Base(p.Path),
				URL: (&url.URL{Scheme: "file", Path: p.Path}).String()})
		default:
			return nil, fmt.Errorf("%w: opencode takes text, image and localImage, not %q", runtime.ErrInvalidParams, p.Type)
		}
	}
	if len(texts) > 0 {
		files = append(files, inputPart{Type: "text", Text: strings.Join(texts, "\n\n")})
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%w: the message is empty", runtime.ErrInvalidParams)
	}
	return files, nil
}

// imageType returns the media type of an image from its address.
func imageType(address string) string {
	if rest, is := strings.CutPrefix(address, "data:"); is {
		if kind, _, _ := strings.Cut(rest, ";"); strings.HasPrefix(kind, "image/") {
			return kind
		}
	}
	if parsed, err := url.Parse(address); err == nil {
		if kind := mime.TypeByExtension(filepath.Ext(parsed.Path)); strings.HasPrefix(kind, "image/") {
			return kind
		}
	}
	return "image/png"
}

// newMessageID makes the id of a message in OpenCode's format, which sorts by time.
func (p *protocol) newMessageID(now time.Time) string {
	const letters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	p.mu.Lock()
	p.stamp = max(now.UnixMilli()<<12, p.stamp+1)
	stamp := p.stamp
	p.mu.Unlock()
	var noise [14]byte
	_, _ = rand.Read(noise[:]) // never fails
	for i, b := range noise {
		noise[i] = letters[int(b)%len(letters)]
	}
	return fmt.Sprintf("msg_%012x%s", uint64(stamp)&(1<<48-1), noise)
}

// EndProcess implements runtime.Ender. The process serves all conversations.
func (o *OpenCode) EndProcess(ctx context.Context, _, reason string) error {
	return o.process.End(ctx, reason)
}
