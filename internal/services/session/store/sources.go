package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"harness/internal/lib/javascript"
	"harness/internal/platform/database"
	"harness/internal/runtime"
)

// StoreSources stores the implicit sources of a session's agent.
func StoreSources(ctx context.Context, tx database.Tx, sessionID, implicit, nativeTools string,
	found []runtime.Source) error {
	_, err := tx.ExecContext(ctx, `insert into session_sources (session_id, implicit, sources, native_tools)
		values ($1, $2, $3, $4)`, database.EncodeText(sessionID), implicit, database.EncodeText(string(javascript.MustEncode(found))),
		nativeTools)
	if err != nil {
		return fmt.Errorf("note what the agent of session %s reads by itself: %w", sessionID, err)
	}
	return nil
}

// InheritSources copies a session's recorded sources to its fork.
func InheritSources(ctx context.Context, tx database.Tx, from, sessionID string) error {
	_, err := tx.ExecContext(ctx,
		`insert into session_sources (session_id, implicit, sources, native_tools)
		select $2, implicit, sources, native_tools from session_sources
		where session_id = $1 on conflict do nothing`, database.EncodeText(from), database.EncodeText(sessionID))
	if err != nil {
		return fmt.Errorf("note what the agent of session %s reads by itself: %w", sessionID, err)
	}
	return nil
}

// ReadSources reads the recorded sources of a session; known is false if there is no record.
func ReadSources(ctx context.Context, q database.Querier, sessionID string) (implicit string, began []runtime.Source,
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
