package manager

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"harness/internal/lib/javascript"
	"harness/internal/platform/database"
	"harness/internal/runtime"
	"harness/internal/services/session"
)

// narrowest is the least of what a runtime can be held to, "" where that is not known.
func narrowest(choices []string) string {
	for _, one := range []string{runtime.ImplicitNone, runtime.ImplicitHome, runtime.ImplicitAll} {
		if slices.Contains(choices, one) {
			return one
		}
	}
	return ""
}

// chosenSources is how much the agent of a new session may read by itself: *runtime.ControlError for what its runtime
// cannot be held to.
func chosenSources(adapter runtime.Adapter, wish string) (string, error) {
	choices := runtime.CapabilitiesOf(adapter).ImplicitSources
	switch {
	case wish == session.NarrowestSources:
		return narrowest(choices), nil
	case wish != "" && !slices.Contains(choices, wish):
		return "", &runtime.ControlError{Runtime: adapter.Name(), Field: "implicitSources", Value: wish, Enforced: choices}
	case wish == "" && len(choices) > 0:
		return choices[0], nil
	}
	return wish, nil
}

// sourcesAt are the files an agent reads by itself now; none of a runtime that does not know.
func sourcesAt(adapter runtime.Adapter, sessionID, cwd, implicit string) ([]runtime.Source, error) {
	sourcer, knows := adapter.(runtime.Sourcer)
	if !knows {
		return nil, nil
	}
	found, err := sourcer.Sources(sessionID, cwd, implicit)
	if err != nil {
		return nil, fmt.Errorf("look what %s reads by itself: %w", adapter.Name(), err)
	}
	return found, nil
}

func storeSources(ctx context.Context, tx database.Tx, sessionID, implicit, nativeTools string,
	found []runtime.Source) error {
	_, err := tx.ExecContext(ctx, `insert into session_sources (session_id, implicit, sources, native_tools)
		values ($1, $2, $3, $4)`, database.EncodeText(sessionID), implicit, database.EncodeText(string(javascript.MustEncode(found))),
		nativeTools)
	if err != nil {
		return fmt.Errorf("note what the agent of session %s reads by itself: %w", sessionID, err)
	}
	return nil
}

// inheritSources notes of a session what was noted of the one it was forked from.
func inheritSources(ctx context.Context, tx database.Tx, from, sessionID string) error {
	_, err := tx.ExecContext(ctx,
		`insert into session_sources (session_id, implicit, sources, native_tools)
		select $2, implicit, sources, native_tools from session_sources
		where session_id = $1 on conflict do nothing`, database.EncodeText(from), database.EncodeText(sessionID))
	if err != nil {
		return fmt.Errorf("note what the agent of session %s reads by itself: %w", sessionID, err)
	}
	return nil
}

// readSources is what was noted of a session; known is false when nothing was.
func readSources(ctx context.Context, q database.Querier, sessionID string) (implicit string, began []runtime.Source,
	known bool, err error) {
	var stored string
	err = q.QueryRowContext(ctx, `select implicit, sources from session_sources where session_id = $1`,
		database.EncodeText(sessionID)).
		Scan(&implicit, &stored)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil, false, nil
	}
	if err == nil {
		err = json.Unmarshal([]byte(database.DecodeText(stored)), &began)
	}
	if err != nil {
		return "", nil, false, fmt.Errorf("read what the agent of session %s reads by itself: %w", sessionID, err)
	}
	return implicit, began, true, nil
}

// ImplicitSources is how much the agent of a session may read by itself, "" when nobody said, and where the session
// works.
func (s *Service) ImplicitSources(ctx context.Context, sessionID string) (implicit, cwd string, err error) {
	if implicit, _, _, err = readSources(ctx, s.db.Read(), sessionID); err != nil || implicit == "" {
		return "", "", err
	}
	stored, err := readSession(ctx, s.db.Read(), sessionID)
	return implicit, stored.Cwd, err
}

// Sources tells which files a session's agent reads by itself, and which of them are not what they were when the
// session began. Errors are those of Lookup, *NotOwnerError, and runtime.ErrUnavailable for a runtime this server does
// not have.
func (s *Service) Sources(ctx context.Context, sessionID string) (session.Sources, error) {
	sess, adapter, err := s.owned(ctx, sessionID)
	if err != nil {
		return session.Sources{}, err
	}
	implicit, began, known, err := readSources(ctx, s.db.Read(), sessionID)
	if err != nil {
		return session.Sources{}, err
	}
	choices := runtime.CapabilitiesOf(adapter).ImplicitSources
	if !known && len(choices) > 0 {
		implicit = choices[0]
	}
	now, err := sourcesAt(adapter, sessionID, cmp.Or(sess.Cwd, s.opts.WorkspaceRoot), implicit)
	if err != nil {
		return session.Sources{}, err
	}
	out := session.Sources{Implicit: implicit, Choices: append([]string{}, choices...), Files: []session.SourceNow{}}
	of := func(list []runtime.Source, path string) *runtime.Source {
		if i := slices.IndexFunc(list, func(one runtime.Source) bool { return one.Path == path }); i >= 0 {
			return &list[i]
		}
		return nil
	}
	for _, one := range now {
		file := session.SourceNow{Source: one, State: session.SourceUnknown, Began: of(began, one.Path)}
		switch {
		case !known:
		case file.Began == nil:
			file.State = session.SourceAdded
		case file.Began.SHA256 != one.SHA256 || file.Began.Reason != one.Reason:
			file.State = session.SourceChanged
		default:
			file.State = session.SourceSame
		}
		out.Files = append(out.Files, file)
	}
	for i, one := range began {
		if of(now, one.Path) == nil {
			out.Files = append(out.Files, session.SourceNow{Source: one, State: session.SourceRemoved, Began: &began[i]})
		}
	}
	return out, nil
}
