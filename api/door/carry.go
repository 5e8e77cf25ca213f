package door

import (
	"context"
	"runtime/debug"
	"slices"
	"strconv"

	"harness/api/calls"
	"harness/api/rest"
	"harness/internal/operations"
	"harness/internal/platform/auth"
	"harness/internal/platform/telemetry"
	"harness/internal/services/audit"
)

// Role is the role that a caller needs for a method.
type Role string

// The roles of methods. Only an operator changes something.
const (
	RoleViewer   Role = "viewer"
	RoleOperator Role = "operator"
)

// Decides reports whether the caller may decide requests; only such a caller gets them.
func (c *Caller) Decides() bool {
	return slices.Contains([]auth.Role{auth.RoleOwner, auth.RoleSystem, auth.RoleAdmin, auth.RoleOperator}, c.Principal.Role)
}

// MayCall reports whether the caller's role is sufficient. An agent never gets here.
func (c *Caller) MayCall(needs Role) bool {
	return c.Decides() || c.Principal.Role == auth.RoleMember && needs == RoleViewer
}

// Attempt is one request that a caller makes.
type Attempt struct {
	Protocol, Method string
	Role             Role
	// Agent means that the door lets the caller do it as the agent of a session.
	Agent bool
	// Ready means that the client has initialized, or does so now.
	Ready bool
	// Reads, when set, delays the answer to a viewer's method.
	Reads rest.Reads
	// Run carries it out; Failed converts its error.
	Run    func(ctx context.Context) (any, error)
	Failed func(ctx context.Context, err error) *Failure
}

// CarryOut runs a request if the caller may make it. A panic is an internal error.
func (c *Caller) CarryOut(ctx context.Context, a Attempt) (result any, failed *Failure) {
	defer func() {
		if cause := recover(); cause != nil {
			telemetry.Log(ctx).Error().Interface("panic", cause).Bytes("stack", debug.Stack()).Str("method", a.Method).
				Str("protocol", a.Protocol).Msg("a handler of a front end panicked")
			result, failed = nil, &Failure{Code: CodeInternal, Message: "Internal error"}
		}
	}()
	if !a.Agent && !c.MayCall(a.Role) {
		return nil, &Failure{Code: CodeForbidden, Message: "a token with the role " + c.Principal.Role.Word() + " may not do this: " + a.Method}
	}
	if !a.Ready {
		return nil, &Failure{Code: CodeInvalidRequest, Message: "Not initialized"}
	}
	if a.Reads != nil && a.Role == RoleViewer {
		ctx = a.Reads.Reading(ctx)
		defer func() {
			if err := a.Reads.Settled(ctx); err != nil {
				result, failed = nil, a.Failed(ctx, err)
			}
		}()
	}
	result, err := a.Run(ctx)
	if err != nil {
		return nil, a.Failed(ctx, err)
	}
	return result, nil
}

// NotOffered is the failure of a method that a door does not carry out; reason may be "".
func NotOffered(method, reason string) *Failure {
	if reason != "" {
		reason = ": " + reason
	}
	return &Failure{Code: CodeNotOffered, Message: "not offered by this server: " + method + reason}
}

// Record records a request about a session.
func (c *Caller) Record(ctx context.Context, a Attempt, session string, failed *Failure) {
	about := audit.Call{Protocol: a.Protocol, Route: a.Method, SessionID: session, Outcome: "ok"}
	if failed != nil {
		about.Outcome, about.Code = "refused", strconv.Itoa(failed.Code)
		if failed.Code == CodeInternal {
			about.Outcome = "failed"
		}
	}
	calls.Record(ctx, c.Principal, about)
}

// FailureOf converts an error of an operation. A wrong request gets the code invalid. A server fault is logged, and the
// client gets no other details of it.
func (a Attempt) FailureOf(ctx context.Context, err error, invalid int) *Failure {
	f := operations.Classify(err)
	switch {
	case f.Native != nil:
		return &Failure{Code: f.Native.Code, Message: f.Native.Message}
	case f.Code == operations.CodeInternal:
		if ctx.Err() == nil {
			telemetry.Log(ctx).Error().Err(err).Str("method", a.Method).Str("protocol", a.Protocol).Msg("a request of a front end failed")
		}
		return &Failure{Code: CodeInternal, Message: "Internal error"}
	}
	failed := &Failure{Code: invalid, Message: f.Message, Data: map[string]any{"code": f.Code}}
	if f.Code == operations.CodeOwnerAnswerLost {
		failed.Code = CodeInternal // it may have been done
	}
	if f.Retry {
		failed.Code = CodeInternal
		failed.Data = map[string]any{"code": f.Code, "retry_after_ms": max(1000, f.RetryAfter.Milliseconds())}
	}
	if failed.Message == "" {
		failed.Message = err.Error()
	}
	return failed
}
