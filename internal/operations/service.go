// Package operations is what a client may ask of the server, whatever protocol it asks in: REST, JSON-RPC, the task API
// and the command line call the same methods.
//
// It owns the rules a client meets: which sessions an operation may be done on, which parts of a request go together,
// what is taken when a client names nothing. Errors are typed; a protocol only words them. It must never know HTTP, a
// wire name or a runtime's protocol. What the server itself wants (job workers, extensions) is asked of the packages
// below, where these rules are not met.
package operations

import (
	"harness/internal/runtime/environment"
)

// Sessions is all that the operations need of sessions. *session.Service implements it. Each subject has the part of it
// that it uses.
type Sessions interface {
	Lookups
	OpenerStore
	ReaderStore
	EditorStore
	TurnStore
	ThreadStore
	QueueStore
	RequestStore
	ProjectStore
	UsageStore
}

// Options are the parts a Service stands on. Sessions and Controls are required.
type Options struct {
	Sessions Sessions
	Controls Controls
	// Runtimes are those sessions run in; nil: there are none.
	Runtimes Runtimes
	// RuntimeStatus is what is said of runtimes, by name; those it does not name are active.
	RuntimeStatus map[string]RuntimeStatus
	// DefaultsLocked refuses to change the controls of new sessions (*LockedError).
	DefaultsLocked bool
	// Jobs is the job queue, Suggestions keeps suggested requests, Suggester has them made. nil: ErrQueueOff.
	Jobs Jobs
	// Providers tells the clouds in which a runtime can reach its models, by the runtime's name; nil tells none.
	Providers func(name string) []environment.ProviderStatus
	// Searching finds titles and entries. Required where Service.Search is called.
	Searching Searching
	// Events lists what happened. Required where Service.Events and Service.Event are called.
	Events Events
	// Uploads keeps pictures for messages. Required where Service.Upload is called, and messages name them.
	Uploads     Uploads
	Suggestions SuggestionStore
	Suggester   Suggester
}

// Service carries out what clients ask for. Its parts are the subjects; a caller that needs one subject takes that part.
type Service struct {
	*Access
	*Opener
	*Reader
	*Editor
	*Turns
	*Threads
	*Queue
	*Decider
	*Projects
	*ControlEditor
	*RuntimeAdmin
	*JobAdmin
	*History
	*Suggestions
	*Finder
	*Uploader
}

// New makes a Service.
func New(o Options) *Service {
	access := &Access{lookups: o.Sessions, jobs: o.Jobs, statuses: o.RuntimeStatus}
	runtimes := &RuntimeAdmin{access: access, runtimes: o.Runtimes, statuses: o.RuntimeStatus, providers: o.Providers}
	projects := &Projects{access: access, store: o.Sessions}
	pictures := Pictures{o.Uploads}
	return &Service{
		Access:        access,
		Opener:        &Opener{access: access, store: o.Sessions, runtimes: runtimes, projects: projects},
		Reader:        &Reader{access: access, store: o.Sessions},
		Editor:        &Editor{access: access, store: o.Sessions},
		Turns:         &Turns{access: access, store: o.Sessions, uploads: pictures},
		Threads:       &Threads{access: access, store: o.Sessions},
		Queue:         &Queue{access: access, store: o.Sessions, uploads: pictures},
		Decider:       &Decider{access: access, store: o.Sessions, runtimes: runtimes},
		Projects:      projects,
		ControlEditor: &ControlEditor{access: access, store: o.Controls, locked: o.DefaultsLocked},
		RuntimeAdmin:  runtimes,
		JobAdmin:      &JobAdmin{access: access, jobs: o.Jobs},
		History:       &History{events: o.Events, store: o.Sessions},
		Suggestions:   &Suggestions{access: access, store: o.Suggestions, suggester: o.Suggester},
		Finder:        &Finder{index: o.Searching},
		Uploader:      &Uploader{access: access, uploads: o.Uploads},
	}
}

// after does something unless a check refused it.
func after[T any](refused error, do func() (T, error)) (T, error) {
	if refused != nil {
		var none T
		return none, refused
	}
	return do()
}
