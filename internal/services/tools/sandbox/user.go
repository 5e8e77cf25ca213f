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

// User runs tools that keep to the workspace by themselves in a process of another user: that of the agents, so that a
// tool can do no more to files than they can, and what it makes is theirs. Make it with NewUser.
type User struct {
	program []string
	known   known
}

// NewUser makes the sandbox. program is this one with the arguments with which it becomes that user and is Child.
func NewUser(program ...string) *User { return &User{program: program} }

// Name implements tools.Sandbox.
func (u *User) Name() string { return UserName }

// Confinement implements tools.Sandbox.
func (u *User) Confinement(limits tools.Limits) tools.Confinement {
	return tools.Confinement{Kind: UserName, Network: limits.Network}
}

// Check implements tools.Sandbox: a process is started as for a call, and has to speak.
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

// Become makes this process that of another user, for good. It needs root.
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
