// Package lite is a connection to SQLite for the writer: one goroutine at a time uses it. So SQLite need not lock each
// call, and parameters bypass the driver of database/sql, which allocates each of them.
//
// Queries go through database/sql (Connector), because it provides the rows.
package lite

import (
	"errors"
	"fmt"
	"unsafe"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// Error is SQLite's error of a failed call.
type Error struct {
	text string
	code int
}

// Error implements error.
func (e *Error) Error() string { return e.text }

// Code returns SQLite's extended result code.
func (e *Error) Code() int { return e.code }

// errNoMemory means that there is no memory outside Go's heap.
var errNoMemory = &Error{"out of memory (7)", sqlite3.SQLITE_NOMEM}

// Conn is a connection. Calls of it and of its statements must not run concurrently.
type Conn struct {
	tls        *libc.TLS
	db         uintptr
	statements map[string]*statement
	// texts is memory outside Go's heap for the parameters of a statement.
	texts  block
	values []value
	log    uintptr // of a logFile, 0 for none
}

// Open opens a database by its URI and runs pragmas ("name(value)") in order.
func Open(uri string, pragmas ...string) (*Conn, error) {
	c := &Conn{tls: libc.NewTLS(), statements: map[string]*statement{}}
	if err := c.open(uri); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	for _, pragma := range pragmas {
		if _, err := c.Exec("pragma "+pragma, nil); err != nil {
			return nil, errors.Join(fmt.Errorf("pragma %s: %w", pragma, err), c.Close())
		}
	}
	if err := c.holdLog(); err != nil {
		return nil, errors.Join(fmt.Errorf("find the log: %w", err), c.Close())
	}
	c.Forget()
	return c, nil
}

func (c *Conn) open(uri string) error {
	name, err := libc.CString(uri)
	if err != nil {
		return errNoMemory
	}
	defer libc.Xfree(c.tls, name)
	made, err := c.allocate(wordSize)
	if err != nil {
		return err
	}
	defer c.free(&made)
	const how = sqlite3.SQLITE_OPEN_READWRITE | sqlite3.SQLITE_OPEN_CREATE | sqlite3.SQLITE_OPEN_URI | sqlite3.SQLITE_OPEN_NOMUTEX |
		sqlite3.SQLITE_OPEN_EXRESCODE
	code := sqlite3.Xsqlite3_open_v2(c.tls, name, made.at, how, 0)
	c.db = word(made.at) // even after an error there may be a connection to close
	if code != sqlite3.SQLITE_OK {
		return c.failure(code)
	}
	return nil
}

// failure formats the error of the last call like the driver of database/sql.
func (c *Conn) failure(code int32) error {
	text := libc.GoString(sqlite3.Xsqlite3_errstr(c.tls, code))
	if c.db != 0 {
		if said := libc.GoString(sqlite3.Xsqlite3_errmsg(c.tls, c.db)); said != text {
			text += ": " + said
		}
	}
	text = fmt.Sprintf("%s (%d)", text, code)
	if code == sqlite3.SQLITE_BUSY {
		text += " (SQLITE_BUSY)"
	}
	return &Error{text, int(code)}
}

// Statements returns the number of cached prepared statements: one for each text run since Forget.
func (c *Conn) Statements() int { return len(c.statements) }

// Forget releases the prepared statements. No rows may be open.
func (c *Conn) Forget() {
	for _, s := range c.statements {
		c.finalize(s)
	}
	clear(c.statements)
}

// Close closes the connection and ends an open transaction. No rows may be open. Calling it twice is allowed.
func (c *Conn) Close() error {
	if c.tls == nil {
		return nil
	}
	c.Forget()
	c.free(&c.texts)
	if code := sqlite3.Xsqlite3_close(c.tls, c.db); code != sqlite3.SQLITE_OK {
		return c.failure(code)
	}
	if c.log != 0 {
		libc.Xfree(c.tls, logAt(c.log).held)
		libc.Xfree(c.tls, c.log)
	}
	c.tls.Close()
	c.tls, c.db, c.log = nil, 0, 0
	return nil
}

// block is memory outside Go's heap, to which SQLite may refer between two calls.
type block struct {
	at   uintptr // 0 for none
	size int
}

const wordSize = int(unsafe.Sizeof(uintptr(0)))

func (c *Conn) allocate(size int) (block, error) {
	at := libc.Xmalloc(c.tls, libc.Tsize_t(size))
	if at == 0 {
		return block{}, errNoMemory
	}
	return block{at, size}, nil
}

func (c *Conn) free(b *block) {
	if b.at != 0 {
		libc.Xfree(c.tls, b.at)
	}
	*b = block{}
}

// word returns the address stored at an address.
func word(at uintptr) uintptr { return *(*uintptr)(address(at)) }

// memory returns the memory at an address. Go does not manage it, and SQLite or free may release it.
func memory(at uintptr, size int) []byte { return unsafe.Slice((*byte)(address(at)), size) }

// address converts an address outside of Go's heap to a pointer. It must not be inlined: the compiler would then see
// a pointer where it expects a number.
//
//go:noinline
func address(at uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&at)) }
