package sandbox

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"syscall"

	"harness/internal/services/tools"
)

// UserName is the sandbox's name in events.
const UserName = "user"

// User runs tools that limit themselves to the workspace in a process of the agents' user. So a tool has no more access
// to files than the agents, and they own the files it creates. Make it with NewUser.
type User struct {
	program []string
	known   known
}

// NewUser makes the sandbox. program is this program with the arguments that make it switch to that user and run Child.
func NewUser(program ...string) *User { return &User{program: program} }

// Name implements tools.Sandbox.
func (u *User) Name() string { return UserName }

// Confinement implements tools.Sandbox.
func (u *User) Confinement(limits tools.Limits) tools.Confinement {
	return tools.Confinement{Kind: UserName, Network: limits.Network}
}

// Check implements tools.Sandbox: it starts a process as for a call, which must report that it is ready.
func (u *User) Check(ctx context.Context) error {
	return u.known.check(func() error {
		if err := (held{command: u.program}).try(ctx); err != nil {
			return fmt.Errorf("a tool cannot be started as the user of the agents: %w", err)
		}
		return nil
	})
}

// Run implements tools.Sandbox.
func (u *User) Run(ctx context.Context, _ tools.Tool, job tools.Job, limits tools.Limits) (json.RawMessage, error) {
	if err := u.Check(ctx); err != nil {
		return nil, err
	}
	said := map[string]io.Writer{"stdout": job.Stdout, "stderr": job.Stderr}
	return held{command: u.program}.converse(ctx, &assignment{rand.Text(), job, limits}, said)
}

// Become switches this process permanently to another user. It needs root.
func Become(uid, gid uint32, groups []uint32) error {
	ids := make([]int, len(groups))
	for i, id := range groups {
		ids[i] = int(id)
	}
	if err := syscall.Setgroups(ids); err != nil {
		return fmt.Errorf("leave the groups of the server: %w", err)
	}
	if err := syscall.Setgid(int(gid)); err != nil {
		return fmt.Errorf("leave the group of the server: %w", err)
	}
	if err := syscall.Setuid(int(uid)); err != nil {
		return fmt.Errorf("become user %d: %w", uid, err)
	}
	return nil
}
