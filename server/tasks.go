package server

import (
	"context"

	"harness/api/agui"
	"harness/api/mcp"
	"harness/api/sse"
	v1 "harness/api/v1"
	"harness/internal/lib/version"
	"harness/internal/operations"
	"harness/internal/platform/config"
	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime/codex"
	"harness/internal/runtime/environment"
	"harness/internal/services/session/manager"
	"harness/internal/services/tasks"
	"harness/server/datadir"
)

// startTasks makes the task runner, which continues the tasks of an earlier server, and the task API.
func (s *Server) startTasks(ctx context.Context) error {
	of := manager.PartsOf(s.sessions)
	ops := operations.New(s.operations())
	s.tasks = tasks.New(tasks.Options{
		Journal: s.journal, DB: s.db, Sessions: tasks.Sessions{Finder: of.Finding, Turns: of.Turns},
		Operations: ops, Clock: s.now, Yolo: s.cfg.AllowYolo,
		Mode: tasks.Mode(s.cfg.Tasks.Mode), Limits: tasks.Limits{Open: s.cfg.Limits.Tasks, PerSession: s.cfg.Limits.TasksPerSession},
		Logger: s.log.With().Str("package", "tasks").Logger(), Ended: s.taskEnded, Artifacts: s.artifacts, Redact: s.redactArtifact,
		Tools: s.givenTools, ReportRequests: s.cfg.Tasks.RuntimeEvents,
	})
	options := v1.Options{Credentials: s.credentialsOf,
		Reads: s.journal, Tasks: s.tasks, Operations: ops, Actor: actor, Version: version.Program(), MaxStreams: s.cfg.Limits.Streams,
		Bundle: s.bundles(ops, s.native).Make, Overflowed: s.metrics.Work.Overflows.Inc,
		Context: func(ctx context.Context) context.Context { return journal.Patient(ctx, s.cfg.Limits.StoreWait) },
	}
	if s.nodePort != nil {
		options.Owners = s.nodes.owners()
	}
	s.taskAPI = v1.New(options)
	return s.tasks.Start(ctx)
}

// credentialsOf returns the level at which a runtime stores its logins and state, and the namespace.
func (s *Server) credentialsOf(runtime string) (level, namespace string) {
	level = s.cfg.CredentialLevel(runtime)
	if runtime == codex.Name {
		level = string(environment.LevelShared)
		if home, err := datadir.RealPath(s.cfg.CodexHome); s.cfg.CodexHome != "" && err == nil {
			if data, err := datadir.RealPath(s.dir.Path); err == nil && datadir.Within(data, home) {
				level = string(environment.LevelNamespaced)
			}
		}
	}
	return level, s.cfg.CredentialNamespace
}

// taskEnded counts an ended task, and makes its span.
func (s *Server) taskEnded(e tasks.Ended) {
	s.metrics.Work.TaskEnded(e)
	s.spans.TaskEnded(e)
}

func (s *Server) stopTasks(ctx context.Context) error { return s.tasks.Stop(ctx) }

// agui returns what AG-UI's clients are served with, if they are. Their streams end with those of the task API.
func (s *Server) agui() agui.Options {
	if !s.cfg.HasDoor(config.DoorAGUI) {
		return agui.Options{}
	}
	return agui.Options{Journal: sessionRecords{s.core}, Closing: s.taskAPI.Closing(), Streams: &sse.Limit{Most: s.cfg.Limits.Streams},
		News: func(sessionID string) (<-chan struct{}, func()) { return s.tasks.News(sessionID) }}
}

// sessionRecords are the stored records of sessions.
type sessionRecords struct{ *core }

// ReadSession implements agui.Journal.
func (r sessionRecords) ReadSession(ctx context.Context, sessionID string, after int64, limit int) ([]journal.Record, error) {
	return r.journal.ReadSession(ctx, database.EncodeText(sessionID), after, limit)
}

// Newest implements agui.Journal.
func (r sessionRecords) Newest(ctx context.Context, sessionID string) (int64, error) {
	return journal.Sequence(ctx, r.db.Read(), database.EncodeText(sessionID))
}

// newControl makes the tools that control sessions over MCP.
func newControl(s *Server) (*mcp.Server, error) {
	return mcp.New(mcp.Options{
		Operations: s.nodes.ofDoors(operations.New(s.operations())), Journal: controlJournal{sessionRecords{s.core}},
		Answers: s.answers, Version: version.Program(), Rate: s.cfg.Limits.RPCRate, Reads: s.journal, Context: s.patient,
		AgentsWrite: s.cfg.ControlAgents == "write", Clock: s.now,
	})
}

// controlJournal is the journal for the control.
type controlJournal struct{ sessionRecords }

// Subscribe implements mcp.Journal.
func (j controlJournal) Subscribe(fn journal.Subscriber) (head int64, cancel func()) {
	return j.journal.Subscribe(fn)
}
