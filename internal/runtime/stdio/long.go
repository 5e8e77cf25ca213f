package stdio

import (
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	// longLine is the minimum length of a line that the reader collects outside the Go heap. Growing a slice leaves
	// several times its size as garbage.
	longLine = 1 << 20
	// moveBytes is the part of a long line that each step moves into the heap. It is a multiple of every page size.
	moveBytes = 1 << 20
	// hugeLine is the minimum length of a line that the connection processes alone. It reads the next line after the
	// sink stored this one and its memory is free. Otherwise a slow sink or collector would keep several such lines
	// in memory.
	hugeLine = 16 << 20
)

// lineBuffer collects one line of unknown length. It needs little more memory than the line.
type lineBuffer struct {
	short []byte
	// long is a mapping of capacity bytes. Only written bytes use memory. It is nil until the line is long.
	long     []byte
	capacity int
	size     int
}

func (b *lineBuffer) add(part []byte) {
	if b.long == nil && b.size+len(part) > longLine {
		// Without a mapping (a limit on address space) the slice grows normally.
		if long, err := unix.Mmap(-1, 0, b.capacity, unix.PROT_READ|unix.PROT_WRITE,
			unix.MAP_PRIVATE|unix.MAP_ANON); err == nil {
			copy(long, b.short)
			b.long, b.short = long, nil
		}
	}
	if b.long != nil {
		copy(b.long[b.size:], part)
	} else {
		b.short = append(b.short, part...)
	}
	b.size += len(part)
}

// detach returns the line in separate memory and starts another one.
func (b *lineBuffer) detach() []byte {
	if b.long == nil {
		line := b.short
		b.short, b.size = nil, 0
		return line
	}
	var line strings.Builder
	line.Grow(b.size) // make would clear reused memory first, and the line would be in memory twice
	for at := 0; at < b.size; at += moveBytes {
		line.Write(b.long[at:min(at+moveBytes, b.size)])
		_ = unix.Madvise(b.long[at:min(at+moveBytes, len(b.long))], unix.MADV_DONTNEED)
	}
	b.drop()
	return unsafe.Slice(unsafe.StringData(line.String()), line.Len())
}

// drop discards the collected bytes.
func (b *lineBuffer) drop() {
	if b.long != nil {
		_ = unix.Munmap(b.long)
	}
	b.short, b.long, b.size = nil, nil, 0
}
