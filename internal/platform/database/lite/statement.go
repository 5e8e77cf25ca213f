package lite

import (
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unsafe"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// statement is a prepared statement.
type statement struct {
	at      uintptr // 0 for an empty text
	numbers []int   // index of the argument for each parameter: 0 for $1; for a ? the number of parameters before it
	columns []string
	open    bool // rows are open
	kept    bool
}

// prepare returns the statement of a text, and prepares it if needed. While a statement's rows are open, it prepares
// another one, which is not cached.
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

// ended drops the buffered log if no transaction is open.
func (c *Conn) ended() {
	if c.log != 0 && sqlite3.Xsqlite3_get_autocommit(c.tls, c.db) != 0 {
		logAt(c.log).forget()
	}
}

// Result is the effect of a finished statement.
type Result struct{ id, rows int64 }

// LastInsertId implements sql.Result.
func (r Result) LastInsertId() (int64, error) { return r.id, nil }

// RowsAffected implements sql.Result.
func (r Result) RowsAffected() (int64, error) { return r.rows, nil }

// keptTexts is how much memory, in bytes, is kept for parameters between two statements.
const keptTexts = 256 << 10

// Exec runs a statement to its end. The argument types are those of database/sql, except times.
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

// step runs a statement up to its next row; false if there is none.
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

// bind binds the parameters. Their texts stay in a block until the run ends; the next run may use another block.
func (c *Conn) bind(s *statement, args []any, texts *block) error {
	if len(args) != len(s.numbers) {
		return fmt.Errorf("%d arguments for %d parameters", len(args), len(s.numbers))
	}
	values, size := c.values[:0], 1 // at least 1: an empty text also needs an address
	defer func() {
		clear(values)
		c.values = values
	}()
	for _, number := range s.numbers {
		if number >= len(args) {
			return fmt.Errorf("there is no argument $%d", number+1)
		}
		value, err := valueOf(args[number])
		if err != nil {
			return fmt.Errorf("argument $%d: %w", number+1, err)
		}
		values, size = append(values, value), size+len(value.text)
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
	for i := range values {
		value := &values[i]
		var code int32
		at, length, number := texts.at+uintptr(used), int32(copy(room[used:], value.text)), int32(i+1)
		used += len(value.text)
		switch value.kind {
		case sqlite3.SQLITE_INTEGER:
			code = sqlite3.Xsqlite3_bind_int64(c.tls, s.at, number, value.number)
		case sqlite3.SQLITE_FLOAT:
			code = sqlite3.Xsqlite3_bind_double(c.tls, s.at, number, value.float)
		case sqlite3.SQLITE_TEXT:
			code = sqlite3.Xsqlite3_bind_text(c.tls, s.at, number, at, length, stays)
		case sqlite3.SQLITE_BLOB:
			code = sqlite3.Xsqlite3_bind_blob(c.tls, s.at, number, at, length, stays)
		default:
			code = sqlite3.Xsqlite3_bind_null(c.tls, s.at, number)
		}
		if code != sqlite3.SQLITE_OK {
			return c.failure(code)
		}
	}
	return nil
}

// stays is SQLITE_STATIC: SQLite need not copy a text.
const stays = 0

// value is an argument for SQLite. As an any, each text and number would need another allocation.
type value struct {
	kind   int // SQLite's type; NULL for a type that SQLite does not have
	text   string
	number int64
	float  float64
}

func textValue(text string) value { return value{kind: sqlite3.SQLITE_TEXT, text: text} }
func intValue(number int64) value { return value{kind: sqlite3.SQLITE_INTEGER, number: number} }
func given(of value, is bool) value {
	if !is {
		return value{kind: sqlite3.SQLITE_NULL}
	}
	return of
}

func valueOf(arg any) (value, error) {
	switch arg := arg.(type) {
	case string:
		return textValue(arg), nil
	case int64:
		return intValue(arg), nil
	case sql.NullString:
		return given(textValue(arg.String), arg.Valid), nil
	case sql.NullInt64:
		return given(intValue(arg.Int64), arg.Valid), nil
	}
	converted, err := driver.DefaultParameterConverter.ConvertValue(arg)
	if err != nil {
		return value{}, err
	}
	switch converted := converted.(type) {
	case nil:
		return given(value{}, false), nil
	case string:
		return textValue(converted), nil
	case int64:
		return intValue(converted), nil
	case float64:
		return value{kind: sqlite3.SQLITE_FLOAT, float: converted}, nil
	case []byte:
		// It must not change during the copy.
		blob := unsafe.String(unsafe.SliceData(converted), len(converted))
		return given(value{kind: sqlite3.SQLITE_BLOB, text: blob}, converted != nil), nil
	case bool:
		if converted {
			return intValue(1), nil
		}
		return intValue(0), nil
	}
	return value{}, fmt.Errorf("a %T cannot be stored", arg)
}
