package lite

import (
	"context"
	"database/sql/driver"
	"encoding/binary"
	"errors"
	"unsafe"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// SQLite writes its log (WAL) frame by frame, and writes the header and the page of each separately. A transaction of
// some upserts takes a hundred system calls. Here the frames are buffered, and written together with the one that
// completes the transaction. That happens before SQLite gets the result of that write, and so before a reader can see
// the transaction.
//
// The bytes and their order are the same. Any other operation on the file comes after the buffered frames. Frames that
// are still buffered when a transaction has ended belong to a rolled-back transaction, and are discarded: from then on
// others may write to their place.

// logFile replaces SQLite's own methods for its log file. It is outside Go's heap.
type logFile struct {
	methods sqlite3.Tsqlite3_io_methods // first, where SQLite expects it
	inner   uintptr                     // SQLite's own
	held    uintptr                     // unwritten frames
	used    int32                       // bytes in held
	at      int64                       // offset at which to write them
	end     int64                       // the end of the last frame, 0 while unknown
	page    int64                       // offset of the page whose header was passed on, 0 for none
	salt    uint64                      // salt of the log, as of the last frame
	whole   int64                       // end of the last frame that completed a transaction, 0 for none
	headed  bool                        // the buffer ends with a header
	last    bool                        // the frame of the last header completes a transaction
}

const (
	frameHeader = 24
	// heldBytes bounds the buffer, writeBytes one write: SQLite's own method accepts less than 128 KiB.
	heldBytes  = 256 << 10
	writeBytes = 64 << 10
)

var errNoLog = errors.New("it is not open")

// holdLog makes the connection buffer its log as described above, if it has a log.
func (c *Conn) holdLog() error {
	if _, err := c.Exec(`select 1 from sqlite_schema`, nil); err != nil { // this opens it
		return err
	}
	if mode, err := c.text(`pragma journal_mode`); err != nil || mode != "wal" {
		return err
	}
	out, err := c.allocate(wordSize)
	if err != nil {
		return err
	}
	defer c.free(&out)
	if code := sqlite3.Xsqlite3_file_control(c.tls, c.db, 0, sqlite3.SQLITE_FCNTL_JOURNAL_POINTER,
		out.at); code != sqlite3.SQLITE_OK {
		return c.failure(code)
	}
	file := methodsOf(word(out.at))
	if *file == 0 {
		return errNoLog
	}
	at := libc.Xcalloc(c.tls, 1, libc.Tsize_t(unsafe.Sizeof(logFile{})))
	held := libc.Xmalloc(c.tls, heldBytes)
	if at == 0 || held == 0 {
		libc.Xfree(c.tls, at)
		libc.Xfree(c.tls, held)
		return errNoMemory
	}
	log := logAt(at)
	c.log = at
	log.inner, log.held = *file, held
	log.methods = *methodsAt(log.inner)
	log.methods.FxClose = pointer(closeLog)
	log.methods.FxRead = pointer(readLog)
	log.methods.FxWrite = pointer(writeLog)
	log.methods.FxTruncate = pointer(truncateLog)
	log.methods.FxSync = pointer(syncLog)
	log.methods.FxFileSize = pointer(sizeOfLog)
	*file = at
	return nil
}

// text returns the only column of a query's first row.
func (c *Conn) text(query string) (text string, err error) {
	found, err := session{c}.QueryContext(context.Background(), query, nil)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, found.Close()) }()
	row := make([]driver.Value, 1)
	err = found.Next(row)
	text, _ = row[0].(string)
	return text, err
}

func writeLog(tls *libc.TLS, file, from uintptr, size int32, at int64) int32 {
	log := logOf(file)
	bytes := memory(from, int(size))
	switch {
	case size == frameHeader && at == log.end && at != 0 && !log.headed && log.used+size <= heldBytes:
		// A frame that the transaction rewrites is before the end.
		log.hold(bytes, at)
		log.headed = true
		log.header(bytes)
		return sqlite3.SQLITE_OK
	case log.headed && at == log.end+frameHeader && log.used+size <= heldBytes:
		log.hold(bytes, at)
		log.headed, log.end = false, at+int64(size)
		if !log.last {
			return sqlite3.SQLITE_OK
		}
		code := log.flush(tls, file)
		if code == sqlite3.SQLITE_OK {
			log.whole = log.end
		}
		return code
	}
	if code := log.flush(tls, file); code != sqlite3.SQLITE_OK {
		return code
	}
	code := log.write(tls, file, from, size, at)
	switch {
	case code != sqlite3.SQLITE_OK:
		log.end, log.page = 0, 0
	case at == 0: // the log's own header: the log restarts
		log.end, log.page, log.whole = int64(size), 0, 0
	case size == frameHeader:
		log.page = at + frameHeader
		log.header(bytes)
	case at == log.page:
		log.end, log.page = at+int64(size), 0
		if log.last {
			log.whole = log.end
		}
	default:
		log.page = 0
	}
	return code
}

// header stores the values of a frame's header.
func (l *logFile) header(bytes []byte) {
	l.last = binary.BigEndian.Uint32(bytes[4:]) != 0 // the size of the database after the transaction, or 0 within it
	if salt := binary.BigEndian.Uint64(bytes[8:]); salt != l.salt {
		l.salt, l.whole = salt, 0 // another connection restarted the log
	}
}

// LogEnd returns the salt of the log, which is the same in all its frames and differs between logs. It also returns the
// offset at which the last transaction of this connection ends, 0 while there is none.
func (c *Conn) LogEnd() (salt uint64, end int64) {
	if c.log == 0 {
		return 0, 0
	}
	log := logAt(c.log)
	return log.salt, log.whole
}

// hold buffers bytes for an offset, which must follow the buffered bytes.
func (l *logFile) hold(bytes []byte, at int64) {
	if l.used == 0 {
		l.at = at
	}
	copy(memory(l.held+uintptr(l.used), len(bytes)), bytes)
	l.used += int32(len(bytes))
	l.page = 0
}

// flush writes the buffer. After an error it drops the buffer, because SQLite ends the transaction.
func (l *logFile) flush(tls *libc.TLS, file uintptr) int32 {
	if l.used == 0 {
		return sqlite3.SQLITE_OK
	}
	code := int32(sqlite3.SQLITE_OK)
	for done := int32(0); done < l.used && code == sqlite3.SQLITE_OK; done += writeBytes {
		code = l.write(tls, file, l.held+uintptr(done), min(l.used-done, writeBytes), l.at+int64(done))
	}
	if l.headed || code != sqlite3.SQLITE_OK {
		l.end = 0
	}
	l.used, l.headed = 0, false
	return code
}

func (l *logFile) write(tls *libc.TLS, file, from uintptr, size int32, at int64) int32 {
	return call[func(*libc.TLS, uintptr, uintptr, int32, int64) int32](methodsAt(l.inner).FxWrite)(tls, file,
		from, size, at)
}

// flushed writes the buffer and returns SQLite's own methods. After an error the caller makes no further call.
func flushed(tls *libc.TLS, file uintptr) (inner *sqlite3.Tsqlite3_io_methods, code int32) {
	log := logOf(file)
	code = log.flush(tls, file)
	return methodsAt(log.inner), code
}

func readLog(tls *libc.TLS, file, into uintptr, size int32, at int64) int32 {
	inner, code := flushed(tls, file)
	if code != sqlite3.SQLITE_OK {
		return code
	}
	return call[func(*libc.TLS, uintptr, uintptr, int32, int64) int32](inner.FxRead)(tls, file, into, size, at)
}

func truncateLog(tls *libc.TLS, file uintptr, size int64) int32 {
	inner, code := flushed(tls, file)
	if code != sqlite3.SQLITE_OK {
		return code
	}
	logOf(file).end = 0
	return call[func(*libc.TLS, uintptr, int64) int32](inner.FxTruncate)(tls, file, size)
}

func syncLog(tls *libc.TLS, file uintptr, how int32) int32 {
	inner, code := flushed(tls, file)
	if code != sqlite3.SQLITE_OK {
		return code
	}
	return call[func(*libc.TLS, uintptr, int32) int32](inner.FxSync)(tls, file, how)
}

func sizeOfLog(tls *libc.TLS, file, into uintptr) int32 {
	inner, code := flushed(tls, file)
	if code != sqlite3.SQLITE_OK {
		return code
	}
	return call[func(*libc.TLS, uintptr, uintptr) int32](inner.FxFileSize)(tls, file, into)
}

func closeLog(tls *libc.TLS, file uintptr) int32 {
	log := logOf(file)
	log.forget()
	*methodsOf(file) = log.inner
	return call[func(*libc.TLS, uintptr) int32](methodsAt(log.inner).FxClose)(tls, file)
}

// forget drops the buffer.
func (l *logFile) forget() {
	if l.used > 0 {
		l.used, l.headed, l.end = 0, false, 0
	}
}

// methodsOf returns a file's field with the address of its methods.
func methodsOf(file uintptr) *uintptr { return (*uintptr)(address(file)) }

func methodsAt(at uintptr) *sqlite3.Tsqlite3_io_methods {
	return (*sqlite3.Tsqlite3_io_methods)(address(at))
}

func logAt(at uintptr) *logFile { return (*logFile)(address(at)) }

func logOf(file uintptr) *logFile { return logAt(*methodsOf(file)) }

// pointer returns the address by which SQLite calls a function, which must not capture variables.
func pointer[F any](function F) uintptr { return *(*uintptr)(unsafe.Pointer(&function)) }

// call returns the function at an address of SQLite.
func call[F any](at uintptr) F { return *(*F)(unsafe.Pointer(&struct{ at uintptr }{at})) }
