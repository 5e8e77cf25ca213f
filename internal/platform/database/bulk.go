package database

import (
	"context"
	"database/sql"
	"strconv"
	"strings"
	"sync"
)

// Kind is the type of a column of a Bulk.
type Kind string

// The kinds. Each may hold NULL, as sql.NullString and sql.NullInt64.
const (
	Text Kind = "text"
	Int  Kind = "bigint"
)

// Bulk is a statement over many rows of parameters. Postgres gets an array per column, so one text serves any number of
// rows. SQLite has no arrays, and gets lists of values.
type Bulk struct {
	kinds    []Kind
	postgres string
	// sqlite returns the texts, the one with the most rows first. They are made at first use. Statements are package
	// variables, and a process without a database, such as a shim, should not pay for them.
	sqlite func() []sized
}

// sized is a text for a number of rows.
type sized struct {
	rows int
	text string
}

// sqliteRows is the number of rows up to which each count has its own text; beyond it the counts double, within
// sqliteParameters. SQLite keeps a program for each text.
const (
	sqliteRows       = 8
	sqliteParameters = 128
)

// NewBulk makes a statement from a text in which "{rows}" stands for a query whose columns are of these kinds.
func NewBulk(text string, kinds ...Kind) *Bulk { return NewBulks(text, text, kinds...) }

// NewBulks is NewBulk with a text for each engine.
func NewBulks(sqlite, postgres string, kinds ...Kind) *Bulk {
	b := &Bulk{kinds: kinds}
	arrays := make([]string, len(kinds))
	for i, kind := range kinds {
		arrays[i] = "$" + strconv.Itoa(i+1) + "::" + string(kind) + "[]"
	}
	b.postgres = strings.Replace(postgres, "{rows}", "select * from unnest("+strings.Join(arrays, ", ")+")", 1)
	b.sqlite = sync.OnceValue(func() []sized { return sizedTexts(sqlite, len(kinds)) })
	return b
}

// sizedTexts returns a text for each number of rows, the largest number first.
func sizedTexts(text string, columns int) (all []sized) {
	for n := 1; n <= sqliteRows || n*columns <= sqliteParameters; {
		all = append([]sized{{n, strings.Replace(text, "{rows}", "values "+placeholders(n, columns), 1)}}, all...)
		if n < sqliteRows {
			n++
		} else {
			n *= 2
		}
	}
	return all
}

// placeholders returns ($1, $2), ($3, $4) and so on.
func placeholders(rows, columns int) string {
	var b strings.Builder
	for i := range rows * columns {
		switch {
		case i == 0:
			b.WriteString("($")
		case i%columns == 0:
			b.WriteString("), ($")
		default:
			b.WriteString(", $")
		}
		b.WriteString(strconv.Itoa(i + 1))
	}
	b.WriteByte(')')
	return b.String()
}

// Exec runs the statement on consecutive rows of parameters: string, sql.NullString, int64 or sql.NullInt64. Without
// rows it does nothing. In a Postgres transaction it is sent with the next statement that has an answer, or with the
// commit.
func (b *Bulk) Exec(ctx context.Context, tx Tx, args []any) error {
	if postgres, isPostgres := tx.(*postgresTx); isPostgres && len(args) > 0 {
		postgres.later = append(postgres.later, statement{b.postgres, Columns(b.kinds, args)})
		return nil
	}
	return b.each(tx, args, func(text string, args []any) error {
		_, err := tx.ExecContext(ctx, text, args...)
		return err
	})
}

// Query runs the statement on rows of parameters like Exec and passes each row of the answer to scan.
func (b *Bulk) Query(ctx context.Context, tx Tx, args []any, scan func(rows *sql.Rows) error) error {
	return b.each(tx, args, func(text string, args []any) error {
		rows, err := tx.QueryContext(ctx, text, args...)
		if err != nil {
			return err
		}
		defer func() { _ = rows.Close() }()
		for rows.Next() {
			if err := scan(rows); err != nil {
				return err
			}
		}
		return rows.Err()
	})
}

func (b *Bulk) each(tx Tx, args []any, run func(text string, args []any) error) error {
	if len(args) == 0 {
		return nil
	}
	columns := len(b.kinds)
	if _, isSQLite := tx.(writerTx); !isSQLite {
		return run(b.postgres, Columns(b.kinds, args))
	}
	for _, s := range b.sqlite() {
		for size := s.rows * columns; len(args) >= size; args = args[size:] {
			if err := run(s.text, args[:size]); err != nil {
				return err
			}
		}
	}
	return nil
}

// Columns turns consecutive rows of parameters into an array per column, for Postgres.
func Columns(kinds []Kind, args []any) []any {
	arrays := make([]any, len(kinds))
	for i, kind := range kinds {
		if kind == Text {
			arrays[i] = column(args, i, len(kinds), func(n sql.NullString) (string, bool) { return n.String, n.Valid })
		} else {
			arrays[i] = column(args, i, len(kinds), func(n sql.NullInt64) (int64, bool) { return n.Int64, n.Valid })
		}
	}
	return arrays
}

// column returns every width-th argument, starting with from. It returns pointers only if there is a NULL among them,
// since the driver handles plain values faster.
func column[T, N any](args []any, from, width int, value func(N) (T, bool)) any {
	plain := make([]T, 0, len(args)/width)
	nulls := false
	for i := from; i < len(args); i += width {
		switch arg := args[i].(type) {
		case T:
			plain = append(plain, arg)
		case N:
			v, valid := value(arg)
			plain, nulls = append(plain, v), nulls || !valid
		}
	}
	if !nulls {
		return plain
	}
	pointers := make([]*T, len(plain))
	for i := range plain {
		if null, isNull := args[from+i*width].(N); isNull {
			if _, valid := value(null); !valid {
				continue
			}
		}
		pointers[i] = &plain[i]
	}
	return pointers
}
