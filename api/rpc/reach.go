package rpc

import (
	"context"

	"harness/internal/operations"
	"harness/internal/platform/auth"
)

// checkReach refuses who is limited to projects what belongs to none of them: a session or workspace that is named as if
// it were not there, and every method that names neither and is not known to keep to the limit by itself.
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
	if c.method.name == "workspace/update" { // it calls it so
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
	return &operations.LimitedError{Reason: c.method.name + " is about none of them"}
}

// keepsToReach names the methods that need no session or workspace, and show what is within the limit alone.
func keepsToReach(method string) bool {
	switch method {
	case methodInitialize, "initialized", "shutdown", "rpc.discover", "status/health", "session/active", "session/list",
		"session/unwatch", "workspace/session/unwatch", "workspace/list", "workspace/subscriptions", "workspace/subscribeAll",
		"events/resume", "permission/pending", "permission/respond", "permission/stats":
		return true
	}
	return false
}
