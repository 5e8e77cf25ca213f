package audit

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/mod/sumdb/note"

	"harness/internal/lib/durable"
	"harness/internal/platform/database"
	"harness/internal/platform/journal"
)

// origin is the first line of a checkpoint, so that a signature of another text is not valid for it.
const origin = "harness audit log"

// pruned is the first line of the checkpoint of the row up to which old rows were removed.
const pruned = "harness audit log removed up to"

// keyName names the key in its signatures.
const keyName = "harness-audit"

// Key signs checkpoints. Keep it apart from the log: a person who can change the log should not have the key.
type Key struct {
	signer   note.Signer
	Verifier note.Verifier
}

// ReadKey reads the key in a file, and creates the file if it is missing. Concurrent callers get the same key. The
// public key is in the same folder (.pub).
func ReadKey(path string) (Key, error) {
	text, err := os.ReadFile(path)
	if err == nil && len(text) == 0 {
		text, err = withoutEmpty(path)
	}
	if errors.Is(err, fs.ErrNotExist) {
		text, err = makeKey(path)
	}
	if err != nil {
		return Key{}, fmt.Errorf("the key of the audit log: %w", err)
	}
	private, public, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
	signer, err := note.NewSigner(private)
	if err != nil {
		return Key{}, fmt.Errorf("the key of the audit log %s is damaged: %w", path, err)
	}
	verifier, err := note.NewVerifier(strings.TrimSpace(public))
	if err != nil {
		return Key{}, fmt.Errorf("the key of the audit log %s is damaged: %w", path, err)
	}
	public += "\n"
	if known, err := os.ReadFile(path + ".pub"); err != nil || string(known) != public {
		if err := durable.Write(path+".pub", []byte(public)); err != nil {
			return Key{}, fmt.Errorf("the public key of the audit log: %w", err)
		}
	}
	return Key{signer, verifier}, nil
}

// withoutEmpty removes a key file that a power loss left empty, before anything was signed with it: fs.ErrNotExist. If
// a concurrent caller has created a key by now, it returns that key.
func withoutEmpty(path string) ([]byte, error) {
	folder, err := os.Open(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	if err := syscall.Flock(int(folder.Fd()), syscall.LOCK_EX); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(path)
	if err == nil && len(text) == 0 {
		err = errors.Join(os.Remove(path), fs.ErrNotExist)
	}
	return text, err
}

// makeKey creates a key and returns the one then in the file: the first caller's.
func makeKey(path string) ([]byte, error) {
	private, public, err := note.GenerateKey(rand.Reader, keyName)
	if err == nil {
		err = durable.Create(path, []byte(private+"\n"+public+"\n"))
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return os.ReadFile(path)
}

// ReadPublic reads a public key.
func ReadPublic(path string) (note.Verifier, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("the public key of an audit log: %w", err)
	}
	verifier, err := note.NewVerifier(strings.TrimSpace(string(text)))
	if err != nil {
		return nil, fmt.Errorf("%s is no public key of an audit log: %w", path, err)
	}
	return verifier, nil
}

// Latest returns the last checkpoint of the log, "" for none.
func Latest(ctx context.Context, q database.Querier) (signed string, err error) {
	err = q.QueryRowContext(ctx, `select note from audit_checkpoints order by seq desc limit 1`).Scan(&signed)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return signed, err
}

// Journal has the methods of the event log that this package needs; *journal.Journal implements it.
type Journal interface {
	Commit(ctx context.Context, unit journal.Unit) ([]journal.Record, error)
}

// Checkpoint signs the current end of the log, unless it is already signed. It returns the signed text, "" for none.
func Checkpoint(ctx context.Context, log Journal, key Key, now int64) (signed string, err error) {
	_, err = log.Commit(ctx, func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		signed = ""
		last, err := end(ctx, tx)
		if err != nil || last.Seq == 0 {
			return nil, err
		}
		var known int64
		if err := tx.QueryRowContext(ctx, `select count(*) from audit_checkpoints where seq = $1`, last.Seq).
			Scan(&known); err != nil {
			return nil, fmt.Errorf("look for a checkpoint of the audit log: %w", err)
		}
		if known > 0 {
			return nil, nil
		}
		signed, err = sign(ctx, tx, key, origin, last, now)
		return nil, err
	})
	return signed, err
}

// sign stores a signed statement about a row, and replaces an earlier one.
func sign(ctx context.Context, tx database.Tx, key Key, what string, row Row, now int64) (string, error) {
	text, err := note.Sign(&note.Note{Text: fmt.Sprintf("%s\n%d\n%s\n", what, row.Seq, row.Hash)}, key.signer)
	if err != nil {
		return "", fmt.Errorf("sign a checkpoint of the audit log: %w", err)
	}
	_, err = tx.ExecContext(ctx, `insert into audit_checkpoints (seq, at, note) values ($1, $2, $3)
		on conflict (seq) do update set at = excluded.at, note = excluded.note`, row.Seq, now, string(text))
	if err != nil {
		return "", fmt.Errorf("store a checkpoint of the audit log: %w", err)
	}
	return string(text), nil
}

// Prune removes the rows from before a time (ms), except the last row of the log. It signs the position up to which it
// removed rows.
func Prune(ctx context.Context, log Journal, key Key, before, now int64) (removed int64, err error) {
	_, err = log.Commit(ctx, func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		last, err := scan(
			tx.QueryRowContext(ctx, `select `+columns+` from audit_log where at < $1 and seq < (select max(seq) from audit_log)
			and not exists (select 1 from audit_log younger where younger.seq < audit_log.seq and younger.at >= $1) order by seq desc limit 1`,
				before))
		if errors.Is(err, sql.ErrNoRows) {
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("find what of the audit log is old: %w", err)
		}
		if _, err := sign(ctx, tx, key, pruned, last, now); err != nil {
			return nil, err
		}
		if _, err := tx.ExecContext(ctx, `delete from audit_checkpoints where seq < $1`, last.Seq); err != nil {
			return nil, fmt.Errorf("prune the audit log: %w", err)
		}
		result, err := tx.ExecContext(ctx, `delete from audit_log where seq <= $1`, last.Seq)
		if err != nil {
			return nil, fmt.Errorf("prune the audit log: %w", err)
		}
		removed, err = result.RowsAffected()
		return nil, err
	})
	return removed, err
}

// checkpoints returns the signed hashes, by row, and the row up to which the log was removed, the zero Row for none.
func checkpoints(ctx context.Context, q database.Querier, keys note.Verifiers, fault func(format string, args ...any)) (
	signed map[int64]string, from Row, err error) {
	signed = map[int64]string{}
	err = database.ReadEach(ctx, q, "read the checkpoints of the audit log", func(row database.Row) error {
		var seq int64
		var text string
		if err := row.Scan(&seq, &text); err != nil {
			return err
		}
		what, of, hash, err := open(text, keys)
		switch {
		case err != nil:
			fault("the checkpoint of row %d does not hold: %v", seq, err)
		case of != seq:
			fault("the checkpoint of row %d is one of row %d", seq, of)
		case what == pruned:
			from = Row{Seq: seq, Hash: hash}
		default:
			signed[seq] = hash
		}
		return nil
	}, `select seq, note from audit_checkpoints order by seq`)
	return signed, from, err
}

// open reads a signed checkpoint.
func open(text string, keys note.Verifiers) (what string, seq int64, hash string, err error) {
	opened, err := note.Open([]byte(text), keys)
	if err != nil {
		return "", 0, "", err
	}
	what, rest, _ := strings.Cut(opened.Text, "\n")
	if what != origin && what != pruned {
		return "", 0, "", errors.New("it is no checkpoint of an audit log")
	}
	if _, err := fmt.Sscanf(rest, "%d\n%s\n", &seq, &hash); err != nil {
		return "", 0, "", fmt.Errorf("it is no checkpoint of an audit log: %w", err)
	}
	return what, seq, hash, nil
}

// VerifyAgainst is Verify with a checkpoint that was kept elsewhere. It also detects that someone with write access to
// the log cut off its tail together with the tail's checkpoints.
func VerifyAgainst(ctx context.Context, q database.Querier, keys note.Verifiers, kept string) (Verdict, error) {
	v, err := Verify(ctx, q, keys)
	if err != nil || kept == "" {
		return v, err
	}
	_, seq, hash, err := open(kept, keys)
	if err != nil {
		return v, fmt.Errorf("the checkpoint given: %w", err)
	}
	found := ""
	err = database.ReadEach(ctx, q, "read audit row", func(row database.Row) error { return row.Scan(&found) },
		`select hash from audit_log where seq = $1`, seq)
	switch {
	case err != nil:
		return v, err
	case found == "":
		v.Faults = append(v.Faults,
			fmt.Sprintf("row %d of the checkpoint given is not there: the log's tail was cut off", seq))
	case found != hash:
		v.Faults = append(v.Faults, fmt.Sprintf("row %d is another than the one of the checkpoint given", seq))
	}
	return v, nil
}
