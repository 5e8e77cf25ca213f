package controledit

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"

	"github.com/google/uuid"

	"harness/internal/lib/javascript"
	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/services/session"
	"harness/internal/services/session/store"
	"harness/transcript"
)

// EditDefaults is EditControls for the controls of new sessions. It has no session whose transcript could record the
// change; the audit log records it. Errors are ErrDefaultsLocked and *SettingsLimitError.
func (e *Editor) EditDefaults(ctx context.Context,
	edit func(session.Controls) session.Controls) (next session.Controls, changed bool, err error) {
	if e.options.Locked {
		return session.Controls{}, false, session.ErrDefaultsLocked
	}
	err = e.options.Journal.Do(ctx, func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		previous, err := e.options.Reader.DefaultControls(ctx, tx)
		if err != nil {
			return nil, err
		}
		given := previous
		given.Settings = maps.Clone(previous.Settings)
		next = edit(given).Complete()
		if err := checkSettings(previous.Settings, next.Settings); err != nil {
			return nil, journal.Refuse(err)
		}
		if changed = !next.Equal(previous); !changed {
			return nil, nil
		}
		return []journal.Event{{Type: EventDefaultsChanged, Time: e.options.Now(), Source: session.EventSource,
			Payload: javascript.MustEncode(struct {
				Previous session.Controls `json:"previous"`
				Next     session.Controls `json:"next"`
			}{previous, next})}}, storeDefaults(ctx, tx, next)
	})
	return next, changed, err
}

// EditControls changes a session's controls, or with Defaults those of new sessions, in one atomic step. The stored
// value cannot change between the call of Edit and the write. An edit that changes nothing is neither written nor
// audited. An internal event publishes a change of the session's own. With an audit, an entry in the session's
// transcript records it in either case.
//
// Errors are *DeletedError, ErrNotFound, ErrDefaultsLocked and *SettingsLimitError. *runtime.ControlError means that
// the session's runtime does not enforce a level. *BackgroundError means that the runtime cannot accept a level while
// background work runs.
func (e *Editor) EditControls(ctx context.Context, sessionID string, edit session.ControlEdit) (session.ControlChange, error) {
	if edit.Defaults && e.options.Locked {
		return session.ControlChange{}, session.ErrDefaultsLocked
	}
	at, suffix := e.options.Now(), uuid.New().String()[:8]
	var change session.ControlChange
	err := e.options.Journal.Do(ctx, func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		name, controls, defaults, err := e.options.Reader.ControlsIn(ctx, tx, sessionID)
		if session.Absent(err) {
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
		*target = edit.Edit(given).Complete()
		if err := checkSettings(previous.Settings, target.Settings); err != nil {
			return nil, journal.Refuse(err)
		}
		if !edit.Defaults {
			if err := e.CheckChanged(name, previous, *target); err != nil {
				return nil, journal.Refuse(err)
			}
			if err := e.checkEditRestart(ctx, tx, sessionID, name, previous, *target); err != nil {
				return nil, err
			}
		}
		change = session.ControlChange{Controls: controls, Defaults: defaults, Changed: !target.Equal(previous)}
		if !change.Changed {
			return nil, nil
		}
		var events []journal.Event
		if edit.Defaults {
			err = storeDefaults(ctx, tx, defaults)
		} else {
			err = store.StoreControls(ctx, tx, sessionID, controls)
			events = []journal.Event{{SessionID: sessionID, Type: session.EventControlsChanged, Time: at, Source: session.EventSource,
				Payload: json.RawMessage("{}")}}
		}
		if err != nil || edit.Audit == nil {
			return events, err
		}
		entry := auditEntry(edit, previous, *target, at)
		entry.MessageID = fmt.Sprintf("session-controls-%d-%s", at, suffix)
		_, _, err = e.entries.Upsert(ctx, tx, sessionID, entry)
		return events, err
	})
	return change, err
}

// checkSettings refuses settings over a limit, unless they exceeded it before and do not grow.
func checkSettings(previous, next map[string]json.RawMessage) error {
	before, after := sizeOfSettings(previous), sizeOfSettings(next)
	if len(next) > max(session.MaxSettings, len(previous)) || after > max(session.MaxSettingsBytes, before) {
		return &session.SettingsLimitError{Count: len(next), Bytes: after}
	}
	return nil
}

func sizeOfSettings(settings map[string]json.RawMessage) (size int) {
	for name, value := range settings {
		size += len(name) + len(value)
	}
	return size
}

// auditEntry returns the transcript entry that records who changed what.
func auditEntry(edit session.ControlEdit, previous, next session.Controls, at int64) transcript.Entry {
	scope, words := "session", "this chat"
	if edit.Defaults {
		scope, words = "default", "new chats default"
	}
	details := string(javascript.MustEncode(struct {
		OccurredAt string           `json:"occurredAt"`
		Actor      string           `json:"actor"`
		Source     string           `json:"source"`
		Scope      string           `json:"scope"`
		Previous   session.Controls `json:"previous"`
		Next       session.Controls `json:"next"`
	}{javascript.ISOTime(at), edit.Audit.Actor, edit.Audit.Source, scope, previous, next}))
	return transcript.Entry{TurnID: "session-controls", Role: "system", Type: "session.controls.updated",
		Content: fmt.Sprintf("Session controls updated (%s) by %s via %s: %s -> %s", words, edit.Audit.Actor,
			edit.Audit.Source, previous.Summary(), next.Summary()),
		Details: &details, StartedAt: &at, CompletedAt: &at, Status: transcript.Complete}
}

func storeDefaults(ctx context.Context, tx database.Tx, controls session.Controls) error {
	encoded, err := store.EncodeControls(&controls)
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

// EventDefaultsChanged is the type of the event for changed defaults.
const EventDefaultsChanged = "default_controls.changed"
