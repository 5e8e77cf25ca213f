package auth

import (
	"net/http"
	"net/netip"
	"sync"
	"time"
)

const (
	// maxGuesses is how many wrong tokens an address may send in one guessWindow.
	maxGuesses  = 10
	guessWindow = time.Second
	// maxGuessers bounds the recorded addresses. Beyond it the oldest is dropped.
	maxGuessers = 4096
)

// TooManyGuesses is the code for an invalid token from an address that is rate limited.
const TooManyGuesses = "too_many_guesses"

// Brake rate limits guesses of tokens: after maxGuesses wrong ones within a second, it refuses tokens from that address
// until the second is over. It does not compare a secret that a person chose, and so refuses the correct one, too;
// otherwise the answer would reveal it. Tokens made by a server or an issuer stay valid: they have 256 random bits or a
// signature, so guessing cannot find one. So a guesser blocks no other client of its address. All loopback addresses
// count as one, and so does an IPv6 /64. A Brake is safe for concurrent use; nil has no limit.
type Brake struct {
	now func() time.Time

	mu      sync.Mutex
	windows map[netip.Prefix]*guesses
	// order holds the windows by start, oldest first. All windows are equally long, so the first one ends first.
	order []*guesses
}

// guesses counts the wrong tokens of one address.
type guesses struct {
	from  netip.Prefix
	start time.Time
	wrong int
}

// NewBrake makes a brake; now is time.Now when nil.
func NewBrake(now func() time.Time) *Brake {
	if now == nil {
		now = time.Now
	}
	return &Brake{now: now, windows: map[netip.Prefix]*guesses{}}
}

// Braked reports whether a secret that a person chose must not be compared now.
func (b *Brake) Braked(r *http.Request) bool {
	if b == nil {
		return false
	}
	from := guesser(r)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.forget()
	window := b.windows[from]
	return window != nil && window.wrong >= maxGuesses
}

// Wrong counts a token that this server did not make.
func (b *Brake) Wrong(r *http.Request) {
	if b == nil {
		return
	}
	from := guesser(r)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.forget()
	window := b.windows[from]
	if window == nil {
		if len(b.order) >= maxGuessers {
			b.drop()
		}
		window = &guesses{from: from, start: b.now()}
		b.windows[from], b.order = window, append(b.order, window)
	}
	window.wrong++
}

// forget drops the windows that have ended.
func (b *Brake) forget() {
	for len(b.order) > 0 && b.now().Sub(b.order[0].start) >= guessWindow {
		b.drop()
	}
}

func (b *Brake) drop() {
	delete(b.windows, b.order[0].from)
	b.order[0] = nil
	b.order = b.order[1:]
}

// guesser returns the address of a guess. All invalid addresses count as one.
func guesser(r *http.Request) netip.Prefix {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Prefix{}
	}
	address := peer.Addr().Unmap().WithZone("")
	switch {
	case address.IsLoopback():
		return netip.PrefixFrom(netip.IPv6Loopback(), 128)
	case address.Is6():
		return netip.PrefixFrom(address, 64).Masked()
	}
	return netip.PrefixFrom(address, 32)
}

// RetryGuess is the value of Retry-After, in seconds.
const RetryGuess = "1"

// isGuess reports whether a refusal is for a token that does not exist.
func (r *Refusal) isGuess() bool {
	switch r.Code {
	case "unauthorized", "link_not_valid", "invalid_bearer_token", "invalid_header_token":
		return true
	}
	return false
}

// tooManyGuesses returns the refusal while an address is braked.
func tooManyGuesses() *Refusal {
	return &Refusal{HTTPStatus: http.StatusTooManyRequests, Status: "error", Code: TooManyGuesses,
		Message: "too many wrong tokens came from your address; send the request again in a second"}
}
