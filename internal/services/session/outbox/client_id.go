package outbox

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"harness/internal/platform/database"
	"harness/internal/runtime"
	"harness/internal/runtime/wire"
	"harness/internal/services/session/store"
	"harness/transcript"
)

// StoreMessage stores a message in its runtime's form. A message that began its turn gets its key as the client's id:
// a client that lost its connection finds by it what was sent.
func StoreMessage(ctx context.Context, tx database.Tx, entries transcript.Store, sessionID, turnID string,
	item runtime.Item) error {
	if item.Type == wire.ItemUserMessage {
		number, err := entries.CountTurn(ctx, tx, sessionID, turnID)
		if err != nil {
			return err
		}
		if number == 1 { // the message itself
			key, err := keyOfTurn(ctx, tx, sessionID, turnID)
			if err != nil {
				return err
			}
			item.Native = wire.WithClientID(item.Native, key)
		}
	}
	return store.StoreMessage(ctx, tx, sessionID, item)
}

// keyOfTurn returns the key of the message that began a turn, "" for none. The runtime may report the message before
// the server knows its turn: the key is then in flight.
func keyOfTurn(ctx context.Context, tx database.Tx, sessionID, turnID string) (key string, err error) {
	err = tx.QueryRowContext(ctx, `select key from message_keys where session_id = $1
		and (made = $2 or mark not in ('', $3)) order by created_at limit 1`, database.EncodeText(sessionID),
		database.EncodeText(turnID), steeredMark).Scan(&key)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return "", fmt.Errorf("read the key of the message of turn %s: %w", turnID, err)
	}
	return key, nil
}
