package auth

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"
)

// The lifetime of keys, and the interval of reads.
const (
	keysFresh    = 10 * time.Minute // after this age the keys are read again
	keysStale    = time.Hour        // after this age the keys are no longer used
	keysPause    = 30 * time.Second // between reads caused by tokens with an unknown key
	keysPatience = 5 * time.Second
	maxKeySet    = 1 << 20 // bytes
	leastRSABits = 2048
)

// ErrNoKeys means that an issuer's keys cannot be read, so no token of it can be checked.
var ErrNoKeys = errors.New("cannot read the keys of the issuer")

var errUnknownKey = errors.New("the token is signed with a key that the issuer does not publish")

// KeySet holds the public keys of a token issuer (a JWKS, RFC 7517), read from a file or a URL and cached. It is safe
// for concurrent use.
type KeySet struct {
	source string
	client *http.Client
	now    func() time.Time

	mu          sync.Mutex
	keys        []publicKey
	read, tried time.Time
	failed      error
}

// publicKey is a key with its algorithm and id, each "" if the set does not name it.
type publicKey struct {
	id, alg string
	key     crypto.PublicKey
}

// NewKeySet makes a set that is read on demand. source is a file, or an http or https URL; now is time.Now when nil.
func NewKeySet(source string, now func() time.Time) *KeySet {
	if now == nil {
		now = time.Now
	}
	// A redirect could lead from https to anywhere.
	client := &http.Client{Timeout: keysPatience, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}
	return &KeySet{source: source, client: client, now: now}
}

// key returns the key for an algorithm and an id. The id is "" if the token names none; the set must then have only one
// such key. ErrNoKeys.
func (s *KeySet) key(ctx context.Context, alg, id string) (crypto.PublicKey, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found, known := s.find(alg, id)
	due := s.tried.IsZero() || s.now().Sub(s.tried) >= keysPause
	if due && (!known || s.now().Sub(s.read) >= keysFresh) {
		s.tried = s.now()
		keys, err := s.load(ctx)
		if s.failed = err; err == nil {
			s.keys, s.read = keys, s.now()
		}
		found, known = s.find(alg, id)
	}
	switch {
	case s.read.IsZero() || s.now().Sub(s.read) >= keysStale:
		return nil, fmt.Errorf("%w: %w", ErrNoKeys, s.failed)
	case !known:
		return nil, errUnknownKey
	}
	return found, nil
}

func (s *KeySet) find(alg, id string) (found crypto.PublicKey, known bool) {
	for _, one := range s.keys {
		if one.alg != alg || id != "" && one.id != id {
			continue
		}
		if known {
			return nil, false // ambiguous
		}
		found, known = one.key, true
	}
	return found, known
}

func (s *KeySet) load(ctx context.Context) ([]publicKey, error) {
	text, err := s.text(ctx)
	if err != nil {
		return nil, err
	}
	var set struct{ Keys []jwk }
	if err := json.Unmarshal(text, &set); err != nil {
		return nil, fmt.Errorf("it is not a JWKS: %w", err)
	}
	var keys []publicKey
	for _, one := range set.Keys {
		if key, usable := one.public(); usable {
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return nil, errors.New("it has no key for RS256 (2048 bits or more) or ES256")
	}
	return keys, nil
}

func (s *KeySet) text(ctx context.Context) ([]byte, error) {
	if !strings.HasPrefix(s.source, "https://") && !strings.HasPrefix(s.source, "http://") {
		return os.ReadFile(s.source)
	}
	// Not the caller's context, since other callers need the keys, too.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keysPatience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.source, nil)
	if err != nil {
		return nil, err
	}
	response, err := s.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("it is answered with %s", response.Status)
	}
	return io.ReadAll(io.LimitReader(response.Body, maxKeySet))
}

// jwk is a key of a JWKS, with the members of the two supported kinds.
type jwk struct {
	Kty, Use, Kid, Alg string
	N, E               string // RSA
	Crv, X, Y          string // EC
}

// public returns the public key for RS256 or ES256; false for any other algorithm.
func (k jwk) public() (publicKey, bool) {
	if k.Use != "" && k.Use != "sig" {
		return publicKey{}, false
	}
	switch {
	case k.Kty == "RSA" && (k.Alg == "" || k.Alg == "RS256"):
		n, e := number(k.N), number(k.E)
		if n == nil || e == nil || n.BitLen() < leastRSABits || e.BitLen() > 31 || e.Int64() < 3 || e.Bit(0) == 0 {
			return publicKey{}, false
		}
		return publicKey{k.Kid, "RS256", &rsa.PublicKey{N: n, E: int(e.Int64())}}, true
	case k.Kty == "EC" && k.Crv == "P-256" && (k.Alg == "" || k.Alg == "ES256"):
		x, y := octets(k.X), octets(k.Y)
		if len(x) != 32 || len(y) != 32 {
			return publicKey{}, false
		}
		key, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), append(append([]byte{4}, x...), y...))
		return publicKey{k.Kid, "ES256", key}, err == nil
	}
	return publicKey{}, false
}

// octets decodes base64url; nil for invalid text.
func octets(text string) []byte {
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return nil
	}
	return raw
}

func number(text string) *big.Int {
	raw := octets(text)
	if len(raw) == 0 {
		return nil
	}
	return new(big.Int).SetBytes(raw)
}
