// Package confine starts a program that cannot see certain files.
//
// A coding agent runs commands that a model chooses. The agent's own sandbox limits writes, but allows reads of
// nearly everything its user can read, such as the server's database and settings. This package gives the program a
// view of the file system (a mount namespace) without those files. It owns the creation of that view, and the check
// whether this machine allows it. It must never know the purpose of a hidden file.
//
// The view needs a step between the parent and the program. The parent starts Command (this binary, as its stage)
// with Attributes. The stage makes the view and becomes the program (Run). Process id, pipes and environment do not
// change.
//
// The stage can also put the program behind a Fence: TCP ports to which neither the program nor its children can
// connect, for any owner of the sockets and any form of the call. The kernel enforces it, and no process can leave
// it.
package confine

import (
	"encoding/json"
	"errors"
	"fmt"
)

// Plan lists the files that a program must not see or change. All paths are absolute and without symbolic links.
type Plan struct {
	// Hide are folders and files that appear empty and cannot be written. Missing ones are skipped.
	Hide []string `json:"hide,omitempty"`
	// Keep are paths inside hidden folders that stay visible.
	Keep []string `json:"keep,omitempty"`
	// Protect are read-only folders and files. Missing ones are skipped.
	Protect []string `json:"protect,omitempty"`
	// Fence blocks connections of the program to TCP ports; nil blocks none.
	Fence *Fence `json:"fence,omitempty"`
	// UserNamespace makes the view inside a user namespace, see Probe.
	UserNamespace bool `json:"userNamespace,omitempty"`
	// UID and GID are the user and group of the program when User is set, for a parent that is root. Groups are its
	// supplementary groups.
	User   bool     `json:"user,omitempty"`
	UID    uint32   `json:"uid,omitempty"`
	GID    uint32   `json:"gid,omitempty"`
	Groups []uint32 `json:"groups,omitempty"`
}

// Empty reports whether a plan changes nothing.
func (p Plan) Empty() bool { return p.viewless() && !p.User && p.Fence == nil }

// viewless reports whether a plan needs no mount namespace, and so no rights for one. A fence needs none.
func (p Plan) viewless() bool { return len(p.Hide) == 0 && len(p.Protect) == 0 }

// ErrUnsupported means that this machine, or its container, does not allow such a view.
var ErrUnsupported = errors.New("files cannot be hidden from a program here")

// ErrNoFence means that this machine, or its container, cannot block ports for a program.
var ErrNoFence = errors.New("programs cannot be kept from TCP ports here")

// Command returns the command line that runs a program under a plan: the stage (the program, with its first
// arguments, that calls Run), then the arguments of Run.
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

// parse reads the output of Command: the plan, and the program's own command line.
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
