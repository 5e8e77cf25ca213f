package session

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/transcript"
)

// ControlEdit is one change of controls.
type ControlEdit struct {
	// Defaults edits the controls new sessions start with instead of the session's own.
	Defaults bool
	// Edit makes the next controls of the current ones. It may run more than once and must not change what it is given.
	Edit func(Controls) Controls
	// Audit says who changes and through what; nil leaves no entry in the transcript.
	Audit *ControlAudit
}

// ControlAudit is the provenance of a change, as clients give it.
type ControlAudit struct{ Actor, Source string }

// ControlChange is the outcome of an edit: both controls as they are afterwards.
type ControlChange struct {
	Controls, Defaults Controls
	Changed            bool
}

// Summary is controls in one line, as clients and audit entries show them.
func (c Controls) Summary() string {
	model := "default"
	if c.Model != nil {
		model = *c.Model
	}
	return strings.Join([]string{model, c.ApprovalPolicy, c.NetworkAccess, c.FilesystemSandbox,
		"settings:" + strconv.Itoa(len(c.Settings))}, " | ")
}

// Equal compares controls; settings are the same when they are the same JSON values, whatever the order of their
// members.
func (c Controls) Equal(other Controls) bool {
	if c.model() != other.model() || (c.Model == nil) != (other.Model == nil) ||
		c.ApprovalPolicy != other.ApprovalPolicy ||
		c.NetworkAccess != other.NetworkAccess || c.FilesystemSandbox != other.FilesystemSandbox ||
		c.AcceptEdits != other.AcceptEdits || c.NonInteractive != other.NonInteractive || c.NativeTools != other.NativeTools ||
		c.NetworkBefore != other.NetworkBefore {
		return false
	}
	return maps.EqualFunc(c.Settings, other.Settings, func(a, b json.RawMessage) bool {
		var left, right any
		if json.Unmarshal(a, &left) != nil || json.Unmarshal(b, &right) != nil {
			return string(a) == string(b)
		}
		return reflect.DeepEqual(left, right)
	})
}

// Controls reads a session's controls and those new sessions start with. *DeletedError, ErrNotFound.
func (s *Service) Controls(ctx context.Context, sessionID string) (controls, defaults Controls, err error) {
	_, controls, defaults, err = s.controlsIn(ctx, s.db.Read(), sessionID)
	return controls, defaults, err
}

// Defaults reads the controls new sessions start with.
func (s *Service) Defaults(ctx context.Context) (Controls, error) {
	return s.defaults(ctx, s.db.Read())
}

// EditDefaults is EditControls for the controls of new sessions where there is no session whose transcript tells of it:
// the audit log does. ErrDefaultsLocked, *SettingsLimitError.
func (s *Service) EditDefaults(ctx context.Context, edit func(Controls) Controls) (next Controls, changed bool, err error) {
	if s.opts.DefaultsLocked {
		return Controls{}, false, ErrDefaultsLocked
	}
	err = s.commit(ctx, func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		previous, err := s.defaults(ctx, tx)
		if err != nil {
			return nil, err
		}
		given := previous
		given.Settings = maps.Clone(previous.Settings)
		next = edit(given).complete()
		if err := checkSettings(previous.Settings, next.Settings); err != nil {
			return nil, journal.Refuse(err)
		}
		if changed = !next.Equal(previous); !changed {
			return nil, nil
		}
		return []journal.Event{{Type: eventDefaultsChanged, Time: s.now(), Source: source, Payload: encode(struct {
			Previous Controls `json:"previous"`
			Next     Controls `json:"next"`
		}{previous, next})}}, storeDefaults(ctx, tx, next)
	})
	return next, changed, err
}

func (s *Service) controlsIn(ctx context.Context, q database.Querier, sessionID string) (runtime string, controls,
	defaults Controls, err error) {
	stored, err := readSession(ctx, q, sessionID)
	if err != nil {
		return "", Controls{}, Controls{}, err
	}
	if defaults, err = s.defaults(ctx, q); err != nil {
		return "", Controls{}, Controls{}, err
	}
	session, err := stored.effective(s.defaultsFor(stored.Runtime, defaults))
	return stored.Runtime, session.Controls, defaults, err
}

// EditControls changes a session's controls, or with Defaults those of new sessions, in one step: nothing changes
// between the value Edit is given and the write. What comes out equal is neither written nor audited. A change is not
// announced on the stream; with an audit it is told by an entry in the transcript of the session, whichever the scope.
// *DeletedError, ErrNotFound, ErrDefaultsLocked, *SettingsLimitError, *runtime.ControlError for a level the session's
// runtime does not enforce, *BackgroundError for one it cannot take while background work runs.
func (s *Service) EditControls(ctx context.Context, sessionID string, edit ControlEdit) (ControlChange, error) {
	if edit.Defaults && s.opts.DefaultsLocked {
		return ControlChange{}, ErrDefaultsLocked
	}
	at, suffix := s.now(), uuid.New().String()[:8]
	var change ControlChange
	err := s.commit(ctx, func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		name, controls, defaults, err := s.controlsIn(ctx, tx, sessionID)
		if absent(err) {
			return nil, journal.Refuse(err)
		}
		if err != nil {
			return nil, err
		}
		target := &controls
		if edit.Defaults {
			target = &defaults
		}
		previous := *target
		given := previous
		given.Settings = maps.Clone(previous.Settings)
		*target = edit.Edit(given).complete()
		if err := checkSettings(previous.Settings, target.Settings); err != nil {
			return nil, journal.Refuse(err)
		}
		if !edit.Defaults {
			if err := s.checkChangedControls(name, previous, *target); err != nil {
				return nil, journal.Refuse(err)
			}
			if err := s.checkEditRestart(ctx, tx, sessionID, name, previous, *target); err != nil {
				return nil, err
			}
		}
		change = ControlChange{Controls: controls, Defaults: defaults, Changed: !target.Equal(previous)}
		if !change.Changed {
			return nil, nil
		}
		if edit.Defaults {
			err = storeDefaults(ctx, tx, defaults)
		} else {
			err = storeControls(ctx, tx, sessionID, controls)
		}
		if err != nil || edit.Audit == nil {
			return nil, err
		}
		entry := auditEntry(edit, previous, *target, at)
		entry.MessageID = fmt.Sprintf("session-controls-%d-%s", at, suffix)
		_, _, err = s.entries.Upsert(ctx, tx, sessionID, entry)
		return nil, err
	})
	return change, err
}

// MaxSettings and MaxSettingsBytes bound the settings of a session, and those of new sessions: all of them are stored
// anew with each change, twice more in the entry that tells of it.
const (
	MaxSettings      = 256
	MaxSettingsBytes = 128 << 10
)

// SettingsLimitError says that an edit would leave so many settings, and bytes of their names and values.
type SettingsLimitError struct{ Count, Bytes int }

// Error implements error.
func (e *SettingsLimitError) Error() string {
	return fmt.Sprintf(
		"there would be %d settings of %d bytes; at most %d of %d bytes together are kept: delete some, or keep large values elsewhere",
		e.Count, e.Bytes, MaxSettings, MaxSettingsBytes)
}

// checkSettings refuses settings over a bound, unless they were over it before and do not grow.
func checkSettings(previous, next map[string]json.RawMessage) error {
	before, after := sizeOfSettings(previous), sizeOfSettings(next)
	if len(next) > max(MaxSettings, len(previous)) || after > max(MaxSettingsBytes, before) {
		return &SettingsLimitError{len(next), after}
	}
	return nil
}

func sizeOfSettings(settings map[string]json.RawMessage) (size int) {
	for name, value := range settings {
		size += len(name) + len(value)
	}
	return size
}

// auditEntry tells readers of the transcript who changed what.
func auditEntry(edit ControlEdit, previous, next Controls, at int64) transcript.Entry {
	scope, words := "session", "this chat"
	if edit.Defaults {
		scope, words = "default", "new chats default"
	}
	details := string(encode(struct {
		OccurredAt string   `json:"occurredAt"`
		Actor      string   `json:"actor"`
		Source     string   `json:"source"`
		Scope      string   `json:"scope"`
		Previous   Controls `json:"previous"`
		Next       Controls `json:"next"`
	}{isoTime(at), edit.Audit.Actor, edit.Audit.Source, scope, previous, next}))
	return transcript.Entry{TurnID: "session-controls", Role: "system", Type: "session.controls.updated",
		Content: fmt.Sprintf("Session controls updated (%s) by %s via %s: %s -> %s", words, edit.Audit.Actor,
			edit.Audit.Source, previous.Summary(), next.Summary()),
		Details: &details, StartedAt: &at, CompletedAt: &at, Status: transcript.Complete}
}

func storeDefaults(ctx context.Context, tx database.Tx, controls Controls) error {
	encoded, err := encodeControls(&controls)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `insert into default_controls (id, controls) values (1, $1)
		on conflict (id) do update set controls = excluded.controls`, encoded)
	if err != nil {
		return fmt.Errorf("store default controls: %w", err)
	}
	return nil
}
