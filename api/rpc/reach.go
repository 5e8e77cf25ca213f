package rpc

import (
	"context"

	"harness/internal/operations"
	"harness/internal/platform/auth"
)

// checkReach refuses calls outside the projects of a project-limited caller. A named session or workspace looks as if
// it did not exist. It refuses a method that names neither, unless the method enforces the limit itself.
func (c *call) checkReach(ctx context.Context) error {
	if auth.ProjectsFrom(ctx) == nil {
		return nil
	}
	named := false
	if space := c.text("workspace_id"); space != "" {
		if err := c.ops().CheckProject(ctx, space); err != nil {
			return err
		}
		named = true
	}
	if c.method.name == "workspace/update" { // clients use this name for it
		return c.ops().CheckProject(ctx, c.text("id"))
	}
	for _, name := range []string{"session_id", "resume_session_id"} {
		id := c.text(name)
		if id == "" {
			continue
		}
		real, err := c.ops().RealID(ctx, id)
		if err == nil {
			err = c.ops().CheckSession(ctx, real)
		}
		if err != nil {
			return err
		}
		named = true
	}
	if named || keepsToReach(c.method.name) {
		return nil
	}
	return &operations.LimitedError{Reason: c.method.name + " is for none of them"}
}

// keepsToReach lists the methods that need no session or workspace and show only objects within the limit.
func keepsToReach(method string) bool {
	switch method {
	case methodInitialize, "initialized", "shutdown", "rpc.discover", "status/health", "session/active", "session/list",
		"session/unwatch", "workspace/session/unwatch", "workspace/list", "workspace/subscriptions", "workspace/subscribeAll",
		"events/resume", "permission/pending", "permission/respond", "permission/stats":
		return true
	}
	return false
}
