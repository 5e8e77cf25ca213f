// Package callers tells which TCP connections to a server come from inside of the runtimes that the server keeps.
//
// What an agent runs may use the network and then reaches the server like any other program of this machine, without a
// name or a token to know it by. The kernel knows which process holds the other end of a connection, and processes know
// their parents. The package owns that look-up; it must never know what a caller may do.
package callers

// Caller is who holds the other end of a connection.
type Caller struct {
	// Inside tells that it is a process that a runtime started, or the runtime.
	Inside bool
	// PID is the process right below the runtime in whose tree the caller is: what the runtime started. It is the
	// runtime's own id when the runtime itself calls, and 0 when the caller could not be found any more.
	PID int
	// Runtime is the one of the given processes in whose tree the caller is, 0 when PID is.
	Runtime int
}

// Finder looks callers up. Use New.
type Finder struct {
	runtimes func() []int
	looking  chan struct{} // held by who looks at the processes
	last     chan *look    // the newest look, one value
}

// New makes a Finder. runtimes are the process ids of the runtimes that live and of the processes that keep them; it is
// called for each look.
func New(runtimes func() []int) *Finder {
	f := &Finder{runtimes: runtimes, looking: make(chan struct{}, 1), last: make(chan *look, 1)}
	f.last <- nil
	return f
}
