package extensions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/rs/zerolog"

	"harness/extensions/sdk"
)

// invocation implements the tools of one handler run; after the run every call is refused.
type invocation struct {
	registry *Registry
	binding  *binding
	event    *Event
	scope    Scope
	open     atomic.Bool
}

var errLate = errors.New(LateCall)

// EnqueueJob implements Tools. In trust mode enforced, the manifest must declare queue.enqueue, as for the action of
// that name.
func (t *invocation) EnqueueJob(ctx context.Context, input json.RawMessage) (json.RawMessage, error) {
	if !t.open.Load() {
		return nil, errLate
	}
	r := t.registry
	allowed, reason := mayAct(r.opts.Trust.Mode, t.binding.extension, t.binding.declared, sdk.ActionQueueEnqueue)
	if !allowed {
		return nil, errors.New(reason)
	}
	if reason != "" {
		r.opts.Logger.Warn().Str("module", t.binding.moduleName).Msg(reason)
	}
	if r.opts.Jobs == nil {
		return nil, errors.New("orchestrator queue is unavailable")
	}
	var job sdk.EnqueueInput
	if err := json.Unmarshal(input, &job); err != nil {
		return nil, fmt.Errorf("enqueueJob needs {type, projectId, sourceSessionId?, payload}: %w", err)
	}
	if err := t.within(t.scope.JobOutside(job)); err != nil {
		return nil, err
	}
	switch allowed, reason := r.mayInstruct(t.binding.moduleName, job); {
	case !allowed:
		return nil, errors.New(reason)
	case reason != "":
		r.opts.Logger.Warn().Str("module", t.binding.moduleName).Msg(reason)
	}
	outcome, err := r.opts.Jobs.EnqueueJob(ctx, job)
	if err != nil {
		return nil, err
	}
	return encode(outcome), nil
}

// within refuses calls outside the event's scope in trust mode enforced, as for actions; codex-manager's tools have no
// scope.
func (t *invocation) within(problem string) error {
	if problem == "" || t.registry.opts.Trust.Mode != TrustEnforced {
		return nil
	}
	return fmt.Errorf("scope_mismatch: %s", problem)
}

// HasSettings implements Tools.
func (t *invocation) HasSettings() bool { return t.registry.opts.Settings != nil }

// GetSessionSettings implements Tools.
func (t *invocation) GetSessionSettings(ctx context.Context, sessionID string) (json.RawMessage, error) {
	settings, err := t.settings(ctx, sessionID)
	if err != nil {
		return nil, err
	}
	return encode(settings), nil
}

// GetSessionSetting implements Tools.
func (t *invocation) GetSessionSetting(ctx context.Context, sessionID, key string) (json.RawMessage, error) {
	settings, err := t.settings(ctx, sessionID)
	if err != nil {
		return nil, err
	}
	return settings[key], nil
}

func (t *invocation) settings(ctx context.Context, sessionID string) (map[string]json.RawMessage, error) {
	if !t.open.Load() {
		return nil, errLate
	}
	if t.registry.opts.Settings == nil {
		return nil, errNoSettings
	}
	if err := t.within(Outside("session", t.scope.SessionID, sessionID)); err != nil {
		return nil, err
	}
	settings, err := t.registry.opts.Settings.SessionSettings(ctx, sessionID)
	if err != nil {
		return nil, err
	}
	if settings == nil {
		settings = map[string]json.RawMessage{}
	}
	return settings, nil
}

// Log implements Tools.
func (t *invocation) Log(level string, fields json.RawMessage, message string) {
	parsed, err := zerolog.ParseLevel(level)
	if err != nil || parsed < zerolog.DebugLevel || parsed > zerolog.ErrorLevel {
		parsed = zerolog.InfoLevel
	}
	line := t.registry.opts.Logger.WithLevel(parsed).Str("module", t.binding.moduleName).Str("event", t.event.Type)
	if len(fields) > 0 && json.Valid(fields) {
		line = line.RawJSON("fields", fields)
	}
	line.Msg(message)
}
