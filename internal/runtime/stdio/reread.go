package stdio

import (
	"errors"

	"harness/internal/runtime/process/shim"
)

// kept returns the offset up to which the spool can drop its output, once the output up to an offset is stored.
func (c *Conn) kept(offset int64) int64 {
	if again, is := c.protocol.(Rereader); is {
		if needs := again.Needs(); needs > 0 {
			return min(offset, needs)
		}
	}
	return offset
}

// reread passes stored output that the protocol's state omits to the protocol again.
func (c *Conn) reread(f shim.Found, stored int64) error {
	again, is := c.protocol.(Rereader)
	if !is {
		return nil
	}
	from := again.Needs()
	if from == 0 || from >= stored {
		return nil
	}
	return eachSpooled(f, from, stored, again.Reread)
}

// eachSpooled iterates over the lines of a spool between two offsets, each with its end. It skips lines above the limit.
func eachSpooled(f shim.Found, from, to int64, take func(line []byte, end int64)) error {
	spooled := shim.Spooled(f, from, to)
	defer func() { _ = spooled.Close() }()
	lines := newLineReader(spooled, maxLine)
	for {
		line, err := lines.next()
		switch {
		case errors.Is(err, errLineTooLong):
		case err != nil:
			return spooled.Err() // nil at the end
		default:
			take(line, from+lines.offset)
		}
	}
}
