package artifact

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"

	"github.com/google/uuid"

	"harness/internal/platform/database"
)

// BytesError means that the bytes of an artifact could not be stored. The surrounding transaction continues.
type BytesError struct{ Err error }

// Error implements error.
func (e *BytesError) Error() string { return "keep the bytes of an image: " + e.Err.Error() }

// Unwrap returns the cause.
func (e *BytesError) Unwrap() error { return e.Err }

// KeepImage stores an image of a session within a transaction and returns its id. The same image of a session is stored
// once. *TooLargeError and *BytesError leave the transaction as it was.
func (s *Store) KeepImage(ctx context.Context, tx database.Tx, sessionID string, content []byte) (id string, err error) {
	size := int64(len(content))
	if size > s.opts.MaxBytes {
		return "", &TooLargeError{size, s.opts.MaxBytes}
	}
	sum := sha256.Sum256(content)
	hash := hex.EncodeToString(sum[:])
	err = tx.QueryRowContext(ctx, `select id from artifacts where session_id = $1 and hash = $2 order by created_at, id limit 1`,
		database.EncodeText(sessionID), hash).Scan(&id)
	if err == nil || !errors.Is(err, sql.ErrNoRows) {
		return id, err
	}
	if err := s.bytes.within(ctx, tx, hash, content); err != nil {
		return "", err
	}
	id = uuid.NewString()
	_, err = tx.ExecContext(ctx, `insert into artifacts (id, session_id, name, content_type, size_bytes, hash, created_at)
		values ($1, $2, $3, $4, $5, $6, $7)`, id, database.EncodeText(sessionID), database.EncodeText("image"),
		http.DetectContentType(content), size, hash, s.opts.Now().UnixMilli())
	if err != nil {
		return "", fmt.Errorf("store an image of session %s: %w", sessionID, err)
	}
	return id, nil
}

// within stores a content in the transaction of its row.
func (f *files) within(ctx context.Context, tx database.Tx, hash string, content []byte) error {
	last, err := f.put(ctx, hash, content)
	if err == nil {
		_, err = last(ctx, tx)
	}
	if err != nil {
		return &BytesError{err}
	}
	return nil
}

// within stores a content as rows, even if it is long enough for an object: a transaction waits for no object store.
func (r *rows) within(ctx context.Context, tx database.Tx, hash string, content []byte) error {
	put, err := r.put(ctx, hash, content)
	if err == nil {
		_, err = put(ctx, tx)
	}
	return err
}
