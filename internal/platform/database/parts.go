package database

import (
	"context"
	"database/sql"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"unicode/utf8"
	"unsafe"
)

// PartBytes is the maximum length, in bytes, of a text stored in one piece. A longer one is stored in parts of that
// size, one row each. On either engine, binding a text and building its row takes several times its size in memory.
const PartBytes = 1 << 20

// PartOf returns the length in bytes of a text's first part. It splits no character, because Postgres refuses
// incomplete characters.
func PartOf(text []byte) int {
	if len(text) <= PartBytes {
		return len(text)
	}
	end := PartBytes
	for end > PartBytes-utf8.UTFMax && !utf8.RuneStart(text[end]) {
		end--
	}
	return end
}

// Parts cuts a text into its parts. They are slices of it, not copies.
func Parts(text []byte) iter.Seq[string] {
	return func(yield func(string) bool) {
		for len(text) > 0 {
			size := PartOf(text)
			if !yield(unsafe.String(unsafe.SliceData(text), size)) {
				return
			}
			text = text[size:]
		}
	}
}

// PartKey names the parts of one text in a table of parts: the columns before number and part, and their values.
type PartKey struct {
	Table   string
	Columns []string
	Values  []any
}

func (k PartKey) condition() string {
	terms := make([]string, len(k.Columns))
	for i, column := range k.Columns {
		terms[i] = column + " = $" + strconv.Itoa(i+1)
	}
	return strings.Join(terms, " and ")
}

// WriteParts stores a text in parts. It does not use a part after requesting the next one.
func WriteParts(ctx context.Context, tx Tx, k PartKey, parts iter.Seq[string]) error {
	columns := append(append([]string(nil), k.Columns...), "number", "part")
	err := InsertEach(ctx, tx, k.Table, columns, func(yield func([]any) bool) {
		number := int64(0)
		for part := range parts {
			number++
			if !yield(append(append([]any(nil), k.Values...), number, part)) {
				return
			}
		}
	})
	if err != nil {
		return fmt.Errorf("store a long text in %s: %w", k.Table, err)
	}
	return nil
}

// DeleteParts deletes the parts of a text, if there are any.
func DeleteParts(ctx context.Context, tx Tx, k PartKey) error {
	if _, err := tx.ExecContext(ctx, `delete from `+k.Table+` where `+k.condition(), k.Values...); err != nil {
		return fmt.Errorf("delete a long text from %s: %w", k.Table, err)
	}
	return nil
}

// ReadParts reads a text stored in parts, which is then in memory once; nil if it has no parts.
func ReadParts(ctx context.Context, q Querier, k PartKey) ([]byte, error) {
	what := "read a long text from " + k.Table
	var size int64
	err := q.QueryRowContext(ctx, `select coalesce(sum(octet_length(part)), 0) from `+k.Table+` where `+k.condition(),
		k.Values...).Scan(&size)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	if size == 0 {
		return nil, nil
	}
	text := make([]byte, 0, size)
	err = ReadEach(ctx, q, what, func(row Row) error {
		var part sql.RawBytes
		err := row.Scan(&part)
		text = append(text, part...)
		return err
	}, `select part from `+k.Table+` where `+k.condition()+` order by number`, k.Values...)
	return text, err
}
