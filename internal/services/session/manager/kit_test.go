package manager

import (
	"bytes"
	"context"
	"encoding/json"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"harness/internal/lib/ids"
	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/platform/telemetry"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/internal/services/session/background"
	"harness/internal/services/session/controledit"
	"harness/internal/services/session/outbox"
	"harness/internal/services/session/pending"
	"harness/internal/services/session/projects"
	"harness/internal/services/session/reading"
	"harness/internal/services/session/registry"
	"harness/internal/services/session/rollback"
	"harness/internal/services/session/store"
	"harness/internal/services/session/takeover"
	"harness/internal/services/session/workspace"
	"harness/stream"
	"harness/tests/dbtest"
	"harness/tests/polling"
	"harness/transcript"
)

// patience limits every wait; only a bug exhausts it.
const patience = time.Minute

// flat has the methods of all parts of a Service.
type flat struct {
	*registry.Registry
	*reading.Reader
	*outbox.Outbox
	*takeover.Ownership
	*takeover.Mover
	*projects.Catalog
	*projects.Agents
	*pending.Opener
	*controledit.Editor
	*rollback.Rollbacks
	*background.Monitor
	*workspace.Checker
	*Upserter
	*Deleter
	*Conversations
	*Organizer
	*Slots
	*FolderKeeper
	*Stopper
	*TurnFinder
	*Tracer
	*Spools
	*workerOpener
	*importer
}

// kit is a Service with real parts around it and a scripted runtime.
type kit struct {
	*Service
	flat
	t    *testing.T
	fake *fake
	log  *journal.Journal
	// ahead is how far (ns) the Service's clock is ahead of the real one.
	ahead atomic.Int64
}

var testControls = session.Controls{ApprovalPolicy: "untrusted", NetworkAccess: "restricted", FilesystemSandbox: "read-only"}

// each runs a test on both engines, with a started Service whose runtime is up.
func each(t *testing.T, test func(t *testing.T, k *kit)) {
	t.Helper()
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) { test(t, open(t, db, "node")) })
}

// actorKey is the context key of a test's actor.
type actorKey struct{}

// open builds a Service on a store that may have been used before: a restarted server, whose runtime process may have
// survived.
func open(t *testing.T, db *database.DB, node string, surviving ...string) *kit {
	t.Helper()
	return openWith(t, db, node, func(o *Options) { o.Surviving = surviving })
}

func openWith(t *testing.T, db *database.DB, node string, edit func(*Options)) *kit {
	t.Helper()
	k := &kit{t: t}
	log := journal.New(db, journal.Options{Logger: zerolog.Nop(), Origin: func(ctx context.Context) journal.Origin {
		of := telemetry.IDsFrom(ctx).Trace
		actor, _ := ctx.Value(actorKey{}).(string)
		return journal.Origin{Actor: actor, TraceID: of.TraceID, SpanID: of.SpanID}
	}, TraceOf: func(sessionID, turnID string) (traceID, spanID string) { return k.TraceOf(sessionID, turnID) }})
	if err := log.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	f := &fake{generation: ids.New()}
	k.fake, k.log = f, log
	opts := Options{Journal: log, DB: db, Runtimes: registry.Options{Adapters: []runtime.Adapter{f}},
		NodeOptions: NodeOptions{NodeID: node}, Defaults: testControls,
		WorkspaceRoot: "/repo", Logger: zerolog.Nop(), Clock: func() time.Time {
			return time.Now().Add(time.Duration(k.ahead.Load()))
		}}
	edit(&opts)
	if len(opts.Surviving) > 0 {
		f.generation = opts.Surviving[0]
	}
	k.Service = New(opts)
	k.flat = flatOf(k.Service)
	k.Unusable = func(string) string { return "" } // the folders of these tests do not exist
	f.sink = k.Sink("codex")
	if err := k.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(k.close)
	if !f.late {
		f.started(f.generation)
	}
	return k
}

func flatOf(s *Service) flat {
	return flat{s.Registry, s.Reader, s.Outbox, s.Ownership, s.Mover, s.Catalog, s.Agents, s.Opener, s.Editor, s.Rollbacks,
		s.Monitor, s.Checker, s.Upserter, s.Deleter, s.Conversations, s.Organizer, s.Slots, s.FolderKeeper, s.Stopper,
		s.TurnFinder, s.Tracer, s.Spools, s.workerOpener, s.importer}
}

// close ends the Service like a killed process: it settles nothing.
func (k *kit) close() {
	k.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := k.Stop(ctx); err != nil {
		k.t.Error(err)
	}
	if err := k.log.Stop(ctx); err != nil {
		k.t.Error(err)
	}
	if held := k.locks.Users(); len(held) != 0 {
		k.t.Errorf("session locks are still held: %v", held)
	}
}

// reopen is kill -9 followed by a new start.
func (k *kit) reopen() *kit {
	k.t.Helper()
	k.close()
	return open(k.t, k.db, k.opts.NodeID)
}

// reopenKnown is reopen with a runtime that still has its conversations.
func (k *kit) reopenKnown() *kit {
	k.t.Helper()
	k.close()
	before := k.fake
	return openWith(k.t, k.db, k.opts.NodeID, func(o *Options) {
		now := o.Runtimes.Adapters[0].(*fake)
		now.threads, now.nextTurn = before.threads, before.nextTurn
	})
}

// flush waits until all signals so far are committed.
func (k *kit) flush() {
	k.t.Helper()
	k.order.Lock()
	k.flushAllTexts()
	k.order.Unlock()
	k.do(k.journal.Do(k.t.Context(), func(context.Context, database.Tx) ([]journal.Event, error) { return nil, nil }))
}

func (k *kit) do(err error) {
	k.t.Helper()
	if err != nil {
		k.t.Fatal(err)
	}
}

func (k *kit) create() session.Session {
	k.t.Helper()
	session, err := k.Create(k.t.Context(), session.Create{})
	k.do(err)
	return session
}

// turnOf returns the turn of a message that was sent.
func turnOf(sent session.Sent, err error) (string, error) { return sent.TurnID, err }

func (k *kit) send(sessionID string) string {
	k.t.Helper()
	turnID, err := turnOf(k.Send(k.t.Context(), sessionID, session.Message{Text: "hi"}))
	k.do(err)
	return turnID
}

// records reads the whole journal, after a flush.
func (k *kit) records() []journal.Record {
	k.t.Helper()
	k.flush()
	var all []journal.Record
	for {
		after := int64(0)
		if len(all) > 0 {
			after = all[len(all)-1].Pos
		}
		page, err := k.log.Read(k.t.Context(), journal.Query{After: after})
		k.do(err)
		if len(page) == 0 {
			return all
		}
		for i := range page {
			laidOut(k.t, &page[i])
		}
		all = append(all, page...)
	}
}

// laidOut checks that the meta of a stored line records the positions of its parts.
func laidOut(t *testing.T, record *journal.Record) {
	t.Helper()
	if record.Type != stream.EventNotification && record.Type != stream.EventRequest {
		return
	}
	var decoded struct{ Method, Params, ID json.RawMessage }
	err := json.Unmarshal(record.Payload, &decoded)
	if err != nil || decoded.Method == nil {
		return // a line that clients cannot show
	}
	meta := metaOf(t, *record)
	parts, ok := stream.LineOf(&record.Event, &meta)
	if !ok || !bytes.Equal(parts.Method, decoded.Method) || !bytes.Equal(parts.Params, decoded.Params) ||
		!bytes.Equal(parts.ID, decoded.ID) {
		t.Errorf("%s is cut into %s, %s and %s by %s", record.Payload, parts.Method, parts.Params, parts.ID, record.Meta)
	}
}

// events returns the records of one type.
func (k *kit) events(kind string) []journal.Record {
	k.t.Helper()
	var out []journal.Record
	for _, record := range k.records() {
		if record.Type == kind {
			out = append(out, record)
		}
	}
	return out
}

// one returns the payload of the only event of a type.
func (k *kit) one(kind string) string {
	k.t.Helper()
	events := k.events(kind)
	if len(events) != 1 {
		k.t.Fatalf("%d events %s, want 1", len(events), kind)
	}
	return string(events[0].Payload)
}

func (k *kit) stored(sessionID string) []transcript.Entry {
	k.t.Helper()
	k.flush()
	entries, err := k.entries.List(k.t.Context(), k.db.Read(), sessionID)
	k.do(err)
	return entries
}

func (k *kit) turn(sessionID, turnID string) store.Turn {
	k.t.Helper()
	k.flush()
	turns, err := store.ReadTurns(k.t.Context(), k.db.Read(), sessionID)
	k.do(err)
	for _, turn := range turns {
		if turn.TurnID == turnID {
			return turn
		}
	}
	k.t.Fatalf("no turn %s", turnID)
	return store.Turn{}
}

func (k *kit) pending(sessionID string, kind runtime.RequestKind) []session.Request {
	k.t.Helper()
	k.flush()
	requests, err := k.Requests(k.t.Context(), sessionID, kind)
	k.do(err)
	return requests
}

// eventually waits for the result of a background worker.
func (k *kit) eventually(what string, ok func() bool) {
	k.t.Helper()
	if !polling.Until(patience, ok) {
		k.t.Fatalf("%s did not happen", what)
	}
}

func metaOf(t *testing.T, record journal.Record) stream.Meta {
	t.Helper()
	var meta stream.Meta
	if err := json.Unmarshal(record.Meta, &meta); err != nil {
		t.Fatal(err)
	}
	return meta
}

// end ends a turn like its runtime.
func (k *kit) end(sessionID, turnID string) {
	k.t.Helper()
	k.fake.end(sessionID, turnID, runtime.TurnDone)
	k.flush()
}
