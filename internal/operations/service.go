// Package operations is the client API of the server, independent of the protocol: REST, JSON-RPC, the task API and the
// command line call the same methods.
//
// It owns the rules for clients: which sessions an operation is allowed on, which parts of a request can be combined,
// and the defaults. Errors are typed; protocols only format them. It must never know HTTP, a wire name or a runtime's
// protocol. The server's internal work (job workers, extensions) calls the packages below, without these rules.
package operations

import (
	"context"

	"harness/internal/runtime/environment"
)

// Sessions are the parts of sessions that the operations use, by subject. Each subject gets the part that it needs.
type Sessions struct {
	Lookups  Lookups
	Opener   OpenerStore
	Reader   ReaderStore
	Editor   EditorStore
	Turns    TurnStore
	Threads  ThreadStore
	Queue    QueueStore
	Requests RequestStore
	Projects ProjectStore
	Usage    UsageStore
	Prices   PriceStore
	Folders  FolderStore
	Origins  OriginStore
	// Lineage is nil if no session may start others.
	Lineage LineageStore
}

// Options are the parts of a Service. Sessions and Controls are required.
type Options struct {
	Sessions Sessions
	Controls Controls
	// Runtimes are the available runtimes; nil: there are none.
	Runtimes Runtimes
	// RuntimeStatus is the status of each runtime by name; missing ones are active.
	RuntimeStatus map[string]RuntimeStatus
	// DefaultsLocked refuses changes of the defaults of new sessions (*LockedError).
	DefaultsLocked bool
	// Jobs is the job queue, Suggestions stores suggested requests, Suggester requests them. nil: ErrQueueOff.
	Jobs Jobs
	// Providers lists the clouds that can serve a runtime's models, by the runtime's name; nil: none.
	Providers func(name string) []environment.ProviderStatus
	// Absent lists the agents that the server could drive if they were installed; nil: none.
	Absent func() []AbsentAgent
	// Searching finds titles and entries. Required for Service.Search.
	Searching Searching
	// Events lists events. Required for Service.Events and Service.Event.
	Events Events
	// Uploads stores pictures for messages. Required for Service.Upload and messages that refer to uploads.
	Uploads     Uploads
	Suggestions SuggestionStore
	Suggester   Suggester
	WorkingTrees
	// Elsewhere carries out an operation at the node of a session, which refused (*session.NotOwnerError) names. If nil,
	// the sessions of other nodes below a session are skipped, and get no mail.
	Elsewhere func(ctx context.Context, refused error, in Errand) error
}

// WorkingTrees read the folders of sessions.
type WorkingTrees struct {
	// Changes compares folders with their earlier states; nil: they are not watched.
	Changes ChangeStore
	// Rewinds takes sessions back.
	Rewinds RewindStore
	// Files reads folders; nil: they are not shown.
	Files FileStore
	// Worktrees makes worktrees for sessions; nil where no session runs.
	Worktrees WorktreeStore
}

// Service executes client requests. Its parts are the subjects; a caller that needs one subject uses that part.
type Service struct {
	*Access
	*Opener
	*Reader
	*Editor
	*Turns
	*Threads
	*Queue
	*Family
	*Decider
	*Projects
	*ControlEditor
	*RuntimeAdmin
	*JobAdmin
	*History
	*Suggestions
	*Finder
	*Uploader
	*Changes
	*Rewinds
	*Files
	*Worktrees
	*Folders
	*Starter
}

// New creates a Service.
func New(o Options) *Service {
	access := &Access{lookups: o.Sessions.Lookups, jobs: o.Jobs, statuses: o.RuntimeStatus}
	runtimes := &RuntimeAdmin{access: access, runtimes: o.Runtimes, statuses: o.RuntimeStatus, providers: o.Providers,
		absent: o.Absent}
	reader := &Reader{access: access, store: o.Sessions.Reader}
	projects := &Projects{access: access, store: o.Sessions.Projects}
	pictures := Pictures{o.Uploads}
	family := &Family{access: access, store: o.Sessions.Lineage, queue: o.Sessions.Queue, sessions: o.Sessions.Editor, elsewhere: o.Elsewhere}
	service := &Service{
		Access: access,
		Opener: &Opener{NodeRules: o.Sessions.Opener, access: access, store: o.Sessions.Opener, runtimes: runtimes, projects: projects,
			worktrees: o.WorkingTrees.Worktrees},
		Reader:        reader,
		Editor:        &Editor{access: access, store: o.Sessions.Editor, family: family},
		Turns:         &Turns{access: access, store: o.Sessions.Turns, uploads: pictures, family: family},
		Family:        family,
		Rewinds:       &Rewinds{access: access, store: o.Rewinds},
		Threads:       &Threads{access: access, store: o.Sessions.Threads},
		Queue:         &Queue{access: access, store: o.Sessions.Queue, uploads: pictures},
		Decider:       &Decider{access: access, store: o.Sessions.Requests, runtimes: runtimes},
		Projects:      projects,
		ControlEditor: &ControlEditor{access: access, store: o.Controls, locked: o.DefaultsLocked},
		RuntimeAdmin:  runtimes,
		JobAdmin:      &JobAdmin{access: access, jobs: o.Jobs},
		History:       &History{events: o.Events, store: o.Sessions.Usage, prices: o.Sessions.Prices},
		Suggestions:   &Suggestions{access: access, store: o.Suggestions, suggester: o.Suggester},
		Finder:        &Finder{index: o.Searching},
		Uploader:      &Uploader{access: access, uploads: o.Uploads},
		Changes:       &Changes{access: access, store: o.Changes, origins: o.Sessions.Origins, files: o.Files},
		Files:         &Files{access: access, store: o.Files},
		Worktrees:     &Worktrees{reader: reader, store: o.WorkingTrees.Worktrees},
		Folders:       &Folders{reader: reader, projects: projects, store: o.Sessions.Folders},
	}
	family.opener = service.Opener
	service.Starter = &Starter{opener: service.Opener, turns: service.Turns, reader: reader}
	return service
}

// after calls do unless a check refused the operation.
func after[T any](refused error, do func() (T, error)) (T, error) {
	if refused != nil {
		var none T
		return none, refused
	}
	return do()
}
