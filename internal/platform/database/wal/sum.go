package wal

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// checksum is SQLite's checksum of 32-bit words, in pairs (file format, section 4.2).
type checksum struct{ a, b uint32 }

// over extends the checksum by bytes, whose number is a multiple of 8.
func (s checksum) over(data []byte, order binary.ByteOrder) checksum {
	for i := 0; i+8 <= len(data); i += 8 {
		s.a += order.Uint32(data[i:]) + s.b
		s.b += order.Uint32(data[i+4:]) + s.a
	}
	return s
}

// stored returns a checksum from the file.
func stored(at []byte) checksum {
	return checksum{binary.BigEndian.Uint32(at), binary.BigEndian.Uint32(at[4:])}
}

// span is a part of a frame or header that the sum covers.
type span struct{ from, to int }

// repair is a bit whose change makes a frame or header intact: the offset of its byte, the byte's new value, and the
// sum with which the next frame continues.
type repair struct {
	at    int
	value byte
	sum   checksum
}

// repairs reports whether data is whole: whether the sum over the spans, continued from a start, is the one stored at
// sumAt. If it is not, repairs returns the bits whose change would make it whole. There may be several: changing the
// highest bits of a word has the same effect in many places.
func repairs(data []byte, order binary.ByteOrder, start checksum, sumAt int, spans ...span) (found []repair, whole bool) {
	got, want := start, stored(data[sumAt:])
	for _, one := range spans {
		got = got.over(data[one.from:one.to], order)
	}
	if got == want {
		return nil, true
	}
	if differ := uint64(got.a^want.a)<<32 | uint64(got.b^want.b); bits.OnesCount64(differ) == 1 {
		bit := bits.LeadingZeros64(differ)
		found = append(found, repair{sumAt + bit/8, data[sumAt+bit/8] ^ 0x80>>(bit%8), got})
	}
	oneBit(data, order, checksum{want.a - got.a, want.b - got.b}, spans, func(word, bit int) {
		at := word + bit/8
		if order == binary.BigEndian {
			at = word + 3 - bit/8
		}
		found = append(found, repair{at, data[at] ^ 1<<(bit%8), want})
	})
	return found, false
}

// oneBit finds the bits of the spans whose change increases the sum by more: the offset of a word, and the bit's
// position in it. The checksum is linear. Increasing a word by d increases the sum by d times a factor that depends
// only on the word's offset.
func oneBit(data []byte, order binary.ByteOrder, more checksum, spans []span, found func(word, bit int)) {
	try := func(at int, weight checksum) {
		value := order.Uint32(data[at:])
		for bit := range 32 {
			d := uint32(1) << bit
			if value&d != 0 {
				d = -d
			}
			if d*weight.a == more.a && d*weight.b == more.b {
				found(at, bit)
			}
		}
	}
	// The effect on the final sum of increasing either half of the sum by 1 before a pair of words.
	ofA, ofB := checksum{1, 0}, checksum{0, 1}
	for _, one := range slices.Backward(spans) {
		for at := one.to - 8; at >= one.from; at -= 8 {
			both := checksum{ofA.a + ofB.a, ofA.b + ofB.b}
			try(at, both)
			try(at+4, ofB)
			ofA, ofB = both, checksum{both.a + ofB.a, both.b + ofB.b}
		}
	}
}
