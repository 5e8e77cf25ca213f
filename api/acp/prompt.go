package acp

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/google/uuid"

	"harness/api/door"
	"harness/internal/operations"
	"harness/internal/platform/telemetry"
	"harness/internal/runtime"
	"harness/internal/runtime/wire"
	"harness/internal/services/session"
	"harness/stream"
)

// Commands are messages that call an operation.
const (
	commandCompact = "compact"
	commandReview  = "review"
)

// prompt is a request that is answered at the end of the turn that its message began or joined.
type prompt struct {
	id           json.RawMessage
	key          string
	cancels      int // the cancellations before it
	turn, queued string
	cancelled    bool
}

// keyOf is the key of a client's message.
func keyOf(session, key string) string { return "acp " + session + " " + key }

// promptSession sends a message. A message with a key is sent once, however often a client sends it.
func promptSession(ctx context.Context, c *call) (any, error) {
	var in struct {
		Prompt []json.RawMessage `json:"prompt"`
		Meta   struct {
			Harness struct {
				Key string `json:"key"`
			} `json:"harness"`
		} `json:"_meta"`
	}
	if err := c.read(&in); err != nil {
		return nil, err
	}
	if _, err := c.named(); err != nil {
		return nil, err
	}
	found, err := c.ops().Find(ctx, c.session)
	if err != nil {
		return nil, err
	}
	f := c.views.Of(c.session)
	if f == nil {
		f = c.follow(found, false)
	}
	if f == nil {
		return nil, context.Canceled
	}
	message, err := c.message(ctx, in.Prompt)
	if err != nil {
		return nil, err
	}
	if result, is, err := c.command(ctx, f, message, canDo(found)); is {
		return result, err
	}
	p := &prompt{id: c.id, key: keyOf(c.session, in.Meta.Harness.Key), cancels: c.cancels}
	if in.Meta.Harness.Key == "" {
		p.key = keyOf(c.session, uuid.NewString())
	} else if earlier, err := c.ops().TurnForKey(ctx, c.session, p.key); err != nil || earlier != "" {
		if err == nil {
			err = f.rejoin(ctx, p, earlier)
		}
		return later, err
	}
	message.Key, message.Effort = p.key, f.begin(p, message.Text)
	sent, err := c.ops().Send(ctx, c.session, message, nil)
	if err != nil {
		f.dropPrompt(p, message.Text)
		return nil, err
	}
	f.assign(ctx, p, sent.TurnID, sent.QueuedID)
	return later, nil
}

// command carries out a message that is a command.
func (c *call) command(ctx context.Context, f *follow, message session.Message, can runtime.Capabilities) (result any, is bool, err error) {
	name, rest, _ := strings.Cut(strings.TrimSpace(message.Text), " ")
	switch {
	case len(message.Images) > 0:
		return nil, false, nil
	case name == "/"+commandCompact && can.Compact:
		_, err = c.ops().Compact(ctx, c.session)
		return object{"stopReason": "end_turn"}, true, err
	case name != "/"+commandReview || !can.Review:
		return nil, false, nil
	}
	want := operations.ReviewRequest{Target: "uncommittedChanges"}
	if rest = strings.TrimSpace(rest); rest != "" {
		want.Target, want.Instructions = "custom", &rest
	}
	p := &prompt{id: c.id, cancels: c.cancels}
	f.begin(p, message.Text)
	began, err := c.ops().Review(ctx, c.session, want)
	turn := wire.Text(wire.Members(wire.Members(began, "turn")[0], "id")[0])
	if err != nil || turn == "" {
		f.dropPrompt(p, message.Text)
		return object{"stopReason": "end_turn"}, true, err
	}
	f.assign(ctx, p, turn, "")
	return later, true, nil
}

// message reads a user's message. Its pictures become uploads, and what a client embeds is text with its place.
func (c *call) message(ctx context.Context, prompt []json.RawMessage) (out session.Message, err error) {
	type resource struct{ URI, Text, Blob string }
	var texts []string
	for _, raw := range prompt {
		var block struct {
			Type, Text, Data, URI, Name string
			Resource                    resource
		}
		if json.Unmarshal(raw, &block) != nil {
			return out, door.Invalid("a block of the prompt has an unexpected form")
		}
		switch block.Type {
		case "text":
			texts = append(texts, block.Text)
		case "image":
			content, err := base64.StdEncoding.DecodeString(block.Data)
			if err != nil {
				return out, door.Invalid("an image is in base64")
			}
			stored, err := c.ops().Upload(ctx, c.session, "picture", content)
			if err != nil {
				return out, err
			}
			out.Images = append(out.Images, stored.Image)
		case "resource_link":
			texts = append(texts, strings.TrimSpace("["+block.Name+"]("+block.URI+")"))
		case "resource":
			if block.Resource.Blob != "" {
				return out, door.Invalid("a resource that is not text cannot be embedded: " + block.Resource.URI)
			}
			texts = append(texts, "<resource uri=\""+block.Resource.URI+"\">\n"+block.Resource.Text+"\n</resource>")
		default:
			return out, door.Invalid("a prompt has no blocks of the type " + block.Type)
		}
	}
	out.Text = strings.Join(texts, "\n")
	if out.Text == "" && len(out.Images) == 0 {
		return out, door.Invalid("the prompt is empty")
	}
	return out, nil
}

// begin prepares for the turn of a prompt, before its message is sent, and returns the effort of the message.
func (f *follow) begin(p *prompt, text string) (effort string) {
	f.add(p)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.said.Expect(text)
	return f.effort
}

// add adds a prompt, which may be cancelled by now.
func (f *follow) add(p *prompt) {
	f.mu.Lock()
	f.prompts = append(f.prompts, p)
	f.mu.Unlock()
	f.peer.mu.Lock()
	now := f.peer.cancels[f.id]
	f.peer.mu.Unlock()
	f.mu.Lock()
	p.cancelled = p.cancelled || now != p.cancels
	f.mu.Unlock()
}

// dropPrompt ends what begin prepared.
func (f *follow) dropPrompt(p *prompt, text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.remove(p)
	f.said.Take(text)
}

// remove reports whether the prompt had no answer yet. It requires f.mu.
func (f *follow) remove(p *prompt) bool {
	for i, one := range f.prompts {
		if one == p {
			f.prompts = append(f.prompts[:i:i], f.prompts[i+1:]...)
			return true
		}
	}
	return false
}

// assign notes the turn of a prompt, or its queued message. The turn may have ended, or be cancelled, by now.
func (f *follow) assign(ctx context.Context, p *prompt, turn, queued string) {
	f.mu.Lock()
	p.turn, p.queued = turn, queued
	cancelled := p.cancelled
	for _, over := range f.over {
		if turn != "" && over.turn == turn {
			f.finish(p, over.outcome)
		}
	}
	f.mu.Unlock()
	if !cancelled {
		return
	}
	if err := f.stop(ctx, p); err != nil {
		telemetry.Log(ctx).Warn().Err(err).Str("session_id", f.id).Msg("a cancelled prompt of a client was not stopped")
	}
}

// rejoin finds the turn of a message that was sent before, on another connection.
func (f *follow) rejoin(ctx context.Context, p *prompt, earlier string) error {
	f.add(p)
	queued, err := f.peer.ops().Queued(ctx, f.id)
	if err != nil {
		return f.lost(p, err)
	}
	for _, one := range queued {
		if one.ID == earlier {
			f.assign(ctx, p, "", earlier)
			return nil
		}
	}
	f.assign(ctx, p, earlier, "")
	detail, _, err := f.peer.ops().Read(ctx, f.id, operations.Reading{Limit: 1})
	if err != nil {
		return f.lost(p, err)
	}
	if detail.Session.Activity.ActiveTurnID == earlier {
		return nil
	}
	const latest = 200
	page, err := f.peer.ops().Events(ctx, stream.Browse{Session: f.id, Type: wire.MethodTurnCompleted, Limit: latest})
	if err != nil {
		return f.lost(p, err)
	}
	for _, one := range page.Events {
		if e, ok := show(one.Record); ok && one.TurnID == earlier {
			f.mu.Lock()
			f.finish(p, outcomeOf(wire.ReadTurn(wire.Members(e.Params, "turn")[0])))
			f.mu.Unlock()
		}
	}
	return nil
}

func (f *follow) lost(p *prompt, err error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.remove(p)
	return err
}

// cancelSession ends the turns that this socket's prompts are in. Without one, it does nothing.
func cancelSession(ctx context.Context, c *call) (any, error) {
	id, err := c.named()
	if err != nil {
		return nil, err
	}
	if f := c.views.Of(id); f != nil {
		err = f.cancel(ctx, c.cancels)
	}
	return nil, err
}

// cancel ends the turns of this socket's prompts that came before a number of cancellations.
func (f *follow) cancel(ctx context.Context, before int) error {
	f.mu.Lock()
	var all []*prompt
	for _, p := range f.prompts {
		if p.cancels >= before {
			continue
		}
		p.cancelled = true
		if p.turn != "" || p.queued != "" {
			all = append(all, p)
		}
	}
	f.mu.Unlock()
	var failed []error
	for _, p := range slices.Backward(all) { // the queued ones first: the end of a turn sends the next
		failed = append(failed, f.stop(ctx, p))
	}
	return errors.Join(failed...)
}

// stop ends the turn of a prompt, or removes its queued message.
func (f *follow) stop(ctx context.Context, p *prompt) error {
	f.mu.Lock()
	turn, queued := p.turn, p.queued
	f.mu.Unlock()
	if queued != "" {
		_, err := f.peer.ops().DropQueued(ctx, f.id, queued)
		if err == nil {
			f.mu.Lock()
			f.finish(p, outcome{status: runtime.TurnInterrupted})
			f.mu.Unlock()
			return nil
		}
		if !errors.Is(err, session.ErrQueuedNotFound) {
			return err
		}
		f.settleQueue(ctx) // it was sent by now
		f.mu.Lock()
		turn = p.turn
		f.mu.Unlock()
	}
	if turn == "" {
		return nil
	}
	_, err := f.peer.ops().Interrupt(ctx, f.id, turn)
	if errors.Is(err, session.ErrNoActiveTurn) || errors.Is(err, session.ErrWrongTurn) {
		return nil // it ended by itself
	}
	return err
}
