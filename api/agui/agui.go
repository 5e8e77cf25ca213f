// Package agui serves sessions to clients of AG-UI: one run of an agent, or all that follow, as server-sent events.
//
// It owns the names of that protocol, and how the records of a session become its events. It must never know another
// protocol of this server.
package agui

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"harness/api/calls"
	"harness/api/rest"
	"harness/api/schema"
	"harness/api/sse"
	"harness/internal/operations"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
)

// Journal reads the records of a session.
type Journal interface {
	// ReadSession returns a session's records after a number, in order.
	ReadSession(ctx context.Context, sessionID string, after int64, limit int) ([]journal.Record, error)
	// Newest returns the number of a session's newest record, 0 for none.
	Newest(ctx context.Context, sessionID string) (int64, error)
}

// Options are the dependencies of the routes. Without Journal they return 404.
type Options struct {
	Operations *operations.Service
	Journal    Journal
	// News returns a signal that is set when a session has more records, until the caller calls cancel.
	News func(sessionID string) (news <-chan struct{}, cancel func())
	// Closing ends all streams.
	Closing <-chan struct{}
	// Streams limits the open streams.
	Streams *sse.Limit
	// Heartbeat is the time between signs of life (15 s), WriteTimeout how long a client may read nothing (30 s).
	Heartbeat, WriteTimeout time.Duration
}

// maxInput is the length of a run's input. Clients send the whole conversation with it, and images in it.
const maxInput = 16 << 20

// newSession is the session in the path of a run that makes one.
const newSession = "new"

var (
	rawField    = rest.Optional("raw", schema.Enum("1"))
	followQuery = schema.Struct(rest.Optional("after", schema.Integer().Coerce().Min(0)), rawField)
)

// Routes returns the routes.
func Routes(o Options) []rest.Route {
	if o.Heartbeat <= 0 {
		o.Heartbeat = 15 * time.Second
	}
	if o.WriteTimeout <= 0 {
		o.WriteTimeout = 30 * time.Second
	}
	const path = "/agui/:sessionId"
	return []rest.Route{
		// The session in the path may be none, so the handler checks it.
		{Method: http.MethodPost, Path: path, OwnReach: true, Upload: maxInput, Query: schema.Struct(rawField), Handle: o.run},
		{Method: http.MethodGet, Path: path, Operation: operations.Read, Query: followQuery, Handle: o.follow},
	}
}

var notServed = rest.Reply{Serve: func(w http.ResponseWriter, r *http.Request) error {
	rest.NotFound(w, r)
	return nil
}}

// run starts a turn with the last message of its input, and serves that turn. A repeated run serves the turn that it
// started before.
func (o Options) run(ctx context.Context, in *rest.Input) (rest.Reply, error) {
	if o.Journal == nil {
		return notServed, nil
	}
	input, err := parse(in.Sent)
	if err != nil {
		return rest.Reply{}, err
	}
	id := in.SessionID()
	if id == newSession {
		created, err := o.Operations.Create(ctx, input.create())
		var without *runtime.UnsupportedError
		if errors.As(err, &without) && without.Operation == runtime.OpTools {
			err = invalid("tools", err.Error())
		}
		if err != nil {
			return rest.Reply{}, err
		}
		id = created.ID
		calls.About(ctx, id, "")
	} else if err := o.Operations.CheckSession(ctx, id); err != nil {
		return rest.Reply{}, err
	}
	f := &follower{Options: o, session: id, runs: translator{session: id}, raw: in.Query.Get("raw").Text() != "", own: true}
	if input.RunID != "" {
		input.message.Key = fmt.Sprintf("agui/%s/%x", id, sha256.Sum256([]byte(input.RunID)))
		if f.until, err = o.Operations.TurnForKey(ctx, id, input.message.Key); err != nil {
			return rest.Reply{}, err
		}
	}
	if f.until != "" {
		found, err := f.seek(ctx, func(record *journal.Record) bool { return record.TurnID == f.until })
		if err == nil && !found {
			err = invalid("runId", "That run was before, and its events are not stored")
		}
		return rest.Reply{Serve: f.serve}, err
	}
	if f.seq, err = o.Journal.Newest(ctx, id); err != nil {
		return rest.Reply{}, err
	}
	f.until, err = o.send(ctx, id, input)
	return rest.Reply{Serve: f.serve}, err
}

// send starts a turn with a message and returns it. A run is no message for the running turn, nor one behind it.
func (o Options) send(ctx context.Context, id string, input input) (turnID string, err error) {
	read, _, err := o.Operations.Read(ctx, id, operations.Reading{Limit: 1})
	if err != nil {
		return "", err
	}
	if read.Session.Activity.ActiveTurnID != "" {
		return "", runtime.ErrTurnActive
	}
	sent, err := o.Operations.Send(ctx, id, input.message)
	if err == nil && sent.QueuedID != "" { // a turn began meanwhile
		_, err = o.Operations.DropQueued(ctx, id, sent.QueuedID)
		err = errors.Join(runtime.ErrTurnActive, err)
	}
	return sent.TurnID, err
}

// follow serves the last run of a session and all that follow; after a position, what follows it.
func (o Options) follow(ctx context.Context, in *rest.Input) (rest.Reply, error) {
	if o.Journal == nil {
		return notServed, nil
	}
	id := in.SessionID()
	if err := o.Operations.Check(ctx, operations.Read, id); err != nil {
		return rest.Reply{}, err
	}
	f := &follower{Options: o, session: id, runs: translator{session: id}, raw: in.Query.Get("raw").Text() != "",
		after: in.Query.Get("after").Int()}
	if given := in.Request.Header.Get("Last-Event-ID"); given != "" {
		after, err := strconv.ParseInt(given, 10, 64)
		if err != nil || after < 0 {
			return rest.Reply{}, invalid("Last-Event-ID", "It is the id of an event of this session")
		}
		f.after = max(f.after, after)
	}
	f.history = f.after == 0
	_, err := f.seek(ctx, func(record *journal.Record) bool { return f.history || positionOf(record, 0) <= f.after })
	return rest.Reply{Serve: f.serve}, err
}

func invalid(field, message string) error {
	return &operations.InvalidError{Problems: []operations.Problem{{Field: field, Index: -1, Message: message}}}
}
