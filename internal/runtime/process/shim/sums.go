package shim

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"strings"
)

const (
	sumSuffix = ".sum"
	sumBytes  = 8 // number of following file bytes, and their CRC-32C, each in 4 bytes
)

// DamageError means that a spool file is damaged.
type DamageError struct {
	// Offset is the end of the intact output.
	Offset int64
}

// Error implements error.
func (e *DamageError) Error() string {
	return fmt.Sprintf("the spool is damaged behind offset %d; look at the disk and the memory of this machine", e.Offset)
}

func sumPath(segment string) string { return strings.TrimSuffix(segment, segmentSuffix) + sumSuffix }

// sums are the checksums of a spool file in progress, one record per write. After a failed write of a record, later
// writes have none: checksums never block a spool.
type sums struct{ file *os.File }

func openSums(segment string) sums {
	file, err := os.OpenFile(sumPath(segment), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return sums{}
	}
	return sums{file}
}

// add records a write to the file.
func (s *sums) add(written []byte) {
	if s.file == nil || len(written) == 0 {
		return
	}
	var record [sumBytes]byte
	binary.BigEndian.PutUint32(record[:], uint32(len(written))) //nolint:gosec // a pipe's worth
	binary.BigEndian.PutUint32(record[4:], crc32.Checksum(written, crc32.MakeTable(crc32.Castagnoli)))
	if _, err := s.file.Write(record[:]); err != nil {
		s.close()
	}
}

func (s *sums) close() {
	if s.file != nil {
		_ = s.file.Close()
		s.file = nil
	}
}

// wholeBytes returns the number of intact bytes of a spool file, -1 for all with checksums: the last write may have
// none.
func wholeBytes(segment string) (int64, error) {
	records, err := os.ReadFile(sumPath(segment))
	if errors.Is(err, os.ErrNotExist) {
		return -1, nil // of an older shim
	}
	if err != nil {
		return 0, err
	}
	file, err := os.Open(segment)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	whole, content := int64(0), bufio.NewReaderSize(file, 64<<10)
	for ; len(records) >= sumBytes; records = records[sumBytes:] {
		size := int64(binary.BigEndian.Uint32(records))
		sum := crc32.New(crc32.MakeTable(crc32.Castagnoli))
		if n, err := io.CopyN(sum, content, size); n < size && !errors.Is(err, io.EOF) {
			return 0, err
		}
		if sum.Sum32() != binary.BigEndian.Uint32(records[4:]) {
			return whole, nil
		}
		whole += size
	}
	return -1, nil
}
