package database

import (
	"hash/crc32"
	"unsafe"
)

// Checksum is CRC-32C (RFC 3720, appendix B.4) of stored texts. The zero value is the checksum of no text.
type Checksum uint32

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Add extends the checksum by a further text.
func (c Checksum) Add(text string) Checksum {
	return Checksum(crc32.Update(uint32(c), castagnoli, unsafe.Slice(unsafe.StringData(text), len(text)))) // read only
}

// Column returns a row's checksum column: c in the high 32 bits, and the checksum of the row's other values in the low
// ones.
func (c Checksum) Column(rest Checksum) int64 { return int64(uint64(c)<<32 | uint64(rest)) }

// Checksums splits a column into its two checksums (Checksum.Column).
func Checksums(column int64) (c, rest Checksum) {
	return Checksum(uint64(column) >> 32), Checksum(uint64(column) & 0xffffffff)
}
