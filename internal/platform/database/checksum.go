package database

import (
	"hash/crc32"
	"unsafe"
)

// Checksum is CRC-32C (RFC 3720, appendix B.4) of texts that are stored. The zero value is that of none.
type Checksum uint32

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Add is the checksum of what c is of, and a text behind it.
func (c Checksum) Add(text string) Checksum {
	return Checksum(crc32.Update(uint32(c), castagnoli, unsafe.Slice(unsafe.StringData(text), len(text)))) // read only
}

// Column is what a row keeps: c in the high 32 bits, and the checksum of what else the row says in the low ones.
func (c Checksum) Column(rest Checksum) int64 { return int64(uint64(c)<<32 | uint64(rest)) }

// Checksums are the two of a column (Checksum.Column).
func Checksums(column int64) (c, rest Checksum) {
	return Checksum(uint64(column) >> 32), Checksum(uint64(column) & 0xffffffff)
}
