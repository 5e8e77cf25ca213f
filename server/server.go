// Package server is the whole program as one value: it makes every part, starts them in order, and stops them in the
// reverse order. Programs that embed Harness call Run.
//
// It is the only package that wires packages together. It must never hold rules of its own, nor know a command line.
package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/rs/zerolog"

	"harness/api/acp"
	"harness/api/appserver"
	"harness/api/conns"
	"harness/api/door"
	"harness/api/idempotency"
	"harness/api/mcp"
	"harness/api/rpc"
	v1 "harness/api/v1"
	"harness/internal/content/artifact"
	"harness/internal/content/search"
	"harness/internal/lib/lifecycle"
	"harness/internal/operations"
	"harness/internal/platform/auth"
	"harness/internal/platform/auth/tokens"
	"harness/internal/platform/cluster"
	"harness/internal/platform/cluster/gitworkspace"
	"harness/internal/platform/config"
	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/platform/telemetry/otlp"
	"harness/internal/runtime/environment"
	"harness/internal/runtime/process/shim"
	"harness/internal/services/audit"
	"harness/internal/services/session"
	"harness/internal/services/session/manager"
	"harness/internal/services/session/nativelog"
	"harness/internal/services/session/registry"
	"harness/internal/services/session/usage"
	"harness/internal/services/tasks"
	"harness/internal/services/tracing"
	"harness/server/datadir"
	"harness/server/metrics"
	"harness/server/resources"
	"harness/stream"
)

// streamCloseWait is the time that clients have to answer 1012. The stream cuts off other clients within its time
// limit, which is no failure.
const streamCloseWait = 2 * time.Second

// core holds the fields that the parts of a server share. A field is set once the part that makes it has started.
type core struct {
	cfg       *config.Config
	embedded  bool // belongs to the program that started it, and stores nothing outside the data directory
	workspace string
	log       zerolog.Logger
	metrics   *metrics.Metrics
	consents  *datadir.Consents
	failed    chan error

	dir       *datadir.Dir
	people    httpPort
	db        *database.DB
	node      *cluster.Lease // nil on SQLite, where only one server uses the data directory
	nodePort  *nodePort      // nil without HARNESS_NODE_ADDRESS
	journal   *journal.Journal
	spans     *tracing.Tracer // nil unless spans are exported
	answers   *idempotency.Store
	artifacts *artifact.Store
	shims     *shim.Host
	sessions  *manager.Service
	traced    atomic.Pointer[manager.Service] // the sessions, for readers that started before them
	hub       *stream.Hub
	tasks     *tasks.Service
}

// Server is the whole program as one value: end-to-end tests start this same value.
type Server struct {
	*core
	// front, if set, handles requests first.
	front func(http.Handler) http.Handler
	parts *lifecycle.Group
	ready atomic.Bool

	fencing       fencing
	access        access
	damage        damage
	nodes         nodes
	calls         callLog
	notifications notifications
	runtimes      runtimes
	queue         jobQueue
	extensions    extensionParts
	maintenance   maintenance
	states        folderStates

	agents   agentsPort
	exporter *otlp.Exporter // nil if spans are not exported
	search   *search.Index
	rpc      *rpc.Server
	app      *appserver.Server // nil without HARNESS_DOORS=app-server
	acp      *acp.Server       // nil without HARNESS_DOORS=acp
	control  *mcp.Server       // nil without HARNESS_DOORS=mcp
	taskAPI  *v1.Server
	native   *nativelog.Ring
	trimmer  *resources.MemoryTrimmer
	folders  *gitworkspace.Store // nil if folders are not stored
}

// shutdownTimeout bounds an orderly stop. Container managers kill 10 to 30 s after SIGTERM.
const shutdownTimeout = 10 * time.Second

// New makes a server that does nothing until Start. workspace is its working directory. The server supports the further
// runtimes besides those of runtimeTable.
func New(cfg *config.Config, workspace string, log zerolog.Logger, further ...RuntimeMaker) *Server {
	c := &core{cfg: cfg, workspace: workspace, log: log, metrics: metrics.New(RuntimeNames()), failed: make(chan error, 1),
		consents: datadir.NewConsents(cfg.Trust)}
	s := &Server{core: c, fencing: fencing{core: c}, damage: damage{core: c}, nodes: nodes{core: c}, calls: callLog{core: c},
		queue: jobQueue{core: c}}
	s.access = access{core: c, fencing: &s.fencing, isLink: s.notifications.isLink}
	s.notifications = notifications{core: c, access: &s.access, calls: &s.calls}
	s.runtimes.core, s.runtimes.fencing, s.runtimes.access, s.runtimes.agents = c, &s.fencing, &s.access, &s.agents
	s.runtimes.table = append(runtimeTable(), further...)
	s.extensions = extensionParts{core: c, queue: &s.queue, access: &s.access, runtimes: &s.runtimes}
	s.maintenance = maintenance{core: c, damage: &s.damage}
	s.states = folderStates{core: c}
	s.trimmer = resources.NewMemoryTrimmer(func() int64 { return s.journal.Head() })
	// The server stops from the bottom up: not ready, no new connections, sockets closed with 1012, runtimes, services,
	// database.
	s.parts = lifecycle.New(log, shutdownTimeout,
		lifecycle.Part{Name: "data directory", Start: s.openDir, Stop: s.closeDir, Bound: time.Second},
		lifecycle.Part{Name: "listener", Start: s.listen, Stop: s.closeListener, Bound: time.Second},
		lifecycle.Part{Name: "startup gate", Start: s.startGate, Stop: s.stopHTTP, Bound: 3 * time.Second},
		lifecycle.Part{Name: "database", Start: s.openDatabase, Stop: s.closeDatabase, Bound: 3 * time.Second},
		lifecycle.Part{Name: "node port", Start: s.nodes.openNodePort, Stop: s.nodes.closeNodePort, Bound: time.Second},
		lifecycle.Part{Name: "ports of this machine", Start: s.fencing.Start, Stop: s.fencing.Stop, Bound: time.Second},
		lifecycle.Part{Name: "node", Start: s.nodes.startNode, Stop: s.nodes.stopNode, Bound: 2 * time.Second},
		lifecycle.Part{Name: "spans", Start: s.startSpans, Stop: s.stopSpans, Bound: 2 * time.Second},
		lifecycle.Part{Name: "journal", Start: s.startJournal, Stop: s.stopJournal, Bound: 3 * time.Second},
		lifecycle.Part{Name: "record of requests", Start: s.calls.Start, Stop: s.calls.Stop, Bound: 2 * time.Second},
		lifecycle.Part{Name: "news of other nodes", Start: s.nodes.startBus, Stop: s.nodes.stopBus, Bound: time.Second},
		lifecycle.Part{Name: "access tokens", Start: s.startTokens, Stop: s.stopTokens, Bound: time.Second},
		lifecycle.Part{Name: "logins", Start: s.access.startLogins, Stop: s.access.stopLogins, Bound: time.Second},
		lifecycle.Part{Name: "idempotency keys", Start: s.startAnswers, Stop: nothingToStop, Bound: time.Second},
		lifecycle.Part{Name: "folders of sessions", Start: s.startFolders, Stop: s.stopFolders, Bound: 6 * time.Second},
		lifecycle.Part{Name: "states of folders", Start: s.states.Start, Stop: s.states.Stop, Bound: 2 * time.Second},
		lifecycle.Part{Name: "sessions", Start: s.startSessions, Stop: s.stopSessions, Bound: 3 * time.Second},
		lifecycle.Part{Name: "port for agents", Start: s.openAgentsPort, Stop: s.stopAgentsPort, Bound: 3 * time.Second},
		lifecycle.Part{Name: "tools", Start: s.startTools, Stop: nothingToStop, Bound: time.Second},
		lifecycle.Part{Name: "search", Start: s.startSearch, Stop: s.stopSearch, Bound: 4 * time.Second},
		lifecycle.Part{Name: "notifications", Start: s.notifications.Start, Stop: s.notifications.Stop, Bound: time.Second},
		lifecycle.Part{Name: "runtimes", Start: s.runtimes.Start, Stop: s.runtimes.Stop, Bound: 6 * time.Second},
		lifecycle.Part{Name: "memory trimmer", Start: s.trimmer.Start, Stop: s.trimmer.Stop, Bound: time.Second},
		lifecycle.Part{Name: "stream", Start: s.startStream, Stop: s.stopStream, Bound: 3 * time.Second},
		lifecycle.Part{Name: "actions", Start: s.extensions.startActions, Stop: s.extensions.stopActions, Bound: 6 * time.Second},
		lifecycle.Part{Name: "queue", Start: s.queue.Start, Stop: s.queue.Stop, Bound: 6 * time.Second},
		lifecycle.Part{Name: "extensions", Start: s.extensions.startExtensions, Stop: s.extensions.stopExtensions, Bound: 6 * time.Second},
		lifecycle.Part{Name: "watch over other nodes", Start: s.nodes.startWatch, Stop: s.nodes.stopWatch, Bound: 2 * time.Second},
		lifecycle.Part{Name: "pruning", Start: s.maintenance.Start, Stop: s.maintenance.Stop, Bound: 2 * time.Second},
		lifecycle.Part{Name: "protocols on sockets", Start: s.startProtocols, Stop: s.stopProtocols, Bound: 3 * time.Second},
		lifecycle.Part{Name: "tasks", Start: s.startTasks, Stop: s.stopTasks, Bound: 6 * time.Second},
		lifecycle.Part{Name: "http", Start: s.startHTTP, Stop: s.stopHTTP, Bound: 3 * time.Second},
		lifecycle.Part{Name: "requests of other nodes", Start: s.nodes.serveNodePort, Stop: s.nodes.stopNodePort, Bound: 3 * time.Second},
		lifecycle.Part{Name: "early text of other nodes", Start: s.nodes.startLiveText, Stop: s.nodes.stopLiveText, Bound: time.Second},
		lifecycle.Part{Name: "readiness", Start: s.startReady, Stop: s.stopReady, Bound: time.Second},
	)
	return s
}

// Start starts every part and returns when the server accepts requests. It does not wait for the runtime: health
// reports a missing codex.
func (s *Server) Start(ctx context.Context) error { return s.parts.Start(ctx) }

// Stop stops all parts in order within shutdownTimeout. Calling it twice is allowed.
func (s *Server) Stop() error { return s.parts.Stop() }

// Failed reports a part that failed while the server ran.
func (s *Server) Failed() <-chan error { return s.failed }

// fail reports that a part failed; the first report ends the server.
func (s *core) fail(err error) {
	select {
	case s.failed <- err:
	default:
	}
}

// URL is the base URL for clients. Call it after Start.
func (s *Server) URL() string { return "http://" + s.people.listener.Addr().String() }

func (s *Server) openDir(context.Context) (err error) {
	if s.runtimes.makers, err = s.runtimes.chosen(s.cfg); err != nil {
		return err
	}
	if err := s.consents.Claim(s.cfg); err != nil {
		return err
	}
	if s.dir, err = datadir.Open(s.cfg.DataDir); err != nil {
		return err
	}
	s.access.openAccess()
	return nil
}

func (s *Server) closeDir(context.Context) error { return s.dir.Close() }

// listen binds first: if a port is in use, the server should fail before it migrates a database or starts a runtime.
func (s *Server) listen(ctx context.Context) (err error) {
	address := net.JoinHostPort(s.cfg.Host, strconv.Itoa(s.cfg.Port))
	s.people.listener, err = (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("listen on %s: %w (%s)", address, err, listenRemedy(err))
	}
	if s.cfg.HasDoor(config.DoorAppServer) {
		if s.people.socket, err = openAppSocket(ctx, s.dir.Path, s.log); err != nil {
			return err
		}
	}
	resources.WarnOfDescriptors(s.cfg.Limits, s.log)
	return nil
}

// startGate answers requests while the parts behind it start: a migration may take long.
func (s *Server) startGate(context.Context) error {
	s.people.serve(conns.Options{
		MaxConnections: s.cfg.Limits.HTTPConnections, BasePath: s.cfg.BasePath, Metrics: s.metrics.HTTP.Options(),
		Logger: s.log.With().Str("package", "api").Logger(),
	}, s.fail)
	s.log.Info().Str("url", s.URL()).Msg("harness is starting")
	return nil
}

func listenRemedy(err error) string {
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return "set PORT to a free one, or stop who has it"
	case errors.Is(err, syscall.EACCES):
		return "set PORT to one this user may take, above 1023"
	default:
		return "set HOST to an address of this machine"
	}
}

func (s *Server) closeListener(context.Context) error { return s.people.close() }

func (s *Server) openDatabase(ctx context.Context) error {
	db, result, err := datadir.OpenStore(ctx, s.cfg, s.metrics.Database.Follow(s.log, &s.damage.mended))
	if err != nil {
		return err
	}
	s.db = db
	if file := filepath.Join(s.cfg.DataDir, "harness.db"); s.cfg.DatabaseURL != "" {
		if _, err := os.Stat(file); err == nil {
			s.log.Warn().Str("file", file).Msg("DATABASE_URL is set, and the data directory has a SQLite store, which this server does " +
				"not show: unset it, or stop the server and move that store there with `harness migrate-store postgres`")
		}
	}
	s.log.Info().Str("engine", string(db.Engine())).Int64("schema", result.To).Bool("migrated", result.From != result.To).
		Msg("the database is open")
	return nil
}

func (s *Server) closeDatabase(context.Context) error { return s.db.Close() }

// traceOf returns the trace of a turn, once the sessions have started.
func (s *core) traceOf(sessionID, turnID string) (traceID, spanID string) {
	if sessions := s.traced.Load(); sessions != nil {
		return sessions.Tracer.TraceOf(sessionID, turnID)
	}
	return "", ""
}

func (s *Server) startJournal(ctx context.Context) error {
	s.journal = journal.New(s.db, journal.Options{Now: s.now, Logger: s.log.With().Str("package", "journal").Logger(),
		Origin: origin, Before: audit.NewWriter().Write, Upcast: stream.Upcast, Recorded: storeRefused, TraceOf: s.traceOf,
		CheckOwned: s.owned(),
		Hooks: journal.Hooks{Observe: s.metrics.ObserveBatch, Refused: s.metrics.Database.Refusals.Inc, Announce: s.nodes.announce(),
			OnEphemeral: s.nodes.carryLiveText(), Damaged: s.damage.damagedEvent},
		Barrier: s.nodePort != nil && !switchedOff("barrier"), EarlyRelease: s.releasesEarly(),
		Archived: s.cfg.Archive != ""})
	s.metrics.Database.Watch(s.db.Engine(), s.journal)
	s.damage.register(s.metrics.Registry)
	if err := s.journal.Start(ctx); err != nil {
		return err
	}
	s.journal.Subscribe(s.metrics.Turns.OnRecords)
	if s.spans != nil {
		s.journal.Subscribe(s.spans.OnRecords)
	}
	began := []journal.Event{configurationLoaded(s.cfg, s.dir.NodeID)}
	if frames := s.damage.mended.Load(); frames > 0 {
		began = append(began, storeMended(int(frames)))
	}
	// Stored once the store accepts it: a server starts even if the store refuses writes.
	return s.journal.Submit(context.WithoutCancel(ctx),
		func(context.Context, database.Tx) ([]journal.Event, error) { return began, nil }, nil)
}

func (s *Server) stopJournal(ctx context.Context) error { return s.journal.Stop(ctx) }

func (s *Server) startTokens(ctx context.Context) error {
	s.access.tokens = tokens.New(tokens.Options{Journal: s.journal, DB: s.db, Clock: s.now,
		Logger: s.log.With().Str("package", "tokens").Logger()})
	return s.access.tokens.Start(ctx)
}

func (s *Server) stopTokens(ctx context.Context) error { return s.access.tokens.Stop(ctx) }

func (s *Server) startAnswers(ctx context.Context) error {
	s.answers = idempotency.New(idempotency.Options{Journal: s.journal, DB: s.db, NodeID: s.dir.NodeID, Clock: s.now})
	return s.answers.Start(ctx)
}

func (s *Server) startSessions(ctx context.Context) (err error) {
	if info, err := os.Stat(SessionFolder(s.cfg, s.workspace)); err != nil || !info.IsDir() {
		return config.Usagef("HARNESS_WORKSPACE %s is not an existing folder (%w): create it for the user of runtimes",
			s.cfg.Workspace, cmp.Or(err, error(syscall.ENOTDIR)))
	}
	if s.shims, err = s.shimHost(); err != nil {
		return err
	}
	if err := errors.Join(s.runtimes.endStrangers(ctx), s.runtimes.endLost(ctx), s.runtimes.endWithNativeTools(ctx)); err != nil {
		return err
	}
	left, err := s.runtimes.surviving()
	if err != nil {
		return err
	}
	s.native = nativelog.New(filepath.Join(s.dir.Path, "native"))
	if err := s.openArtifacts(ctx); err != nil {
		return err
	}
	s.sessions = manager.New(manager.Options{
		Journal: s.journal, DB: s.db, Clock: s.now, TreeOptions: manager.TreeOptions{Trees: s.states.turns(), RewindTrees: s.states.rewinds()},
		WorkspaceRoot: SessionFolder(s.cfg, s.workspace), EnterFolder: s.runtimes.enterFolder,
		NodeOptions: manager.NodeOptions{
			NodeID: s.dir.NodeID, Surviving: left, AdoptNodes: s.cfg.AdoptNodes, Sure: s.sure(),
			NoRuntimes: !s.cfg.Runs(), Draining: s.draining, OnlyNode: s.db.Engine() == database.SQLite,
			Movable: s.node != nil && s.cfg.Workspaces != "pinned", Lapsed: s.node.Over, Folders: s.storedFolders(),
		},
		Defaults: session.Controls{
			ApprovalPolicy: s.cfg.Defaults.ApprovalPolicy, FilesystemSandbox: s.cfg.Defaults.SandboxMode,
			NetworkAccess: s.cfg.Defaults.NetworkAccess,
		},
		Runtimes: registry.Options{Default: s.runtimes.makers[0].name, NativeToolsOff: s.runtimes.nativeToolsOff(),
			Levels: func(name string) session.RuntimeLevels {
				levels, setting := s.cfg.LevelsOf(name)
				return session.RuntimeLevels{ApprovalPolicy: levels.Approval, Sandbox: levels.Sandbox, Setting: setting}
			}},
		RuntimeLimits: func(name string) session.RuntimeLimits {
			limits := s.cfg.LimitsOf(name)
			return session.RuntimeLimits{Turns: limits.Turns, Messages: limits.Messages, SessionMessages: limits.SessionMessages}
		},
		NativeOptions: manager.NativeOptions{KeepNative: s.cfg.KeepNative, NativeLines: s.native},
		ContentOptions: manager.ContentOptions{Keep: s.keep,
			Pictures: operations.Pictures{Uploads: s.artifacts}.Load, Images: itemImages{s.artifacts, s.log}},
		Logger: s.log.With().Str("package", "session").Logger(), DefaultsLocked: s.cfg.Defaults.Locked,
	})
	s.traced.Store(s.sessions)
	return s.sessions.Start(ctx)
}

func (s *Server) stopSessions(ctx context.Context) error { return s.sessions.Stop(ctx) }

func (s *Server) startStream(ctx context.Context) error {
	s.hub = stream.NewHub(s.journal, stream.Options{
		Logger: s.log.With().Str("package", "stream").Logger(), Metrics: s.metrics.Stream.Options(s.trimmer.Joined),
		StopTimeout: streamCloseWait, ProjectOf: func(ctx context.Context, id string) (string, error) {
			projects, err := s.sessions.Reader.ProjectsOf(ctx, id)
			return projects[id], err
		},
		Watched: s.nodes.watchedChanged(),
	})
	return s.hub.Start(ctx)
}

func (s *Server) stopStream(ctx context.Context) error { return s.hub.Stop(ctx) }

// trustedProxies returns the configured proxies, which config has already checked.
func trustedProxies(cfg *config.Config) (all []netip.Prefix) {
	for _, entry := range cfg.TrustedProxies {
		if network, err := config.ParseNetwork(entry); err == nil {
			all = append(all, network)
		}
	}
	return all
}

// operations returns the parts behind the clients' operations. Without a queue its parts stay nil, and their operations
// are refused.
func (s *Server) operations() operations.Options {
	of := manager.PartsOf(s.sessions)
	parts := operations.Options{
		Sessions: operations.Sessions{Lookups: of.Finding, Opener: of.Sessions, Reader: of.Finding, Editor: of.Sessions, Turns: of.Turns,
			Threads: of.Sessions, Queue: s.sessions.Outbox, Requests: of.Requests, Projects: of.Projects, Usage: s.sessions.Reader,
			Prices: &usage.Prices{Journal: s.journal, DB: s.db, Clock: s.now}, Lineage: s.sessions.Lineage, Folders: s.sessions.Checker,
			Origins: s.sessions.Reader},
		Controls: of.Controls, Runtimes: of.Runtimes, DefaultsLocked: s.cfg.Defaults.Locked,
		Events: stream.Browser{Journal: s.journal}, Searching: s.search, Uploads: s.artifacts,
		WorkingTrees: s.states.trees(), Suggestions: s.queue.suggestions, RuntimeStatus: map[string]operations.RuntimeStatus{},
		Providers: func(name string) []environment.ProviderStatus { return ProvidersOf(s.cfg, name) },
		Absent:    s.runtimes.absent,
	}
	if s.nodes.nodePort != nil {
		parts.Elsewhere = door.Elsewhere(s.nodes.owners(), s.nodes.agentTurns())
	}
	for _, one := range s.runtimes.makers {
		if one.preview {
			parts.RuntimeStatus[one.name] = operations.RuntimePreview
		}
	}
	for name, status := range s.cfg.RuntimeStatuses() {
		parts.RuntimeStatus[name] = operations.RuntimeStatus(status)
	}
	if s.queue.Queue != nil {
		parts.Jobs = s.queue.Queue
	}
	if s.queue.Queue != nil && s.queue.suggester != nil {
		// Extensions get requests for suggestions first.
		parts.Suggester = extensionSuggester{extensions: &s.extensions, sessions: s.sessions, queue: s.queue.Queue,
			builtIn: s.queue.suggester}
	}
	return parts
}

// stopHTTP stops both ports concurrently: their handlers share the same parts.
func (s *Server) stopHTTP(ctx context.Context) error {
	var people error
	var stopping sync.WaitGroup
	stopping.Go(func() { people = s.people.stop(ctx, s.log) })
	agents := s.agents.stop(ctx, s.log)
	stopping.Wait()
	return errors.Join(people, agents)
}

// nothingToStop is the stop function of a part that runs nothing in the background.
func nothingToStop(context.Context) error { return nil }

func (s *Server) startReady(context.Context) error {
	s.ready.Store(true)
	return nil
}

func (s *Server) stopReady(context.Context) error {
	s.ready.Store(false)
	return nil
}

// actor returns the principal's name, for the record of decisions.
func actor(r *http.Request) string {
	if principal, ok := auth.PrincipalFrom(r.Context()); ok && principal.Actor != "" {
		return principal.Actor
	}
	return "local"
}
