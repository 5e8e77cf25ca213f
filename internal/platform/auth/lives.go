package auth

import (
	"context"
	"crypto/sha256"
	"sync"
	"time"
)

// maxLives is how many token expirations are kept before past ones are removed.
const maxLives = 1000

// Lives holds the contexts of tokens that expire: connections opened with a token end with its context. The zero value
// is ready. It is safe for concurrent use.
type Lives struct {
	mu    sync.Mutex
	lives map[[sha256.Size]byte]life
}

// life is the validity of a token: connections opened with it end with access.
type life struct {
	access context.Context //nolint:containedctx // it spans the token's life, not a call's
	end    context.CancelFunc
}

// Until returns the context of a token with this time left. It is the same for each use of the token.
func (l *Lives) Until(token string, left time.Duration) context.Context {
	key := sha256.Sum256([]byte(token))
	l.mu.Lock()
	defer l.mu.Unlock()
	if known, is := l.lives[key]; is {
		return known.access
	}
	if l.lives == nil {
		l.lives = map[[sha256.Size]byte]life{}
	}
	if len(l.lives) >= maxLives {
		for one, known := range l.lives {
			if known.access.Err() != nil {
				known.end()
				delete(l.lives, one)
			}
		}
	}
	access, end := context.WithTimeout(context.Background(), left)
	l.lives[key] = life{access, end}
	return access
}
