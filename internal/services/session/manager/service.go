// Package manager runs sessions: it turns runtime signals into stored state and journal events, and client requests
// into runtime calls.
//
// It owns the order in which changes to sessions are queued and commit. It must never know HTTP, a websocket, or a
// provider's JSON shapes.
package manager

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"harness/internal/lib/keylock"
	"harness/internal/lib/lifecycle"
	"harness/internal/lib/wake"
	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/internal/services/session/autodecide"
	"harness/internal/services/session/background"
	"harness/internal/services/session/controledit"
	"harness/internal/services/session/items"
	"harness/internal/services/session/lineage"
	"harness/internal/services/session/live"
	"harness/internal/services/session/nativelog"
	"harness/internal/services/session/outbox"
	"harness/internal/services/session/pending"
	"harness/internal/services/session/projects"
	"harness/internal/services/session/reading"
	"harness/internal/services/session/registry"
	"harness/internal/services/session/rewind"
	"harness/internal/services/session/rollback"
	"harness/internal/services/session/takeover"
	"harness/internal/services/session/workspace"
	"harness/transcript"
)

// Options configure a Service. Journal, DB and NodeID are required.
type Options struct {
	NodeOptions
	NativeOptions
	ContentOptions
	Journal *journal.Journal
	DB      *database.DB
	// Runtimes are the adapters and the settings of their sessions.
	Runtimes registry.Options
	// Defaults are the controls of sessions without any, unless the store has defaults.
	Defaults session.Controls
	// RuntimeLimits returns the load limits of a runtime; nil means no limits for any runtime.
	RuntimeLimits func(runtime string) session.RuntimeLimits
	// DefaultsLocked makes Defaults the only defaults; clients cannot edit them (SESSION_DEFAULTS_LOCKED).
	DefaultsLocked bool
	// WorkspaceRoot is the folder of sessions that name none, and the base of relative paths.
	WorkspaceRoot string
	// EnterFolder, when set, returns why the agents' user may not enter a folder, nil if it may. If unset, agents run
	// as the server's user.
	EnterFolder func(folder string) error
	// HistoryBytes limits the replay of a conversation to a runtime that has lost it (default 200,000).
	HistoryBytes int
	Logger       zerolog.Logger
	TreeOptions
	// Clock defaults to time.Now.
	Clock func() time.Time
}

// TreeOptions has the states of sessions' folders.
type TreeOptions struct {
	// Trees, when set, stores the states before and after turns.
	Trees Trees
	// RewindTrees, when set, restores states. Tests set RewindStep.
	RewindTrees rewind.Trees
	RewindStep  func(name string)
}

// NodeOptions identify this server among those that share the store. NodeID is required.
type NodeOptions struct {
	// NodeID is this server's name among those that share the store; it must be the same after a restart.
	NodeID string
	// AdoptNodes lists permanently lost nodes, whose sessions Start adopts. OnlyNode adopts the sessions of all other
	// nodes, for the only server of a store.
	AdoptNodes []string
	OnlyNode   bool
	// Sure, when set, returns why this node may not use its runtimes now: other nodes may consider this node dead.
	Sure func() error
	// NoRuntimes is set on a node without agents; other nodes run them.
	NoRuntimes bool
	// Draining, when set, reports whether this node must not start new work for users.
	Draining func() bool
	// Movable lets sessions move to other nodes, because the runtimes' state is stored. Lapsed reports whether another
	// node's sessions may be taken over. It works inside or outside a transaction.
	Movable bool
	Lapsed  func(ctx context.Context, q database.Querier, node string) (bool, error)
	// Folders, when set, stores the folders of sessions for Movable; if unset, all nodes share the folders.
	Folders Folders
	// Surviving lists the runtime processes of an earlier server whose output is still readable; Start does not settle
	// their open state. An adapter must report each of them as started or exited.
	Surviving []string
}

// NativeOptions configure the storage of agents' native lines.
type NativeOptions struct {
	// KeepNative selects the stored lines of agents with translated output: NativeRing (in NativeLines), NativeAll or
	// NativeOff.
	KeepNative  string
	NativeLines *nativelog.Ring
}

// ContentOptions store content that is too large for a transcript.
type ContentOptions struct {
	// Images, when set, stores the images of items.
	Images items.Images
	// Pictures, when set, converts the images of a queued message for a runtime.
	Pictures func(ctx context.Context, sessionID string, images []string) ([]string, error)
	// Keep, when set, stores a runtime's input and returns a reference to it in JSON.
	Keep func(ctx context.Context, sessionID, name, contentType string, content []byte) (ref json.RawMessage, err error)
}

// Service turns runtime signals and client requests into stored state and events.
type Service struct {
	opts       Options
	journal    *journal.Journal
	db         *database.DB
	entries    transcript.Store
	index      *live.Index
	locks      keylock.Locks
	adoption   *adoption
	delivery   *delivery
	snapshots  *takeover.Snapshots
	workspaces *takeover.EndedTurns // of sessions with a possibly changed folder
	questions  *questions
	// background records which sessions have background work.
	background *background.Watch
	// deletions makes runtimes delete conversations whose deletion they missed.
	deletions *deletionSender
	// restartPatience is how long a message waits for the process that replaces a dead one.
	restartPatience time.Duration

	Registry      *registry.Registry
	Reader        *reading.Reader
	Lineage       *lineage.Reader
	Outbox        *outbox.Outbox
	Ownership     *takeover.Ownership
	Mover         *takeover.Mover
	Catalog       *projects.Catalog
	Agents        *projects.Agents
	Opener        *pending.Opener
	Editor        *controledit.Editor
	Rollbacks     *rollback.Rollbacks
	Rewinds       *rewind.Rewinds
	Monitor       *background.Monitor
	Checker       *workspace.Checker
	Upserter      *Upserter
	Deleter       *Deleter
	Conversations *Conversations
	Organizer     *Organizer
	Slots         *Slots
	FolderKeeper  *FolderKeeper
	Stopper       *Stopper
	TurnFinder    *TurnFinder
	Tracer        *Tracer
	Spools        *Spools
	workerOpener  *workerOpener
	importer      *importer
	resolver      *resolver
	decider       *autodecide.Decider
	items         *items.Items

	// order makes a read of the view, its change and the queueing of the unit one atomic step: the view then follows
	// the commit order. It is held while the journal's queue is full, which creates the back-pressure of a slow store.
	order   orderLock
	texts   texts               // order guards it
	natives *nativelog.Recorder // order guards it

	// Moved counts the sessions that moved to another node since this server started, here or elsewhere.
	Moved atomic.Int64

	loops lifecycle.Loops
	begun int64 // ms
}

// New builds a Service. Until Start, it only accepts signals.
func New(opts Options) *Service {
	if opts.Clock == nil {
		opts.Clock = time.Now
	}
	if opts.HistoryBytes <= 0 {
		opts.HistoryBytes = historyBytes
	}
	s := &Service{
		opts: opts, journal: opts.Journal, db: opts.DB,
		adoption: newAdoption(), delivery: newDelivery(), questions: newQuestions(),
		workspaces: takeover.NewEndedTurns(), background: background.NewWatch(),
		restartPatience: restartPatience,
		order:           newOrderLock(),
		Registry:        registry.New(opts.DB, opts.Runtimes), texts: newTexts(opts.Clock()),
		// Others need these before compose fills them.
		Conversations: &Conversations{}, Organizer: &Organizer{}, Deleter: &Deleter{}, FolderKeeper: &FolderKeeper{},
		Stopper: &Stopper{}, TurnFinder: &TurnFinder{}, importer: &importer{},
	}
	s.index = live.New(s.now, live.NewLimits(opts.RuntimeLimits))
	s.Lineage = lineage.New(opts.DB, s.now)
	s.Ownership = takeover.NewOwnership(takeover.OwnershipOptions{Journal: opts.Journal, DB: opts.DB, Logger: opts.Logger,
		Clock: opts.Clock, Node: takeover.Node{NodeID: opts.NodeID, NoRuntimes: opts.NoRuntimes, Draining: opts.Draining,
			Lease: opts.Sure, AdoptNodes: opts.AdoptNodes, OnlyNode: opts.OnlyNode, Movable: opts.Movable, Lapsed: opts.Lapsed}})
	s.natives = nativelog.NewRecorder(nativelog.Options{DB: opts.DB, Index: s.index, Keep: opts.KeepNative, Ring: opts.NativeLines,
		Logger: opts.Logger, Now: s.now})
	s.Reader = reading.New(reading.Options{Journal: opts.Journal, DB: opts.DB, Index: s.index, Runtimes: s.Registry,
		Sessions: readerSessions{s, s.Conversations, s.importer}, NodeID: opts.NodeID, Defaults: opts.Defaults,
		Locked: opts.DefaultsLocked, Now: s.now})
	s.Opener = pending.New(pending.Options{Journal: opts.Journal, DB: opts.DB, NodeID: opts.NodeID,
		Sessions: openerSessions{s, s.Organizer, s.Reader}, Now: s.now})
	part := projects.Options{Journal: opts.Journal, DB: opts.DB, NodeID: opts.NodeID, Index: s.index, Runtimes: s.Registry,
		Sessions: projectSessions{s, s.Ownership, s.Organizer, s.Deleter}, Refetch: s.adoption.wantAgain,
		Logger: opts.Logger, Now: s.now}
	s.Agents = projects.NewAgents(part)
	part.Agents = s.Agents
	s.Catalog = projects.New(part)
	s.items = items.New(items.Options{Images: opts.Images, Reader: s.Reader})
	s.compose()
	s.composeTakeover()
	s.journal.BeforePrune(s.entries.KeepPruned)
	return s
}

// compose builds the parts of the service.
func (s *Service) compose() {
	s.deletions = &deletionSender{journal: s.opts.Journal, db: s.opts.DB, nodeID: s.opts.NodeID, runtimes: s.Registry,
		wake: wake.New(), log: s.opts.Logger}
	s.Tracer = &Tracer{index: s.index, journal: s.opts.Journal}
	s.Outbox = outbox.New(outbox.Options{Journal: s.opts.Journal, DB: s.opts.DB, Index: s.index, Locks: &s.locks,
		Sessions: outboxSessions{s, s.Reader, s.FolderKeeper, s.Ownership}, Turns: outboxTurns{s, s.Stopper, s.TurnFinder},
		NodeID: s.opts.NodeID, Pictures: s.opts.Pictures, Trace: s.Tracer.traceOfRequest, Logger: s.opts.Logger, Now: s.now})
	s.resolver = &resolver{db: s.opts.DB, journal: s.opts.Journal, index: s.index, storedThread: s.storedThread,
		wantRoom: s.adoption.wantRoom, log: s.opts.Logger, now: s.now}
	s.decider = &autodecide.Decider{Reader: s.Reader, Runtimes: s.Registry}
	s.Upserter = newUpserter(s.opts, s.now)
	*s.importer = importer{imports: newImports(), options: importerOptions{Journal: s.opts.Journal, DB: s.opts.DB, NodeID: s.opts.NodeID,
		Reader: s.Reader, Runtimes: s.Registry, Items: s.items, Owns: s.Ownership.Owns, AdoptOne: s.adoptOne, Logger: s.opts.Logger, Now: s.now}}
	s.Rollbacks = rollback.New(rollback.Options{Journal: s.opts.Journal, DB: s.opts.DB, NodeID: s.opts.NodeID, Locks: &s.locks,
		Reader: s.Reader, Runtimes: s.Registry, Owned: s.owned, Refetch: s.adoption.wantAll, Now: s.now})
	s.Rewinds = rewind.New(rewind.Options{Journal: s.opts.Journal, DB: s.opts.DB, NodeID: s.opts.NodeID, Locks: &s.locks, Owned: s.owned,
		ActiveTurn: func(sess session.Session) string {
			s.LoadView(sess.Runtime, sess.ID)
			return s.index.ActiveTurn(sess.ID)
		}, Background: func(ctx context.Context, id string) ([]session.BackgroundTask, error) {
			return s.Monitor.Background(ctx, id)
		}, RollBack: s.Rollbacks.RollBackLocked, SettleRollback: s.Rollbacks.SettleRollback, Trees: s.opts.RewindTrees,
		Logger: s.opts.Logger, Now: s.now, Step: s.opts.RewindStep})
	s.Monitor = background.New(background.Options{DB: s.opts.DB, NodeID: s.opts.NodeID, Locks: &s.locks, Index: s.index,
		Watch: s.background, Sessions: s, Owned: s.owned, Mine: s.Ownership.Mine, Logger: s.opts.Logger, Now: s.now})
	s.Checker = &workspace.Checker{Root: s.opts.WorkspaceRoot,
		Unusable: func(folder string) string { return workspace.Unusable(folder, s.opts.EnterFolder) }}
	*s.Conversations = Conversations{db: s.db, journal: s.journal, reader: s.Reader, runtimes: s.Registry, folders: s.Checker,
		monitor: s.Monitor, watch: s.background, imports: s.importer.imports, root: s.opts.WorkspaceRoot, owns: s.Ownership.Owns,
		owned: s.owned, adoptOne: s.adoptOne, storeThreads: s.storeThreads, now: s.now}
	*s.Stopper = Stopper{stopPatience: stopPatience, options: stopperOptions{Journal: s.opts.Journal, DB: s.opts.DB, Index: s.index,
		Locks: &s.locks, Loops: &s.loops, Reader: s.Reader, Runtimes: s.Registry, Monitor: s.Monitor, CheckOwner: s.Ownership.CheckOwner,
		LoadView: s.LoadView, Record: s.record, Enqueue: s.Outbox.Enqueue, UpsertIn: s.Upserter.UpsertTranscriptIn,
		Logger: s.opts.Logger, Now: s.now}}
	*s.Organizer = Organizer{db: s.db, journal: s.journal, index: s.index, locks: &s.locks, reader: s.Reader, runtimes: s.Registry,
		folders: s.Checker, stopper: s.Stopper, importer: s.importer, inOrder: s.InOrder, loadView: s.LoadView, lookup: s.Conversations.Lookup,
		owned: s.owned, refetch: s.adoption.wantAgain, now: s.now}
	*s.Deleter = Deleter{journal: s.journal, engine: s.db.Engine(), locks: &s.locks, index: s.index, reader: s.Reader, runtimes: s.Registry,
		agents: s.Agents, stopper: s.Stopper, archive: s.Organizer.Archive, lineage: s.Lineage, deletions: s.deletions,
		ended: s.workspaces, trees: s.opts.Trees, lookup: s.Conversations.Lookup,
		checkOwner: s.Ownership.CheckOwner, loadView: s.LoadView, inOrder: s.InOrder, log: s.opts.Logger, now: s.now}
	s.workerOpener = &workerOpener{journal: s.journal, index: s.index, nodeID: s.opts.NodeID, inOrder: s.InOrder,
		wantRoom: s.adoption.wantRoom, now: s.now}
	s.Slots = &Slots{db: s.db, journal: s.journal, index: s.index, reader: s.Reader, nodeID: s.opts.NodeID, load: s.tryLoad,
		log: s.opts.Logger}
	*s.FolderKeeper = FolderKeeper{db: s.db, journal: s.journal, options: s.opts.NodeOptions, root: s.opts.WorkspaceRoot,
		reader: s.Reader, checker: s.Checker, ended: s.workspaces, lookup: s.Conversations.Lookup, owns: s.Ownership.Owns,
		checkLease: s.Ownership.CheckLease, commitOwned: s.Ownership.CommitOwned, upsertIn: s.Upserter.UpsertTranscriptIn,
		log: s.opts.Logger, now: s.now}
	*s.TurnFinder = TurnFinder{db: s.opts.DB, index: s.index, locks: &s.locks, inOrder: s.InOrder, owned: s.owned}
	s.Spools = &Spools{db: s.db, nodeID: s.opts.NodeID, inOrder: s.InOrder, resumeTexts: s.resumeTexts, now: s.now}
	s.Editor = controledit.New(controledit.Options{Journal: s.opts.Journal, Reader: s.Reader, Runtimes: s.Registry,
		Locked: s.opts.DefaultsLocked, Now: s.now})
}

// composeTakeover builds the takeover of sessions between nodes.
func (s *Service) composeTakeover() {
	stored := storedSessions{s.Reader, s.Registry}
	s.snapshots = takeover.NewSnapshots(takeover.SnapshotOptions{DB: s.opts.DB, Sessions: stored, Owner: s.Ownership,
		WorkspaceRoot: s.opts.WorkspaceRoot, Logger: s.opts.Logger, Now: s.now})
	s.Mover = takeover.NewMover(takeover.MoverOptions{DB: s.opts.DB, Locks: &s.locks, Index: s.index, Owner: s.Ownership,
		Snapshots: s.snapshots, Sessions: stored, Workspaces: movedWorkspaces{s}, Taken: s.Outbox.WakeQueue, Logger: s.opts.Logger,
		Now: s.now})
}

// Sink returns the sink for the named runtime's signals, which its adapter needs.
func (s *Service) Sink(runtimeName string) runtime.Sink {
	return func(batch runtime.Batch) {
		long := batch.Size() > longBatch
		s.natives.Record(s.ingest(runtimeName, batch), batch.Native)
		if long {
			// Only the end of the journal is an error here; submit reports the batch's own result.
			_, _ = s.journal.Commit(context.Background(), nothing)
		}
	}
}

// longBatch is the size in bytes from which a batch must be stored before the runtime's next one is read: the
// journal's queue holds a thousand units.
const longBatch = 1 << 20

// Start settles the work that an earlier process of this node left open: requests expire, turns are interrupted, and
// clients are notified. It then starts to adopt the runtimes' stored conversations. Call it after the journal's start,
// and before clients and adapters start. Calling it twice is allowed.
func (s *Service) Start(ctx context.Context) error {
	return s.loops.Start(ctx, func(context.Context) error { return s.begin(ctx) })
}

func (s *Service) begin(ctx context.Context) error {
	_, unsubscribe := s.journal.Subscribe(s.onRecords)
	if err := s.recover(ctx); err != nil {
		unsubscribe()
		return fmt.Errorf("settle what the last run left open: %w", err)
	}
	if err := s.Slots.countTurns(ctx); err != nil {
		unsubscribe()
		return err
	}
	if err := s.Upserter.completeBulks(ctx); err != nil {
		return err
	}
	if err := s.Opener.SettlePending(ctx); err != nil {
		return err
	}
	s.begun = s.now()
	s.loops.Go(func(running context.Context) {
		defer unsubscribe()
		var loops sync.WaitGroup
		for _, loop := range []func(context.Context){
			s.textLoop, s.deliverLoop, s.deletions.deletionLoop, s.natives.Sweep, s.Upserter.bulkLoop, s.importer.importLoop,
			func(ctx context.Context) { s.adoption.wake.Loop(ctx, s.adoptNoted) }, s.snapshots.Run,
			s.Outbox.SendQueued, s.FolderKeeper.workspaceLoop, s.Monitor.BackgroundLoop,
		} {
			loops.Go(func() { loop(running) })
		}
		loops.Wait()
		s.order.Lock()
		defer s.order.Unlock()
		s.flushAllTexts()
	})
	return nil
}

// Stop ends the background loops, stores the texts received so far, and waits for both. Stop the adapters before it
// and the journal after it. Calling it twice is allowed.
func (s *Service) Stop(ctx context.Context) error {
	_, err := s.loops.Stop(ctx, "the session service")
	return err
}

// now returns the time in ms.
func (s *Service) now() int64 { return s.opts.Clock().UnixMilli() }

// InOrder changes the view and queues a unit as one step of the commit order, then waits for its commit. With
// *journal.OutageError, the unit may run later, after its caller has returned.
func (s *Service) InOrder(ctx context.Context, prepare func() journal.Unit) error {
	outcome := make(chan error, 1)
	if _, err := journal.Await(ctx, s.journal, s.order); err != nil {
		return err
	}
	s.flushAllTexts() // the view changes of prepare come after them
	err := s.journal.Submit(ctx, prepare(), func(_ []journal.Record, err error) { outcome <- err })
	s.order.Unlock()
	if err != nil {
		return err
	}
	stored, err := journal.Await(ctx, s.journal, outcome)
	if err != nil {
		return err
	}
	return stored
}

// orderLock is a mutex that works in a select: it holds one token while it is unlocked.
type orderLock chan struct{}

func newOrderLock() orderLock {
	l := make(orderLock, 1)
	l.Unlock()
	return l
}

// Lock takes the token.
func (l orderLock) Lock() { <-l }

// Unlock returns the token.
func (l orderLock) Unlock() { l <- struct{}{} }

// errStoredLater describes a failure to store a completed runtime call: the journal holds the unit and stores it after
// the outage. A repeated request would repeat the call.
func errStoredLater(err error) error {
	var outage *journal.OutageError
	if errors.As(err, &outage) {
		return fmt.Errorf("%w: the runtime took it, and it is stored as soon as the store takes writes again: %w",
			runtime.ErrTimeout, err)
	}
	return err
}

// record stores the result of a runtime call without waiting for it.
func (s *Service) record(ctx context.Context, done journal.Unit) error {
	err := s.journal.Submit(context.WithoutCancel(ctx), done, nil)
	if errors.Is(err, journal.ErrStopped) {
		return nil // the journal ends: the runtime's output shows the result
	}
	return err
}

// expected separates refusals that clients cause from faults of this server.
func expected(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, journal.ErrStopped)
}
