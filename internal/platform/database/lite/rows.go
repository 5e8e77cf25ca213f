package lite

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"

	sqlite3 "modernc.org/sqlite/lib"
)

// Connector gives database/sql the connection, which stays open when database/sql closes it. database/sql does not
// prepare statements: the connection does that itself. The context of a query is not observed.
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

// CheckNamedValue implements driver.NamedValueChecker. Values are converted when they are bound.
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

// rows are the rows of a query.
type rows struct {
	conn      *Conn
	statement *statement // nil once closed
	texts     block
	row       bool // the statement is at a row
	stepped   bool // that row has not been returned yet
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
