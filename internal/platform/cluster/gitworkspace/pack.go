package gitworkspace

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1" //nolint:gosec // by which git ends a pack
	"encoding/binary"
	"io"
)

// packTag is the type of an annotated tag in a pack.
const packTag = 4

// packTags writes annotated tags as a git pack (gitformat-pack, version 2), so that git gets many objects at once.
func packTags(tags []string) (io.Reader, error) {
	var pack bytes.Buffer
	pack.WriteString("PACK")
	for _, word := range []uint32{2, uint32(len(tags))} { //nolint:gosec // there are not so many
		pack.Write(binary.BigEndian.AppendUint32(nil, word))
	}
	for _, tag := range tags {
		size := len(tag)
		next := byte(packTag<<4 | size&15)
		for size >>= 4; size > 0; size >>= 7 {
			pack.WriteByte(next | 0x80)
			next = byte(size & 0x7f)
		}
		pack.WriteByte(next)
		compressed := zlib.NewWriter(&pack)
		if _, err := io.WriteString(compressed, tag); err != nil {
			return nil, err
		}
		if err := compressed.Close(); err != nil {
			return nil, err
		}
	}
	sum := sha1.Sum(pack.Bytes()) //nolint:gosec // by which git ends a pack
	pack.Write(sum[:])
	return &pack, nil
}
