package operations

import (
	"context"
	"encoding/json"
	"errors"
	"maps"

	"harness/internal/services/session"
)

// Controls has the methods for controls and settings that ControlEditor needs. *session.Service implements it.
type Controls interface {
	// Controls returns a session's controls and the defaults of new sessions.
	Controls(ctx context.Context, sessionID string) (controls, defaults session.Controls, err error)
	// Defaults returns the defaults of new sessions.
	Defaults(ctx context.Context) (session.Controls, error)
	// EditDefaults replaces the defaults with the result of edit, atomically.
	EditDefaults(ctx context.Context, edit func(session.Controls) session.Controls) (next session.Controls, changed bool,
		err error)
	// EditControls replaces the session's controls, or with defaults set the defaults of new sessions, with the
	// result of edit. It is atomic: nothing changes between edit's input and the write.
	EditControls(ctx context.Context, sessionID string, edit session.ControlEdit) (session.ControlChange, error)
}

// ControlEditor reads and changes the controls of turns.
type ControlEditor struct {
	access *Access
	store  Controls
	locked bool
}

// Scope selects the controls: a session's own, or the defaults of new sessions.
type Scope string

// The scopes of controls and settings.
const (
	ScopeSession Scope = "session"
	ScopeDefault Scope = "default"
)

// Audit names the user who changes controls and the client, as clients report them. An empty Actor is "user".
type Audit struct{ Actor, Source string }

// entry returns the audit for the transcript; through is the source of a client that names none.
func (a Audit) entry(through string) *session.ControlAudit {
	audit := &session.ControlAudit{Actor: "user", Source: through}
	if a.Actor != "" {
		audit.Actor = a.Actor
	}
	if a.Source != "" {
		audit.Source = a.Source
	}
	return audit
}

// DefaultsLocked reports whether only the configuration may change the defaults of new sessions.
func (s *ControlEditor) DefaultsLocked() bool { return s.locked }

// Controls returns a session's controls and the defaults of new sessions.
func (s *ControlEditor) Controls(ctx context.Context, sessionID string) (controls, defaults session.Controls, err error) {
	if err := s.access.Check(ctx, ReadControls, sessionID); err != nil {
		return session.Controls{}, session.Controls{}, err
	}
	controls, defaults, err = s.store.Controls(ctx, sessionID)
	return withSettings(controls), withSettings(defaults), err
}

// Defaults returns the defaults of new sessions.
func (s *ControlEditor) Defaults(ctx context.Context) (session.Controls, error) {
	defaults, err := s.store.Defaults(ctx)
	return withSettings(defaults), err
}

// Change is the result of an edit: both controls afterwards.
type Change struct {
	Scope Scope
	session.ControlChange
}

// Applied returns the controls of the edited scope.
func (c Change) Applied() session.Controls {
	if c.Scope == ScopeDefault {
		return c.Defaults
	}
	return c.Controls
}

// SetControls replaces the controls of a scope; nil Settings keep the current ones. *LockedError,
// *session.SettingsLimitError, *runtime.ControlError.
func (s *ControlEditor) SetControls(ctx context.Context, sessionID string, scope Scope, next session.Controls, audit Audit) (
	Change, error) {
	if err := audit.check(); err != nil {
		return Change{}, err
	}
	next.Model = named(next.Model)
	return s.edit(ctx, sessionID, scope, audit.entry("ui"), replaceBy(next))
}

// replaceBy returns the edit that preserves controls which clients do not name.
func replaceBy(next session.Controls) func(session.Controls) session.Controls {
	return func(current session.Controls) session.Controls {
		replaced := next
		if replaced.Settings == nil {
			replaced.Settings = current.Settings
		}
		replaced.AcceptEdits = current.AcceptEdits // while the approval policy stays
		replaced.NonInteractive, replaced.NativeTools = current.NonInteractive, current.NativeTools
		return replaced
	}
}

// SetDefaults replaces the defaults of new sessions; nil Settings keep the current ones. *LockedError,
// *session.SettingsLimitError.
func (s *ControlEditor) SetDefaults(ctx context.Context, next session.Controls) (now session.Controls, changed bool, err error) {
	if err := checkScope(ctx, ScopeDefault); err != nil {
		return session.Controls{}, false, err
	}
	next.Model = named(next.Model)
	now, changed, err = s.store.EditDefaults(ctx, replaceBy(next))
	if errors.Is(err, session.ErrDefaultsLocked) {
		if now, err = s.Defaults(ctx); err == nil {
			err = &LockedError{Defaults: now}
		}
	}
	return withSettings(now), changed, err
}

// SetApprovalPolicy changes one of a session's controls, without an entry in its transcript.
func (s *ControlEditor) SetApprovalPolicy(ctx context.Context, sessionID, policy string) error {
	_, err := s.edit(ctx, sessionID, ScopeSession, nil, func(current session.Controls) session.Controls {
		current.ApprovalPolicy = policy
		return current
	})
	return err
}

// Permissions define how much a session's agent may do without approval; nil parts stay.
type Permissions struct {
	ApprovalPolicy, FilesystemSandbox *string
	// AcceptEdits makes the server approve file changes itself; it requires the approval policy on-request.
	AcceptEdits *bool
}

// SetPermissions changes these controls of a session. *runtime.ControlError.
func (s *ControlEditor) SetPermissions(ctx context.Context, sessionID string, next Permissions, audit Audit) error {
	if err := audit.check(); err != nil {
		return err
	}
	_, err := s.edit(ctx, sessionID, ScopeSession, audit.entry("ui"), func(current session.Controls) session.Controls {
		if next.ApprovalPolicy != nil {
			current.ApprovalPolicy = *next.ApprovalPolicy
		}
		if next.FilesystemSandbox != nil {
			current = current.WithSandbox(*next.FilesystemSandbox)
		}
		if next.AcceptEdits != nil {
			current.AcceptEdits = *next.AcceptEdits
		}
		return current
	})
	return err
}

// Settings returns the settings of a scope.
func (s *ControlEditor) Settings(ctx context.Context, sessionID string, scope Scope) (map[string]json.RawMessage, error) {
	controls, defaults, err := s.Controls(ctx, sessionID)
	if err == nil {
		err = checkScope(ctx, scope)
	}
	if err != nil {
		return nil, err
	}
	if scope == ScopeDefault {
		return defaults.Settings, nil
	}
	return controls.Settings, nil
}

// SettingsEdit is a change of settings: one Key with its Value, or several Settings, which are merged into the
// current ones or, with Replace, replace them.
type SettingsEdit struct {
	Key      *string
	Value    json.RawMessage
	Settings map[string]json.RawMessage
	Replace  bool
}

// check refuses invalid combinations: *PartsError.
func (e SettingsEdit) check() error {
	key, value, settings := e.Key != nil, e.Value != nil, e.Settings != nil
	switch {
	case !key && !value && !settings:
		return &PartsError{"settings payload must include {settings} or {key,value}"}
	case settings && (key || value):
		return &PartsError{"settings payload must use either {settings} or {key,value}, not both"}
	case !settings && (!key || !value):
		return &PartsError{"key and value are required when updating a single settings entry"}
	}
	return nil
}

// merged returns the settings after the edit.
func (e SettingsEdit) merged(current map[string]json.RawMessage) map[string]json.RawMessage {
	switch {
	case e.Key != nil:
		current[*e.Key] = e.Value
	case e.Replace:
		return maps.Clone(e.Settings)
	default:
		maps.Copy(current, e.Settings)
	}
	return current
}

// EditSettings changes settings of a scope. *PartsError, *LockedError, *session.SettingsLimitError.
func (s *ControlEditor) EditSettings(ctx context.Context, sessionID string, scope Scope, edit SettingsEdit, audit Audit) (
	Change, error) {
	if err := s.access.Check(ctx, EditControls, sessionID); err != nil {
		return Change{}, err
	}
	if err := edit.check(); err != nil {
		return Change{}, err
	}
	if edit.Key != nil {
		if err := checkText("key", *edit.Key, MaxSettingKey); err != nil {
			return Change{}, err
		}
	}
	return s.editSettings(ctx, sessionID, scope, audit, edit.merged)
}

// DeleteSetting removes one setting of a scope; errors as for EditSettings.
func (s *ControlEditor) DeleteSetting(ctx context.Context, sessionID string, scope Scope, key string, audit Audit) (
	Change, error) {
	if err := s.access.Check(ctx, EditControls, sessionID); err != nil {
		return Change{}, err
	}
	return s.editSettings(ctx, sessionID, scope, audit,
		func(current map[string]json.RawMessage) map[string]json.RawMessage {
			delete(current, key)
			return current
		})
}

func (s *ControlEditor) editSettings(
	ctx context.Context, sessionID string, scope Scope, audit Audit,
	edit func(map[string]json.RawMessage) map[string]json.RawMessage,
) (Change, error) {
	if err := audit.check(); err != nil {
		return Change{}, err
	}
	return s.apply(ctx, sessionID, scope, audit.entry("api"), func(current session.Controls) session.Controls {
		current.Settings = edit(maps.Clone(withSettings(current).Settings))
		return current
	})
}

// edit is apply for callers that have not checked the session yet.
func (s *ControlEditor) edit(
	ctx context.Context, sessionID string, scope Scope, audit *session.ControlAudit,
	edit func(session.Controls) session.Controls,
) (Change, error) {
	if err := s.access.Check(ctx, EditControls, sessionID); err != nil {
		return Change{}, err
	}
	return s.apply(ctx, sessionID, scope, audit, edit)
}

// apply edits the controls of a scope, unless they are locked.
func (s *ControlEditor) apply(
	ctx context.Context, sessionID string, scope Scope, audit *session.ControlAudit,
	edit func(session.Controls) session.Controls,
) (Change, error) {
	if err := checkScope(ctx, scope); err != nil {
		return Change{}, err
	}
	var changed session.ControlChange
	err := session.ErrDefaultsLocked
	if scope != ScopeDefault || !s.locked {
		changed, err = s.store.EditControls(ctx, sessionID,
			session.ControlEdit{Defaults: scope == ScopeDefault, Audit: audit, Edit: edit})
	}
	if errors.Is(err, session.ErrDefaultsLocked) {
		controls, defaults, err := s.store.Controls(ctx, sessionID)
		if err != nil {
			return Change{}, err
		}
		return Change{}, &LockedError{SessionID: sessionID, Controls: withSettings(controls),
			Defaults: withSettings(defaults)}
	}
	changed.Controls, changed.Defaults = withSettings(changed.Controls), withSettings(changed.Defaults)
	return Change{Scope: scope, ControlChange: changed}, err
}

// withSettings makes settings an object, so that they are never null.
func withSettings(c session.Controls) session.Controls {
	if c.Settings == nil {
		c.Settings = map[string]json.RawMessage{}
	}
	return c
}
