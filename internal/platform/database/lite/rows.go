package lite

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"

	sqlite3 "modernc.org/sqlite/lib"
)

// Connector gives database/sql the connection, which stays open when database/sql closes it. It runs statements and
// queries without preparing them: the connection does that by itself. Nothing watches the context of a query.
func (c *Conn) Connector() driver.Connector { return connector{c} }

type connector struct{ conn *Conn }

// Connect implements driver.Connector.
func (c connector) Connect(context.Context) (driver.Conn, error) { return session{c.conn}, nil }

// Driver implements driver.Connector.
func (c connector) Driver() driver.Driver { return nil }

// session is the connection as database/sql sees it.
type session struct{ *Conn }

var errUnprepared = errors.New("this connection takes statements and queries alone")

// Prepare implements driver.Conn.
func (session) Prepare(string) (driver.Stmt, error) { return nil, errUnprepared }

// Begin implements driver.Conn.
func (session) Begin() (driver.Tx, error) { return nil, errUnprepared }

// Close implements driver.Conn.
func (session) Close() error { return nil }

// CheckNamedValue implements driver.NamedValueChecker: values are converted where they are handed over.
func (session) CheckNamedValue(*driver.NamedValue) error { return nil }

// ExecContext implements driver.ExecerContext.
func (s session) ExecContext(_ context.Context, text string, args []driver.NamedValue) (driver.Result, error) {
	return s.Exec(text, unnamed(args))
}

// QueryContext implements driver.QueryerContext.
func (s session) QueryContext(_ context.Context, text string, args []driver.NamedValue) (driver.Rows, error) {
	prepared, err := s.prepare(text)
	if err != nil {
		return nil, err
	}
	r := &rows{conn: s.Conn, statement: prepared}
	prepared.open = true
	if err = s.bind(prepared, unnamed(args), &r.texts); err == nil {
		r.row, err = s.step(prepared)
		r.stepped = true
	}
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

func unnamed(args []driver.NamedValue) []any {
	values := make([]any, len(args))
	for i := range args {
		values[i] = args[i].Value
	}
	return values
}

// rows are those of a query.
type rows struct {
	conn      *Conn
	statement *statement // nil once closed
	texts     block
	row       bool // the statement stands at one
	stepped   bool // not returned to the caller yet
}

// Columns implements driver.Rows.
func (r *rows) Columns() []string { return r.statement.columns }

// Close implements driver.Rows.
func (r *rows) Close() error {
	if r.statement != nil {
		r.conn.over(r.statement)
		r.conn.free(&r.texts)
		r.statement = nil
	}
	return nil
}

// Next implements driver.Rows.
func (r *rows) Next(dest []driver.Value) error {
	if r.row && !r.stepped {
		var err error
		if r.row, err = r.conn.step(r.statement); err != nil {
			return err
		}
	}
	if !r.row {
		return io.EOF
	}
	r.stepped = false
	tls, at := r.conn.tls, r.statement.at
	for i := range dest {
		column := int32(i)
		switch sqlite3.Xsqlite3_column_type(tls, at, column) {
		case sqlite3.SQLITE_INTEGER:
			dest[i] = sqlite3.Xsqlite3_column_int64(tls, at, column)
		case sqlite3.SQLITE_FLOAT:
			dest[i] = sqlite3.Xsqlite3_column_double(tls, at, column)
		case sqlite3.SQLITE_TEXT:
			text := sqlite3.Xsqlite3_column_text(tls, at, column)
			dest[i] = string(memory(text, int(sqlite3.Xsqlite3_column_bytes(tls, at, column))))
		case sqlite3.SQLITE_BLOB:
			blob := sqlite3.Xsqlite3_column_blob(tls, at, column)
			dest[i] = append([]byte{}, memory(blob, int(sqlite3.Xsqlite3_column_bytes(tls, at, column)))...)
		default:
			dest[i] = nil
		}
	}
	return nil
}
