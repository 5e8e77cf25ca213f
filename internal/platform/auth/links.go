package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"sync"
	"time"
)

const (
	// linkPrefix is the prefix of every link's code. Only a login accepts a code instead of a token.
	linkPrefix = "hrk_"
	// linkAge is how long a link is valid; it can be used once.
	linkAge = 5 * time.Minute
	// maxLinks bounds the open links. Beyond that number the oldest is dropped.
	maxLinks = 1000
	// linkPath is the console's page that logs in by a link. The fragment after # appears in no log and no Referer.
	linkPath = "login#link="
)

// links are the open one-time links. They are in memory only: a restart invalidates them.
type links struct {
	mu   sync.Mutex
	open map[[sha256.Size]byte]link
	// order holds the hashes by age, the oldest first; some links are no longer open.
	order [][sha256.Size]byte
}

// link logs a browser in with its creator's token.
type link struct {
	secret  string
	expires time.Time
}

func (l *links) make(secret string, now time.Time) (code string, expires time.Time) {
	random := make([]byte, 32)
	_, _ = rand.Read(random) // it never fails
	code = linkPrefix + base64.RawURLEncoding.EncodeToString(random)
	expires = now.Add(linkAge)
	hash := sha256.Sum256([]byte(code))
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.order) >= maxLinks {
		delete(l.open, l.order[0])
		l.order = l.order[1:]
	}
	l.open[hash], l.order = link{secret, expires}, append(l.order, hash)
	return code, expires
}

// redeem returns the token of a link and invalidates the link.
func (l *links) redeem(code string, now time.Time) (secret string, is bool) {
	hash := sha256.Sum256([]byte(code))
	l.mu.Lock()
	defer l.mu.Unlock()
	one, is := l.open[hash]
	delete(l.open, hash)
	return one.secret, is && now.Before(one.expires)
}

// Link makes a link that logs one browser in as the caller, once and within five minutes. A caller without a token gets
// 409 no_token_shown.
func (l *Logins) Link(r *http.Request) (url string, expires time.Time, refusal *Refusal) {
	shown := shownTokens(r)
	if cookie, is := l.options.cookieToken(r); is && len(shown) == 0 {
		shown = []string{cookie}
	}
	for _, secret := range shown {
		if _, _, refusal := l.holder(r, l.token, []string{secret}); refusal == nil {
			at, expires := l.LinkFor(secret)
			return l.options.scheme(r) + "://" + r.Host + at, expires, nil
		}
	}
	return "", time.Time{}, &Refusal{HTTPStatus: http.StatusConflict, Status: "error", Code: "no_token_shown"}
}

// LinkFor returns the path of a link for the holder of a token, with the path of the server's pages in front.
func (l *Logins) LinkFor(secret string) (path string, expires time.Time) {
	code, expires := l.links.make(secret, l.now())
	return l.path + linkPath + code, expires
}
