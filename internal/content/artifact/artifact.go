// Package artifact stores bytes that are too long for an event: tool results and model inputs.
//
// It owns redaction and hashing before storage, deduplication of equal content, and access by id. Bytes are files below
// the data directory. With a shared database they are rows, or objects in an object store for long ones, so that any
// server can serve them. It must never know what the bytes mean.
package artifact

import (
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"mime"
	"path"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
)

// Ref refers to stored bytes.
type Ref struct {
	ID          string `json:"artifact_id"`
	ContentType string `json:"content_type"`
	Size        int64  `json:"size_bytes"`
	Hash        string `json:"content_hash"` // "sha256:<hex>"
	Name        string `json:"name"`
	// CreatedAt is in ms.
	CreatedAt int64 `json:"-"`
	// SessionID is the session it belongs to, "" for none.
	SessionID string `json:"-"`
}

// Journal is the part of the event log that this package uses; *journal.Journal implements it.
type Journal interface {
	Commit(ctx context.Context, unit journal.Unit) ([]journal.Record, error)
}

// Options configure a Store. DB and Journal are required.
type Options struct {
	DB      *database.DB
	Journal Journal
	// Dir is the folder for the bytes. It is used where the database belongs to this server alone.
	Dir string
	// Objects stores contents of at least ObjectBytes (DefaultObjectBytes when 0) with a shared database; nil stores
	// all of them as rows.
	Objects     Objects
	ObjectBytes int64
	// MaxBytes bounds an artifact: DefaultMaxBytes when 0.
	MaxBytes int64
	// Redact removes secrets before hashing and storage. nil removes nothing.
	Redact func(content []byte) []byte
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// DefaultMaxBytes is the default for Options.MaxBytes.
const DefaultMaxBytes = 16 << 20

// Store keeps artifacts. Make it with New.
type Store struct {
	opts  Options
	bytes contents
}

// contents stores bytes by their hash.
type contents interface {
	// put stores a content, which may exist, before its row. The caller runs the returned unit, if any, in the row's
	// transaction.
	put(ctx context.Context, hash string, content []byte) (journal.Unit, error)
	// within stores a content, which may exist, in the transaction of its row.
	within(ctx context.Context, tx database.Tx, hash string, content []byte) error
	// open reads a content; ErrNotFound if it was deleted.
	open(ctx context.Context, hash string, size int64) (io.ReadSeekCloser, error)
	// drop removes an unreferenced content, in the transaction that found no reference.
	drop(ctx context.Context, tx database.Tx, hash string) error
}

// New makes a store.
func New(opts Options) *Store {
	if opts.MaxBytes == 0 {
		opts.MaxBytes = DefaultMaxBytes
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	s := &Store{opts: opts, bytes: &files{opts.Dir}}
	if opts.DB.Engine() == database.Postgres {
		s.bytes = &rows{opts.DB}
		if opts.Objects != nil {
			s.bytes = &objects{rows{opts.DB}, opts.Objects, cmp.Or(opts.ObjectBytes, DefaultObjectBytes)}
		}
	}
	return s
}

// ErrNotFound means that no artifact has that id, or that the id is invalid.
var ErrNotFound = errors.New("artifact not found")

// TooLargeError means that a content exceeds the limit, in bytes.
type TooLargeError struct{ Size, Limit int64 }

// Error implements error.
func (e *TooLargeError) Error() string {
	return fmt.Sprintf("the artifact has %d bytes, above the limit of %d", e.Size, e.Limit)
}

// Put redacts and stores a content and returns its reference. sessionID is the session it belongs to, "" for none;
// *TooLargeError.
func (s *Store) Put(ctx context.Context, sessionID, name, contentType string, content []byte) (Ref, error) {
	if size := int64(len(content)); size > s.opts.MaxBytes {
		return Ref{}, &TooLargeError{size, s.opts.MaxBytes}
	}
	if s.opts.Redact != nil {
		content = s.opts.Redact(content)
	}
	sum := sha256.Sum256(content)
	hash := hex.EncodeToString(sum[:])
	ref := Ref{ID: uuid.NewString(), ContentType: cleanType(contentType), Size: int64(len(content)),
		Hash: "sha256:" + hash, Name: cleanName(name), CreatedAt: s.opts.Now().UnixMilli(), SessionID: sessionID}
	if err := s.storeAgain(ctx, ref, hash, content); err != nil {
		return Ref{}, err
	}
	return ref, nil
}

// PutAs stores redacted content under the caller's reference. An existing one stays. ErrMismatch when the content does
// not match the reference; *TooLargeError.
func (s *Store) PutAs(ctx context.Context, ref Ref, content []byte) error {
	if size := int64(len(content)); size > s.opts.MaxBytes {
		return &TooLargeError{size, s.opts.MaxBytes}
	}
	sum := sha256.Sum256(content)
	hash := hex.EncodeToString(sum[:])
	if ref.Hash != "sha256:"+hash || !artifactID().MatchString(ref.ID) {
		return fmt.Errorf("artifact %s: %w", ref.ID, ErrMismatch)
	}
	if _, err := s.Get(ctx, ref.ID); !errors.Is(err, ErrNotFound) {
		return err
	}
	ref.ContentType, ref.Name, ref.CreatedAt = cleanType(ref.ContentType), cleanName(ref.Name), s.opts.Now().UnixMilli()
	return s.storeAgain(ctx, ref, hash, content)
}

// ErrMismatch means that the content does not match its reference.
var ErrMismatch = errors.New("the reference names another content")

// storeAgain stores a content and its reference, even when the content is dropped concurrently.
func (s *Store) storeAgain(ctx context.Context, ref Ref, hash string, content []byte) error {
	err := s.store(ctx, ref, hash, content)
	if errors.Is(err, errDropped) {
		err = s.store(ctx, ref, hash, content) // a newly stored content is not dropped
	}
	return err
}

// errDropped means that an existing content was dropped before its row was stored.
var errDropped = errors.New("its bytes were dropped meanwhile")

// store stores a content and its reference.
func (s *Store) store(ctx context.Context, ref Ref, hash string, content []byte) error {
	bytes, err := s.bytes.put(ctx, hash, content)
	if err != nil {
		return fmt.Errorf("store artifact %s: %w", ref.Name, err)
	}
	_, err = s.opts.Journal.Commit(ctx, func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		if bytes != nil {
			if _, err := bytes(ctx, tx); err != nil {
				return nil, err
			}
		}
		_, err := tx.ExecContext(ctx,
			`insert into artifacts (id, session_id, name, content_type, size_bytes, hash, created_at)
			values ($1, $2, $3, $4, $5, $6, $7) on conflict (id) do nothing`,
			ref.ID, database.EncodeText(ref.SessionID), database.EncodeText(ref.Name),
			ref.ContentType, ref.Size, hash, ref.CreatedAt)
		if err != nil {
			return nil, fmt.Errorf("store artifact %s: %w", ref.Name, err)
		}
		return nil, nil
	})
	return err
}

// cleanType returns a media type, application/octet-stream for an invalid one.
func cleanType(contentType string) string {
	media, parameters, err := mime.ParseMediaType(contentType)
	if formatted := mime.FormatMediaType(media, parameters); err == nil && formatted != "" {
		return formatted
	}
	return "application/octet-stream"
}

// cleanName returns the last part of a name, without characters that file names must not have.
func cleanName(name string) string {
	name = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, strings.ToValidUTF8(strings.ReplaceAll(name, `\`, "/"), ""))
	if name = path.Base(name); name == "." || name == "/" || name == ".." {
		return "artifact"
	}
	return name
}

var artifactID = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9a-f-]{36}$`) })

// Get returns a reference. ErrNotFound, also for an invalid id.
func (s *Store) Get(ctx context.Context, id string) (Ref, error) {
	if !artifactID().MatchString(id) {
		return Ref{}, ErrNotFound
	}
	var ref Ref
	var hash string
	err := s.opts.DB.Read().QueryRowContext(ctx,
		`select id, session_id, name, content_type, size_bytes, hash, created_at from artifacts where id = $1`, id).
		Scan(&ref.ID, &ref.SessionID, &ref.Name, &ref.ContentType, &ref.Size, &hash, &ref.CreatedAt)
	if errors.Is(err, sql.ErrNoRows) {
		return Ref{}, ErrNotFound
	}
	if err != nil {
		return Ref{}, fmt.Errorf("read artifact %s: %w", id, err)
	}
	ref.SessionID, ref.Name, ref.Hash = database.DecodeText(ref.SessionID), database.DecodeText(ref.Name), "sha256:"+hash
	return ref, nil
}

// Open returns a reference and its bytes, which the caller closes. ErrNotFound.
func (s *Store) Open(ctx context.Context, id string) (Ref, io.ReadSeekCloser, error) {
	ref, err := s.Get(ctx, id)
	if err != nil {
		return Ref{}, nil, err
	}
	content, err := s.bytes.open(ctx, strings.TrimPrefix(ref.Hash, "sha256:"), ref.Size)
	if err != nil {
		return Ref{}, nil, fmt.Errorf("read the bytes of artifact %s: %w", id, err)
	}
	return ref, content, nil
}
