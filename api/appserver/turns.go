package appserver

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"

	"github.com/google/uuid"

	"harness/api/door"
	"harness/internal/operations"
	"harness/internal/runtime"
	"harness/internal/runtime/wire"
	"harness/internal/services/session"
)

// input is one part of a user's message.
type input struct {
	Type, Text, URL, Path, Name string
}

// turnParams are the parameters of turn/start and turn/steer.
type turnParams struct {
	wishes
	ThreadID string
	ClientID string `json:"clientUserMessageId"`
	Input    []json.RawMessage
	Expected string `json:"expectedTurnId"`
}

// startTurn sends a message. The client's id of it is the key of a repeated request.
func startTurn(ctx context.Context, c *call) (any, error) {
	var in turnParams
	if err := c.read(&in); err != nil {
		return nil, err
	}
	detail, err := c.detail(ctx)
	if err != nil {
		return nil, err
	}
	next, problem, err := c.wished(detail.Session, in.wishes)
	if err != nil {
		return nil, err
	}
	if !next.Equal(detail.Session.Controls) {
		audit := operations.Audit{Actor: c.Actor(), Source: protocol}
		if _, err := c.ops().SetControls(ctx, c.session, operations.ScopeSession, next, audit); err != nil {
			return nil, err
		}
	}
	message, err := c.message(ctx, in)
	if err != nil {
		return nil, err
	}
	message.Effort = c.effortOf(ctx, detail.Session, in.Effort)
	sent, err := c.say(ctx, message, noteOf(in.ClientID, message.Text))
	if err != nil {
		return nil, err
	}
	if problem != "" {
		c.after = append(c.after, func() { c.warn(c.session, problem) })
	}
	turn := sent.TurnID
	if turn == "" { // it is queued behind the turn that another client began
		turn = detail.Session.Activity.ActiveTurnID
	}
	return object{"turn": turnView(turn, "inProgress", nil)}, nil
}

// steerTurn adds a message to the running turn. The client gets its item at once: it sends a message again of which it
// never got one. A runtime that cannot steer gets the message after the turn.
func steerTurn(ctx context.Context, c *call) (any, error) {
	var in turnParams
	if err := c.read(&in); err != nil {
		return nil, err
	}
	if _, err := c.threadID(); err != nil {
		return nil, err
	}
	message, err := c.message(ctx, in)
	if err != nil {
		return nil, err
	}
	f := c.views.Of(c.session)
	if f != nil {
		f.expect(message.Text)
	}
	note := noteOf(in.ClientID, message.Text)
	sent, err := c.say(ctx, message, note)
	if err != nil {
		if f != nil {
			f.expectNot(message.Text)
		}
		return nil, err
	}
	turn := in.Expected
	if sent.TurnID != "" {
		if turn = sent.TurnID; f != nil {
			f.addSteer(steer{turn, message, note})
		}
	}
	item := object{"type": wire.ItemUserMessage, "id": "steered-" + in.ClientID, "clientId": in.ClientID, "content": in.Input}
	now := c.server.opts.Clock().UnixMilli()
	c.notify(wire.MethodItemStarted, object{"threadId": c.session, "turnId": turn, "item": item, "startedAtMs": now})
	c.notify(wire.MethodItemCompleted, object{"threadId": c.session, "turnId": turn, "item": item, "completedAtMs": now})
	return object{"turnId": turn}, nil
}

// say sends a message once, however often a client sends it.
func (c *call) say(ctx context.Context, message session.Message, note *door.Note) (session.Sent, error) {
	if message.Key != "" {
		earlier, err := c.ops().TurnForKey(ctx, c.session, message.Key)
		if err != nil || earlier != "" {
			return session.Sent{TurnID: earlier}, err
		}
	}
	return c.ops().Send(ctx, c.session, message, note)
}

// message reads a user's message. Its pictures become uploads.
func (c *call) message(ctx context.Context, in turnParams) (session.Message, error) {
	out := session.Message{}
	var texts []string
	for _, raw := range in.Input {
		var part input
		if json.Unmarshal(raw, &part) != nil {
			return out, door.Invalid("A part of the message has an unexpected form")
		}
		switch {
		case part.Type == "text":
			texts = append(texts, part.Text)
		case part.Type == "image" && strings.HasPrefix(part.URL, "data:"):
			image, err := c.upload(ctx, part.URL)
			if err != nil {
				return out, err
			}
			out.Images = append(out.Images, image)
		default:
			name := strings.TrimSpace(part.Name + " " + part.Path)
			texts = append(texts, name)
			c.warn(c.session, "This server takes the "+part.Type+" "+name+" as text only.")
		}
	}
	out.Text = strings.Join(texts, "\n")
	if in.ClientID != "" {
		out.Key = "app-server " + c.session + " " + in.ClientID
	}
	return out, nil
}

func (c *call) upload(ctx context.Context, url string) (string, error) {
	_, data, found := strings.Cut(url, ";base64,")
	content, err := base64.StdEncoding.DecodeString(data)
	if !found || err != nil {
		return "", door.Invalid("A picture is a data URL in base64")
	}
	stored, err := c.ops().Upload(ctx, c.session, "picture", content)
	return stored.Image, err
}

// eventMessage records the client's id of a message, in the unit of its turn. After a reconnect the client looks for it
// in the history.
const eventMessage = "app_server.message"

// remembered is the payload of eventMessage.
type remembered struct {
	ClientID string `json:"clientId"`
	Digest   string `json:"digest"`
}

func noteOf(clientID, text string) *door.Note {
	if clientID == "" {
		return nil
	}
	return &door.Note{Type: eventMessage, Payload: encode(remembered{clientID, digest(text)})}
}

func interruptTurn(ctx context.Context, c *call) (any, error) {
	var in struct{ TurnID string }
	if err := c.read(&in); err != nil {
		return nil, err
	}
	return c.change(func(id string) error {
		_, err := c.ops().Interrupt(ctx, id, in.TurnID)
		if errors.Is(err, session.ErrNoActiveTurn) {
			return nil // it ended by itself
		}
		if f := c.views.Of(id); f != nil && err == nil {
			if steers := f.takeSteers(in.TurnID); len(steers) > 0 {
				c.after = append(c.after, func() { c.sendUnanswered(c.Context, f, steers) })
			}
		}
		return err
	})
}

// compact shortens the context of a session. The TUI ends on an error, so a runtime that cannot do it gets a turn that
// says so and is not stored.
func compact(ctx context.Context, c *call) (any, error) {
	detail, err := c.detail(ctx)
	if err != nil {
		return nil, err
	}
	var can runtime.Capabilities
	_ = json.Unmarshal(detail.Session.Capabilities, &can) // unknown ones: the runtime answers
	problem := "This runtime compacts by itself; nothing was done."
	if can.Compact {
		_, err := c.ops().Compact(ctx, c.session)
		if err == nil {
			return object{}, nil
		}
		problem = c.failed(ctx, err).Message
	}
	c.failTurn(problem)
	return object{}, nil
}

// failTurn sends a failed turn that says what cannot be done, and is not stored. It returns the turn as it begins.
func (c *call) failTurn(problem string) object {
	turn, reason := uuid.NewString(), object{"message": problem}
	begun := turnView(turn, "inProgress", nil)
	c.after = append(c.after, func() {
		c.notify(wire.MethodTurnStarted, object{"threadId": c.session, "turn": begun})
		c.notify(wire.MethodError, object{"threadId": c.session, "turnId": turn, "willRetry": false, "error": reason})
		c.notify(wire.MethodTurnCompleted, object{"threadId": c.session, "turn": turnView(turn, "failed", reason)})
	})
	return begun
}

func turnView(id, status string, reason object) object {
	view := object{"id": id, "items": []any{}, "itemsView": "notLoaded", "status": status}
	if reason != nil {
		view["error"] = reason
	}
	return view
}

// review starts a review of changes. The TUI ends on an error, so a review that cannot start is a turn that says why.
func review(ctx context.Context, c *call) (any, error) {
	var in struct {
		Delivery string
		Target   struct {
			Type                             string
			Branch, SHA, Title, Instructions *string
		}
	}
	if err := c.read(&in); err != nil {
		return nil, err
	}
	id, err := c.threadID()
	if err != nil {
		return nil, err
	}
	started, err := c.ops().Review(ctx, id, operations.ReviewRequest{Delivery: in.Delivery, Target: in.Target.Type, Branch: in.Target.Branch,
		SHA: in.Target.SHA, Title: in.Target.Title, Instructions: in.Target.Instructions})
	if err != nil {
		return object{"turn": c.failTurn(c.failed(ctx, err).Message), "reviewThreadId": id}, nil
	}
	return started, nil
}
