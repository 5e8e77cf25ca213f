// Package decidelink lets the holder of a link decide one approval, without any other access.
//
// It owns the links and the page they open. A link names one request, is signed and expires. A request is decided once,
// so its link is good for one decision. Opening it decides nothing, so programs that open links in messages do no harm.
// The page refuses to approve a request that it cannot show in full. It must never know a runtime.
package decidelink

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"time"
)

// Path is the path of links, below the server's URL.
const Path = "/decide/"

// Actor is the actor of decisions by link, in the journal and the audit log.
const Actor = "link"

// lifetime is how long a link is valid.
const lifetime = time.Hour

var (
	errBad     = errors.New("this link is not one of this server's: it is incomplete, or was changed on its way")
	errExpired = errors.New("this link has expired: links count for an hour")
)

// Signer creates links and verifies them.
type Signer struct {
	key []byte
	now func() time.Time
}

// NewKey generates a key for a Signer, as text.
func NewKey() string {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // it never fails
	return base64.RawURLEncoding.EncodeToString(key)
}

// NewSigner makes a signer; all servers of a store have the same key.
func NewSigner(key string, now func() time.Time) (*Signer, error) {
	decoded, err := base64.RawURLEncoding.DecodeString(key)
	if err != nil || len(decoded) != 32 {
		return nil, errors.New("the stored key of links is damaged: delete the row `link` of the table notify_keys, a new one is made")
	}
	return &Signer{decoded, now}, nil
}

// purpose is the prefix of signed texts, so that the key can serve for something else, too.
const purpose = "decide one approval\n"

func (s *Signer) sum(said []byte) []byte {
	mac := hmac.New(sha256.New, s.key)
	_, _ = mac.Write(append([]byte(purpose), said...)) // a hash never fails to write
	return mac.Sum(nil)
}

// PathOf returns the path of a link for a request.
func (s *Signer) PathOf(requestID string) string {
	said := binary.BigEndian.AppendUint64(nil, uint64(s.now().Add(lifetime).Unix())) //nolint:gosec // after 1970
	said = append(said, requestID...)
	return Path + base64.RawURLEncoding.EncodeToString(append(s.sum(said), said...))
}

// requestOf returns the request of a link.
func (s *Signer) requestOf(link string) (id string, err error) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(link)
	if err != nil || len(raw) <= sha256.Size+8 {
		return "", errBad
	}
	sum, said := raw[:sha256.Size], raw[sha256.Size:]
	if !hmac.Equal(sum, s.sum(said)) {
		return "", errBad
	}
	if int64(binary.BigEndian.Uint64(said)) < s.now().Unix() { //nolint:gosec // it was signed here
		return "", errExpired
	}
	return string(said[8:]), nil
}
