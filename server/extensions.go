package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"harness/api/admin"
	"harness/extensions"
	"harness/extensions/action"
	"harness/extensions/js"
	"harness/extensions/process"
	"harness/extensions/sdk"
	"harness/internal/lib/lifecycle"
	"harness/internal/operations"
	"harness/internal/platform/auth"
	"harness/internal/platform/config"
	"harness/internal/platform/telemetry"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/internal/services/session/manager"
	"harness/queue"
	"harness/queue/jobs"
	"harness/transcript"
)

// extensionParts are the extensions of a server.
type extensionParts struct {
	*core
	queue    *jobQueue
	access   *access
	runtimes *runtimes

	registry   *extensions.Registry
	dispatcher *extensions.Dispatcher
	actions    *action.Executor
	catchUps   func(lane int)
	// after are the reconciliations in progress after reloads.
	after lifecycle.Loops
}

// startActions makes the executor of actions before the queue starts, because workers of the queue request actions.
func (s *extensionParts) startActions(ctx context.Context) error {
	parts := actionParts{s.sessions, s.journal}
	s.actions = action.New(action.Options{
		Journal: s.journal, DB: s.db, Transcripts: parts, Approvals: parts, Turns: parts, Titles: parts,
		Jobs: extensionJobs{s.queue}, Clock: s.now, Logger: s.log.With().Str("package", "actions").Logger(),
	})
	if err := s.loadExtensions(ctx); err != nil {
		return err
	}
	s.queue.actions = workerActions{s.registry}
	return nil
}

// loadExtensions loads the extensions before the queue starts: a recovered job's worker follows its extension's
// agent.config.json. It logs and skips an extension that fails to load.
func (s *extensionParts) loadExtensions(ctx context.Context) error {
	log := s.log.With().Str("package", "extensions").Logger()
	hosts, err := extensionHosts(ctx, filepath.Join(s.dir.Path, "extensions"), s.cfg.Extensions.PassEnv,
		s.people.listener.Addr().String, log)
	if err != nil {
		return err
	}
	roots, err := markUnprotected(s.dir.Path, ExtensionRoots(s.cfg, s.workspace))
	if err != nil {
		return err
	}
	dispatches, catchUps := s.extensionMetrics()
	s.catchUps = catchUps
	s.registry = extensions.New(extensions.Options{
		Roots: roots, Native: nativeExtensions(), Hosts: hosts, Runtimes: s.cfg.Runtimes,
		Trust: extensions.TrustPolicy{Mode: extensions.TrustMode(s.cfg.Extensions.TrustMode),
			ProcessAllowed: s.cfg.Extensions.ProcessAllowed, Consent: s.consents.Extension},
		Jobs: extensionJobs{s.queue}, Settings: extensionSettings{s.sessions, s.journal}, Actions: s.actions, Observe: dispatches, Logger: log,
		AgentTools: s.extensionTools(),
	})
	s.registry.Load(ctx)
	s.consents.Started()
	if rules := RBACOptions(s.cfg); rules.Warning() != "" {
		log.Warn().Msg(rules.Warning())
	}
	s.queue.policies = s.workerPolicy
	return nil
}

// stopActions unloads the extensions after the queue stopped, because the queue reads their agents' policies.
func (s *extensionParts) stopActions(ctx context.Context) error { return s.registry.Close(ctx) }

// workerPolicy returns the policy of an agent's workers.
func (s *extensionParts) workerPolicy(agent string) (jobs.AgentPolicy, error) {
	found, err := s.registry.AgentConfig(agent)
	if err != nil {
		return jobs.AgentPolicy{}, err
	}
	d := s.cfg.Defaults
	found = found.OverDefaults(s.runtimes.makers[0].name, extensions.TurnPolicy{FilesystemSandbox: d.SandboxMode,
		NetworkAccess: d.NetworkAccess, ApprovalPolicy: d.ApprovalPolicy})
	return jobs.AgentPolicy{Runtime: found.Runtime, Model: found.Model, Start: jobs.TurnPolicy(found.Start),
		Prepare: jobs.TurnPolicy(found.Prepare), Instruct: jobs.TurnPolicy(found.Instruct),
		TurnTimeout: found.TurnTimeout, Orientation: found.Orientation}, nil
}

// startExtensions starts the event dispatcher.
func (s *extensionParts) startExtensions(ctx context.Context) error {
	log := s.log.With().Str("package", "extensions").Logger()
	options := extensions.DispatcherOptions{
		Registry: s.registry, Journal: s.journal, DB: s.db, Sessions: extensionSessions{s.sessions}, NodeID: s.dir.NodeID,
		Observe: s.catchUps, Clock: s.now, Logger: log,
	}
	if s.nodePort != nil {
		options.Owns, options.Taken = newOwnership(s.sessions).owns, session.Taking
	}
	s.dispatcher = extensions.NewDispatcher(options)
	return s.after.Start(ctx, func(context.Context) error { return s.dispatcher.Start(ctx) })
}

func (s *extensionParts) stopExtensions(ctx context.Context) error {
	_, err := s.after.Stop(ctx, "the reconciliation after a reload")
	return errors.Join(err, s.dispatcher.Stop(ctx))
}

// lifecycle returns the lifecycle for the extension routes.
func (s *extensionParts) lifecycle() *admin.Lifecycle {
	return &admin.Lifecycle{RBAC: auth.NewRBAC(s.access.rbacOptions()), Lifecycle: operations.Lifecycle{
		Extensions: s.registry, Audit: extensions.NewAudit(s.journal, s.db, s.now),
		Reloaded: func() {
			// Dispatch pending decisions to the current extensions.
			s.after.Go(func(running context.Context) {
				if err := s.dispatcher.Reconcile(running); err != nil && running.Err() == nil {
					s.log.Warn().Err(err).Msg("pending file changes were not offered to the reloaded extensions")
				}
			})
		},
	}}
}

func (s *access) rbacOptions() auth.RBACOptions {
	rules := RBACOptions(s.cfg)
	rules.Clock, rules.Brake = s.now, s.brake
	return rules
}

// RBACOptions returns the configured rules; serve and doctor print their Warning.
func RBACOptions(cfg *config.Config) auth.RBACOptions {
	rules := cfg.Extensions
	var keys *auth.KeySet
	if rules.RBACJWTKeys != "" {
		keys = auth.NewKeySet(rules.RBACJWTKeys, nil)
	}
	return auth.RBACOptions{JWTKeys: keys, RoleMap: roleMap(cfg),
		Mode: auth.RBACMode(rules.RBACMode), HeaderSecret: rules.RBACHeaderSecret, JWTSecret: rules.RBACJWTSecret,
		JWTIssuer: rules.RBACJWTIssuer, JWTAudience: rules.RBACJWTAudience, RoleClaim: rules.RBACJWTRoleClaim,
		ActorClaim: rules.RBACJWTActorClaim, JWTRequireExp: rules.RBACJWTRequireExp,
	}
}

// roleMap contains only valid roles, because the configuration refuses others.
func roleMap(cfg *config.Config) map[string]auth.Role {
	roles := map[string]auth.Role{}
	for name, word := range cfg.RoleTranslations() {
		if role, known := auth.ParseRole(word); known {
			roles[name] = role
		}
	}
	return roles
}

// nativeExtensions returns the extensions compiled into this binary, none in the shipped binary.
// docs/examples/agents/turn-counter shows one.
func nativeExtensions() []sdk.Extension { return nil }

// ExtensionRoots returns the folders to search for extensions: the workspace's agents folder and the configured roots.
func ExtensionRoots(cfg *config.Config, workspace string) []extensions.Root {
	roots := []extensions.Root{{Type: extensions.RepoLocal, Path: filepath.Join(workspace, "agents")}}
	for _, path := range cfg.Extensions.PackageRoots {
		roots = append(roots, extensions.Root{Type: extensions.InstalledPackage, Path: path})
	}
	for _, path := range cfg.Extensions.ConfiguredRoots {
		roots = append(roots, extensions.Root{Type: extensions.ConfiguredRoot, Path: path})
	}
	return roots
}

// extensionHosts makes the hosts that run extensions. dir is a folder for the process host alone. passEnv lists the
// environment variables that its children inherit. own is the address of this server (nil: none).
func extensionHosts(ctx context.Context, dir string, passEnv []string, own func() string, log zerolog.Logger) (
	[]extensions.Host, error) {
	children, err := process.New(ctx, process.Options{Dir: dir, PassEnv: passEnv, Logger: log})
	if err != nil {
		return nil, err
	}
	return []extensions.Host{js.New(js.Options{Own: own, Logger: log}), children}, nil
}

// extensionMetrics registers the dispatch metrics.
func (s *extensionParts) extensionMetrics() (dispatched func(extensions.Summary), behind func(lane int)) {
	count := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: telemetry.MetricName("extensions", "results_total"), Help: "Results of extension handlers by kind.",
	}, []string{"kind"})
	took := prometheus.NewHistogram(prometheus.HistogramOpts{
		Name:    telemetry.MetricName("extensions", "dispatch_seconds"),
		Help:    "Time from an event to the last of its handlers' results.",
		Buckets: prometheus.ExponentialBuckets(0.0001, 4, 10),
	})
	catchUps := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: telemetry.MetricName("extensions", "catch_ups_total"),
		Help: "Times a dispatch lane fell behind and read the journal.",
	}, []string{"lane"})
	s.metrics.Registry.MustRegister(count, took, catchUps)
	return func(summary extensions.Summary) {
			took.Observe(summary.Took.Seconds())
			count.WithLabelValues(string(sdk.EnqueueResult)).Add(float64(summary.Enqueues))
			count.WithLabelValues(string(sdk.ActionResult)).Add(float64(summary.Actions))
			count.WithLabelValues(string(sdk.HandlerError)).Add(float64(summary.HandlerErrors))
			count.WithLabelValues(string(sdk.HandlerResult)).
				Add(float64(summary.Handlers - summary.Enqueues - summary.Actions - summary.HandlerErrors))
		}, func(lane int) {
			catchUps.WithLabelValues(strconv.Itoa(lane)).Inc()
		}
}

// extensionSessions describes sessions to the dispatcher.
type extensionSessions struct{ sessions *manager.Service }

// Describe implements extensions.Sessions.
func (e extensionSessions) Describe(ctx context.Context, id string) (extensions.SessionInfo, error) {
	found, err := e.sessions.Conversations.Lookup(ctx, id)
	if gone(err) {
		return extensions.SessionInfo{}, fmt.Errorf("%w: %w", extensions.ErrSessionGone, err)
	}
	return extensions.SessionInfo{ID: found.ID, Title: found.Title, ProjectID: found.ProjectID,
		SystemOwned: found.SystemOwned}, err
}

// RequestPending implements extensions.Sessions.
func (e extensionSessions) RequestPending(ctx context.Context, _, requestID string) (bool, error) {
	request, err := e.sessions.Reader.Request(ctx, requestID, runtime.RequestApproval)
	if errors.Is(err, session.ErrRequestNotFound) {
		return false, nil
	}
	return request.Status == session.RequestPending, err
}

func gone(err error) bool {
	var deleted *session.DeletedError
	return errors.Is(err, session.ErrNotFound) || errors.As(err, &deleted)
}

// extensionSettings gives handlers access to a session's settings.
type extensionSettings struct {
	sessions *manager.Service
	reads    reads
}

// SessionSettings implements extensions.Settings.
func (e extensionSettings) SessionSettings(ctx context.Context, id string) (map[string]json.RawMessage, error) {
	found, err := settled(ctx, e.reads, func(ctx context.Context) (session.Session, error) { return e.sessions.Conversations.Lookup(ctx, id) })
	return found.Controls.Settings, err
}

// extensionJobs queues jobs for extensions. The queue may be disabled.
type extensionJobs struct{ queue *jobQueue }

// EnqueueJob implements extensions.Jobs.
func (e extensionJobs) EnqueueJob(ctx context.Context, in sdk.EnqueueInput) (sdk.EnqueueOutcome, error) {
	if e.queue.Queue == nil {
		return sdk.EnqueueOutcome{}, errors.New("orchestrator queue is unavailable")
	}
	out, err := e.queue.Enqueue(ctx, jobs.NewRequest(in.Type, in.ProjectID, in.SourceSessionID, in.Payload))
	var refused *queue.Error
	if errors.As(err, &refused) && (refused.Code == queue.CodeUnknownType || refused.Code == queue.CodeInvalidPayload) {
		return sdk.EnqueueOutcome{}, fmt.Errorf("%w: %w", action.ErrInvalid, err)
	}
	if err != nil {
		return sdk.EnqueueOutcome{}, err
	}
	return sdk.EnqueueOutcome{Status: string(out.Status),
		Job: sdk.Job{ID: out.Job.ID, Type: out.Job.Type, ProjectID: out.Job.ProjectID, State: string(out.Job.State)}}, nil
}

// actionParts are the services that actions change.
type actionParts struct {
	sessions *manager.Service
	reads    reads
}

// UpsertTranscript implements action.Transcripts.
func (a actionParts) UpsertTranscript(ctx context.Context, id string, entry transcript.Entry) error {
	return asAction(done(ctx, a.reads, func(ctx context.Context) error { return a.sessions.Upserter.UpsertTranscript(ctx, id, entry) }))
}

// Approval implements action.Approvals.
func (a actionParts) Approval(ctx context.Context, id string) (action.Approval, error) {
	request, err := settled(ctx, a.reads, func(ctx context.Context) (session.Request, error) {
		return a.sessions.Reader.Request(ctx, id, runtime.RequestApproval)
	})
	return action.Approval{SessionID: request.SessionID, TurnID: request.TurnID}, asAction(err)
}

// Decide implements action.Approvals.
func (a actionParts) Decide(ctx context.Context, d action.Decision) error {
	return asAction(done(ctx, a.reads, func(ctx context.Context) error {
		_, err := a.sessions.Settle(ctx, d.ApprovalID, runtime.RequestApproval,
			runtime.Reply{Decision: d.Decision, Scope: d.Scope, Message: d.Message}, d.Actor)
		return err
	}))
}

// Steer implements action.Turns.
func (a actionParts) Steer(ctx context.Context, id, turnID, text string) error {
	return asAction(done(ctx, a.reads, func(ctx context.Context) error { return a.sessions.Steer(ctx, id, turnID, text) }))
}

// Rename implements action.Titles.
func (a actionParts) Rename(ctx context.Context, id, title, onlyFrom string) error {
	err := done(ctx, a.reads, func(ctx context.Context) error {
		_, err := a.sessions.Organizer.RenameFrom(ctx, id, title, onlyFrom)
		return err
	})
	if other := (*session.TitleError)(nil); errors.As(err, &other) {
		return fmt.Errorf("%w: %w", action.ErrResolved, err)
	}
	return asAction(err)
}

// asAction translates an error for an action. A session of another node is a conflict: the extensions of that node act
// on it.
func asAction(err error) error {
	var kind error
	switch operations.Classify(err).Code {
	case operations.CodeInvalidReply:
		kind = action.ErrInvalid
	case operations.CodeAlreadyResolved:
		kind = action.ErrResolved
	case operations.CodeNoActiveTurn, operations.CodeNotOwner:
		kind = action.ErrConflict
	case operations.CodeSessionDeleted, operations.CodeSessionNotFound, operations.CodeRequestNotFound:
		kind = action.ErrGone
	default:
		return err
	}
	return fmt.Errorf("%w: %w", kind, err)
}

// workerActions executes the actions that queue workers request as if their agents' extensions requested them.
type workerActions struct{ registry *extensions.Registry }

// Execute implements jobs.ActionExecutor.
func (w workerActions) Execute(ctx context.Context, in jobs.Intent) (jobs.ActionResult, error) {
	result := w.registry.PerformForWorker(ctx, in.Agent, extensions.ActionCall{
		ModuleName: in.Agent, Extension: "agent:" + in.Agent, EventType: "job", CorrelationID: "job|" + in.JobID,
		Scope: extensions.Scope{ProjectID: in.ProjectID, SessionID: in.SourceSessionID, TurnID: in.TurnID},
		Request: sdk.ActionRequest{Kind: "action_request", ActionType: in.ActionType, Payload: in.Payload,
			IdempotencyKey: in.IdempotencyKey},
	})
	var details struct{ Replayed bool }
	if len(result.Details) > 0 && json.Unmarshal(result.Details, &details) != nil {
		details.Replayed = false
	}
	return jobs.ActionResult{ActionType: result.ActionType, Status: result.Status, Details: result.Details,
		Replayed: details.Replayed}, nil
}
