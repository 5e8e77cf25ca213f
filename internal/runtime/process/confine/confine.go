// Package confine starts a program that cannot see certain files.
//
// A coding agent runs what a model asks for. Its own sandbox bounds what it writes, but lets it read nearly everything
// its user can read, such as the server's database and settings. Here the program gets a view of the file system (a
// mount namespace) in which those are not there. It owns how that view is made and how it is found out whether this
// machine allows it; it must never know what is hidden or why.
//
// Making the view takes a step between the parent and the program: the parent starts Command (this binary, as its
// stage), with Attributes; the stage makes the view and becomes the program (Run). Process id, pipes and environment
// stay what they were.
//
// The stage can also put the program behind a Fence: TCP ports to which neither the program nor anything it starts can
// connect, whichever user owns the sockets and however the call is spelled. The kernel keeps it, and no process can leave it.
package confine

import (
	"encoding/json"
	"errors"
	"fmt"
)

// Plan says what a program does not get to see or to change. All paths are absolute and without symbolic links.
type Plan struct {
	// Hide are folders and files. A folder is empty, a file is empty, and neither can be written. What does not exist is
	// passed over.
	Hide []string `json:"hide,omitempty"`
	// Keep are paths inside of hidden folders that stay what they are.
	Keep []string `json:"keep,omitempty"`
	// Protect are folders and files that can be read and not changed. What does not exist is passed over.
	Protect []string `json:"protect,omitempty"`
	// Fence keeps the program from TCP ports, nil from none.
	Fence *Fence `json:"fence,omitempty"`
	// UserNamespace makes the view inside of a user namespace, see Probe.
	UserNamespace bool `json:"userNamespace,omitempty"`
	// UID and GID are the user and group of the program when User is set, for a parent that is root. Groups are its
	// further groups.
	User   bool     `json:"user,omitempty"`
	UID    uint32   `json:"uid,omitempty"`
	GID    uint32   `json:"gid,omitempty"`
	Groups []uint32 `json:"groups,omitempty"`
}

// Empty reports whether a plan asks for nothing.
func (p Plan) Empty() bool { return p.viewless() && !p.User && p.Fence == nil }

// viewless reports that a plan needs no view of its own, and so none of the rights one takes. A fence needs none.
func (p Plan) viewless() bool { return len(p.Hide) == 0 && len(p.Protect) == 0 }

// ErrUnsupported means that this machine, or the container it is, does not allow such a view.
var ErrUnsupported = errors.New("files cannot be hidden from a program here")

// ErrNoFence means that this machine, or the container it is, cannot keep a program from ports.
var ErrNoFence = errors.New("programs cannot be kept from TCP ports here")

// Command is the command line that runs a program under a plan: the stage (the program and first arguments that call
// Run), then what Run reads.
func Command(stage []string, plan Plan, path string, args []string) ([]string, error) {
	if len(stage) == 0 {
		return nil, errors.New("no stage to confine a program with")
	}
	text, err := json.Marshal(plan)
	if err != nil {
		return nil, err
	}
	return append(append(append([]string{}, stage...), string(text), path), args...), nil
}

// parse reads what Command wrote: the plan, and the program's own command line.
func parse(args []string) (Plan, []string, error) {
	if len(args) < 2 {
		return Plan{}, nil, errors.New("a plan and a program are needed")
	}
	var plan Plan
	if err := json.Unmarshal([]byte(args[0]), &plan); err != nil {
		return Plan{}, nil, fmt.Errorf("the plan is not readable: %w", err)
	}
	return plan, args[1:], nil
}
