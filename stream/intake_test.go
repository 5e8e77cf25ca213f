package stream

import (
	"errors"
	"math/rand/v2"
	"testing"
	"time"
)

// masked returns a client's frame.
func masked(first byte, payload int) []byte {
	frame := []byte{first}
	switch {
	case payload < 126:
		frame = append(frame, 0x80|byte(payload))
	case payload < 1<<16:
		frame = append(frame, 0x80|126, byte(payload>>8), byte(payload))
	default:
		frame = append(frame, 0x80|127, 0, 0, 0, 0, byte(payload>>24), byte(payload>>16), byte(payload>>8), byte(payload))
	}
	return append(frame, make([]byte, 4+payload)...)
}

// However the bytes are split, the intake detects an unfinished message, and how long it has been unfinished.
func TestIntakeTracksUnfinishedMessage(t *testing.T) {
	t.Parallel()
	const (
		text, fragment, middle, last, ping = 0x81, 0x01, 0x00, 0x80, 0x89
	)
	random := rand.New(rand.NewPCG(6, 2))
	for range 300 {
		// For each piece: is a message or frame unfinished after it?
		var stream []byte
		whole := map[int]bool{0: true}
		open := false
		for range 8 {
			size := []int{0, 1, 125, 126, 300, 1 << 16, 70_000}[random.IntN(7)]
			switch first := []byte{text, ping}[random.IntN(2)]; {
			case first == ping:
				stream = append(stream, masked(ping, min(size, 125))...)
			case open:
				open = random.IntN(2) == 0
				stream = append(stream, masked(map[bool]byte{true: middle, false: last}[open], size)...)
			default:
				open = random.IntN(2) == 0
				stream = append(stream, masked(map[bool]byte{true: fragment, false: text}[open], size)...)
			}
			whole[len(stream)] = !open
		}
		now := time.Unix(1000, 0)
		in := newIntake(&intakeLimits{rate: 1, burst: 1e9, largest: 1 << 20}, now)
		since := time.Time{}
		for at := 0; at < len(stream); {
			n := 1 + random.IntN(min(len(stream)-at, []int{3, 2000, 100_000}[random.IntN(3)]))
			now = now.Add(time.Second)
			// The current message started in this piece if there was a boundary before its end.
			for k := at; k < at+n; k++ {
				if whole[k] {
					since = now
				}
			}
			if err := in.count(stream[at:at+n], now); err != nil {
				t.Fatal(err)
			}
			at += n
			want := since
			if whole[at] {
				want = time.Time{}
			}
			if !in.started.Equal(want) {
				t.Fatalf("after %d of %d bytes: unfinished since %v, want %v", at, len(stream), in.started, want)
			}
		}
	}
}

// Frames cost by number and size, and the allowance grows with time.
func TestIntakeRate(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		frame []byte
		fits  int // how many of them a burst of 100 admits
	}{
		"empty":    {masked(0x81, 0), 100},
		"ping":     {masked(0x89, 10), 99},
		"pong":     {masked(0x8a, 0), 100},
		"fragment": {masked(0x00, 0), 1600},
		"100 KiB":  {masked(0x82, 100<<10), 3},
	} {
		now := time.Unix(1000, 0)
		in := newIntake(&intakeLimits{rate: 10, burst: 100, largest: 1 << 20}, now)
		flood := func() int {
			for n := 0; ; n++ {
				if err := in.count(test.frame, now); errors.Is(err, errTooFast) {
					return n
				}
				if n > 2000 {
					t.Fatalf("%s: no end", name)
				}
			}
		}
		if n := flood(); n != test.fits {
			t.Errorf("%s: %d at once, want %d", name, n, test.fits)
		}
		now = now.Add(time.Hour)
		if n := flood(); n != test.fits {
			t.Errorf("%s: %d after a rest, want %d", name, n, test.fits)
		}
	}
	// The library refuses a frame that is too long, with 1009.
	in := newIntake(&intakeLimits{rate: 10, burst: 300, largest: 1 << 20}, time.Unix(1000, 0))
	if err := in.count(masked(0x82, 16<<20)[:14], time.Unix(1000, 0)); err != nil {
		t.Error(err)
	}
}
