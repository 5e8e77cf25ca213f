package lite

import (
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// statement is a prepared one.
type statement struct {
	at      uintptr // 0 for a text that says nothing
	numbers []int   // of the argument for each parameter: $1 is 0, and a ? is as many as stand before it
	columns []string
	open    bool // rows of it are
	kept    bool
}

// prepare finds the statement of a text, or makes it. One whose rows are open has another one made in its place, which
// is not kept.
func (c *Conn) prepare(text string) (*statement, error) {
	found := c.statements[text]
	if found != nil && !found.open {
		return found, nil
	}
	made, err := c.compile(text)
	if err == nil && found == nil {
		made.kept = true
		c.statements[text] = made
	}
	return made, err
}

func (c *Conn) compile(text string) (*statement, error) {
	source, err := libc.CString(text)
	if err != nil {
		return nil, errNoMemory
	}
	defer libc.Xfree(c.tls, source)
	out, err := c.allocate(2 * wordSize)
	if err != nil {
		return nil, err
	}
	defer c.free(&out)
	rest := out.at + uintptr(wordSize)
	if code := sqlite3.Xsqlite3_prepare_v3(c.tls, c.db, source, int32(len(text)), sqlite3.SQLITE_PREPARE_PERSISTENT,
		out.at, rest); code != sqlite3.SQLITE_OK {
		return nil, c.failure(code)
	}
	s := &statement{at: word(out.at)}
	if strings.Trim(text[word(rest)-source:], "; \t\r\n") != "" {
		c.finalize(s)
		return nil, errors.New("more than one statement in a text is not run")
	}
	for i := range sqlite3.Xsqlite3_bind_parameter_count(c.tls, s.at) {
		number := int(i)
		if name := libc.GoString(sqlite3.Xsqlite3_bind_parameter_name(c.tls, s.at, i+1)); name != "" {
			if number, err = strconv.Atoi(name[1:]); err != nil || number < 1 || name[0] != '$' {
				c.finalize(s)
				return nil, fmt.Errorf("parameter %s is not numbered from $1 on", name)
			}
			number--
		}
		s.numbers = append(s.numbers, number)
	}
	for i := range sqlite3.Xsqlite3_column_count(c.tls, s.at) {
		s.columns = append(s.columns, libc.GoString(sqlite3.Xsqlite3_column_name(c.tls, s.at, i)))
	}
	return s, nil
}

func (c *Conn) finalize(s *statement) {
	sqlite3.Xsqlite3_finalize(c.tls, s.at) // its code is that of the last run
}

// over ends a run.
func (c *Conn) over(s *statement) {
	s.open = false
	defer c.ended()
	if s.kept {
		sqlite3.Xsqlite3_reset(c.tls, s.at) // its code is that of the run
	} else {
		c.finalize(s)
	}
}

// ended has what is held of the log forgotten when no transaction is open.
func (c *Conn) ended() {
	if c.log != 0 && sqlite3.Xsqlite3_get_autocommit(c.tls, c.db) != 0 {
		logAt(c.log).forget()
	}
}

// Result is what a statement that was run to its end did.
type Result struct{ id, rows int64 }

// LastInsertId implements sql.Result.
func (r Result) LastInsertId() (int64, error) { return r.id, nil }

// RowsAffected implements sql.Result.
func (r Result) RowsAffected() (int64, error) { return r.rows, nil }

// keptTexts is how much memory, in bytes, is kept for parameters between two statements.
const keptTexts = 256 << 10

// Exec runs a statement to its end. Arguments are what database/sql takes, but for times.
func (c *Conn) Exec(text string, args []any) (Result, error) {
	s, err := c.prepare(text)
	if err != nil {
		return Result{}, err
	}
	defer c.over(s)
	if err := c.bind(s, args, &c.texts); err != nil {
		return Result{}, err
	}
	if c.texts.size > keptTexts {
		defer c.free(&c.texts)
	}
	for more := true; more; {
		if more, err = c.step(s); err != nil {
			return Result{}, err
		}
	}
	return Result{sqlite3.Xsqlite3_last_insert_rowid(c.tls, c.db), sqlite3.Xsqlite3_changes64(c.tls, c.db)}, nil
}

// step runs a statement up to its next row, false when there is none.
func (c *Conn) step(s *statement) (row bool, err error) {
	if s.at == 0 {
		return false, nil
	}
	switch code := sqlite3.Xsqlite3_step(c.tls, s.at); code {
	case sqlite3.SQLITE_ROW:
		return true, nil
	case sqlite3.SQLITE_DONE:
		return false, nil
	default:
		return false, c.failure(code)
	}
}

// bind hands over the parameters. Their texts stand in a block, which may be another afterwards, until the run is over.
func (c *Conn) bind(s *statement, args []any, texts *block) error {
	if len(args) != len(s.numbers) {
		return fmt.Errorf("%d arguments for %d parameters", len(args), len(s.numbers))
	}
	values, size := c.values[:0], 1 // never none: an empty text has an address, too
	defer func() {
		clear(values)
		c.values = values
	}()
	for _, number := range s.numbers {
		if number >= len(args) {
			return fmt.Errorf("there is no argument $%d", number+1)
		}
		value, long, err := plain(args[number])
		if err != nil {
			return fmt.Errorf("argument $%d: %w", number+1, err)
		}
		values, size = append(values, value), size+long
	}
	if texts.size < size {
		c.free(texts)
		made, err := c.allocate(max(size, 2*texts.size, 4<<10))
		if err != nil {
			return err
		}
		*texts = made
	}
	room := memory(texts.at, texts.size)
	used := 0
	for i, value := range values {
		var code int32
		at, number := texts.at+uintptr(used), int32(i+1)
		switch value := value.(type) {
		case nil:
			code = sqlite3.Xsqlite3_bind_null(c.tls, s.at, number)
		case int64:
			code = sqlite3.Xsqlite3_bind_int64(c.tls, s.at, number, value)
		case float64:
			code = sqlite3.Xsqlite3_bind_double(c.tls, s.at, number, value)
		case string:
			code = sqlite3.Xsqlite3_bind_text(c.tls, s.at, number, at, int32(copy(room[used:], value)), stays)
			used += len(value)
		case []byte:
			code = sqlite3.Xsqlite3_bind_blob(c.tls, s.at, number, at, int32(copy(room[used:], value)), stays)
			used += len(value)
		}
		if code != sqlite3.SQLITE_OK {
			return c.failure(code)
		}
	}
	return nil
}

// stays is SQLITE_STATIC: SQLite need not copy a text.
const stays = 0

// plain makes an argument nil, int64, float64, string or []byte, and tells how many bytes of text it has.
func plain(arg any) (value any, size int, err error) {
	switch arg := arg.(type) {
	case string:
		return arg, len(arg), nil
	case int64:
		return arg, 0, nil
	case sql.NullString:
		if !arg.Valid {
			return nil, 0, nil
		}
		return arg.String, len(arg.String), nil
	case sql.NullInt64:
		if !arg.Valid {
			return nil, 0, nil
		}
		return arg.Int64, 0, nil
	}
	converted, err := driver.DefaultParameterConverter.ConvertValue(arg)
	if err != nil {
		return nil, 0, err
	}
	switch converted := converted.(type) {
	case string:
		return converted, len(converted), nil
	case []byte:
		if converted == nil {
			return nil, 0, nil
		}
		return converted, len(converted), nil
	case bool:
		if converted {
			return int64(1), 0, nil
		}
		return int64(0), 0, nil
	case nil, int64, float64:
		return converted, 0, nil
	}
	return nil, 0, fmt.Errorf("a %T is not stored", arg)
}
