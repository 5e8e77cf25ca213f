package notify_test

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"harness/internal/platform/database"
	"harness/internal/services/notify"
	"harness/tests/dbtest"
)

// page is a subscribed browser: its keys, and its name at its push service.
type page struct {
	notify.Browser
	private *ecdh.PrivateKey
	auth    []byte
}

func newPage(t *testing.T, endpoint string) page {
	t.Helper()
	private, err := ecdh.P256().GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	auth := []byte(rand.Text()[:16])
	encode := base64.RawURLEncoding.EncodeToString
	return page{notify.Browser{Endpoint: endpoint, P256dh: encode(private.PublicKey().Bytes()), Auth: encode(auth)}, private, auth}
}

// read decrypts the body that a push service received (RFC 8188 and 8291).
func (p page) read(t *testing.T, body string) string {
	t.Helper()
	must := func(b []byte, err error) []byte {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	sealed := []byte(body)
	salt, size, length := sealed[:16], binary.BigEndian.Uint32(sealed[16:20]), int(sealed[20])
	sender, sealed := sealed[21:21+length], sealed[21+length:]
	if len(body) > 4096 || int(size) < len(sealed) {
		t.Errorf("%d bytes in records of %d", len(body), size)
	}
	key, err := ecdh.P256().NewPublicKey(sender)
	if err != nil {
		t.Fatal(err)
	}
	shared := must(p.private.ECDH(key))
	info := "WebPush: info\x00" + string(p.private.PublicKey().Bytes()) + string(sender)
	secret := must(hkdf.Key(sha256.New, shared, p.auth, info, 32))
	block, err := aes.NewCipher(must(hkdf.Key(sha256.New, secret, salt, "Content-Encoding: aes128gcm\x00", 16)))
	if err != nil {
		t.Fatal(err)
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		t.Fatal(err)
	}
	open := must(gcm.Open(nil, must(hkdf.Key(sha256.New, secret, salt, "Content-Encoding: nonce\x00", 12)), sealed, nil))
	return strings.TrimSuffix(strings.TrimRight(string(open), "\x00"), "\x02")
}

// pushed is a Push with access that the test controls.
type pushed struct {
	*notify.Push
	service     string
	ended, hush atomic.Bool
}

func newPushed(t *testing.T, k *kit) *pushed {
	t.Helper()
	at, err := url.Parse(k.url)
	if err != nil {
		t.Fatal(err)
	}
	p := &pushed{service: at.Scheme + "://" + at.Host}
	p.Push, err = notify.NewPush(t.Context(), notify.PushOptions{DB: k.db, Services: []string{p.service, "*.push.example", "one.example"},
		Contact: "mailto:a@b.example",
		Allows: func(context.Context, notify.Subscriber, notify.News) (bool, bool, error) {
			return !p.ended.Load(), !p.hush.Load(), nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *pushed) subscribe(t *testing.T, who string, b notify.Browser) notify.Subscription {
	t.Helper()
	made, err := p.Subscribe(t.Context(), notify.Subscriber{Holder: who}, b)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func (p *pushed) left(t *testing.T, who string) int {
	t.Helper()
	all, err := p.List(t.Context(), who)
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

// Every browser gets the message, encrypted for it alone and signed by this server.
func TestBrowsersGetMessages(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		k := newKit(t, db)
		p := newPushed(t, k)
		pages := map[string]page{"/a": newPage(t, p.service+"/a"), "/b": newPage(t, p.service+"/b")}
		for _, one := range pages {
			p.subscribe(t, "me", one.Browser)
		}
		k.run(func(o *notify.Options) { o.Targets, o.Push = nil, p.Push })
		k.happen(notify.ApprovalWaits, "s", "r1")
		for range 2 {
			message := k.receive()
			want := `{"kind":"approval.waiting","sessionId":"s","requestId":"r1","title":"","text":"An approval is waiting"}`
			if got := pages[message.path].read(t, message.body); got != want {
				t.Errorf("%s got %s", message.path, got)
			}
			delete(pages, message.path)
			if h := message.header; h.Get("Urgency") != "high" || h.Get("TTL") == "0" || len(h.Get("Topic")) != 32 {
				t.Errorf("the headers are %v", h)
			}
			signedFor(t, message.header.Get("Authorization"), p.service, p.PublicKey())
		}
		if len(pages) > 0 {
			t.Errorf("no message for %v", pages)
		}
		k.drained()
	})
}

// signedFor checks the signature (RFC 8292).
func signedFor(t *testing.T, header, audience, key string) {
	t.Helper()
	token, sent, is := strings.Cut(strings.TrimPrefix(header, "vapid t="), ", k=")
	if !is || sent != key {
		t.Errorf("signed as %s", header)
	}
	point, err := base64.RawURLEncoding.DecodeString(key)
	if err != nil {
		t.Fatalf("the key is %s", key)
	}
	public, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), point)
	if err != nil {
		t.Fatal(err)
	}
	claims := jwt.MapClaims{}
	_, err = jwt.ParseWithClaims(token, claims, func(*jwt.Token) (any, error) { return public, nil },
		jwt.WithValidMethods([]string{"ES256"}), jwt.WithAudience(audience), jwt.WithExpirationRequired())
	if err != nil || claims["sub"] != "mailto:a@b.example" {
		t.Errorf("%v: %v", claims, err)
	}
}

// A browser that its service no longer knows, or with access that has ended, gets no further message; neither does one
// with access that does not cover the news.
func TestABrowserThatIsGone(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		k := newKit(t, db)
		p := newPushed(t, k)
		one := newPage(t, p.service+"/a")
		p.subscribe(t, "me", one.Browser)
		k.answers(http.StatusServiceUnavailable)
		k.run(func(o *notify.Options) { o.Targets, o.Push = nil, p.Push })
		k.happen(notify.TurnEnded, "s", "")
		k.receive()
		k.receive() // a second time, because the first was refused
		k.answers(http.StatusGone)
		k.eventually("it is forgotten", func() bool { return p.left(t, "me") == 0 && k.left() == 0 })

		k.answers(http.StatusCreated)
		p.subscribe(t, "me", one.Browser)
		p.hush.Store(true)
		before := k.count(notify.Delivered)
		k.happen(notify.TurnFailed, "hidden", "")
		k.eventually("it is followed", func() bool {
			var pos int64
			err := db.Read().QueryRowContext(t.Context(), `select pos from notify_state where id = 1`).Scan(&pos)
			return err == nil && pos == k.log.Head()
		})
		k.drained()
		p.hush.Store(false)
		k.happen(notify.JobFailed, "", "")
		k.eventually("the other is sent", func() bool { return k.count(notify.Delivered) == before+1 })

		p.ended.Store(true)
		k.happen(notify.TurnFailed, "s", "")
		k.eventually("it is forgotten", func() bool { return p.left(t, "me") == 0 && k.left() == 0 })
		for len(k.received) > 0 {
			if got := <-k.received; strings.Contains(one.read(t, got.body), "failed") && !strings.Contains(one.read(t, got.body), "job") {
				t.Errorf("sent %s", one.read(t, got.body))
			}
		}
		k.mu.Lock()
		defer k.mu.Unlock()
		if strings.Contains(k.logged.String(), p.service) {
			t.Errorf("logged %s", &k.logged)
		}
	})
}

// News from a time without targets is not sent later.
func TestEarlierNewsIsNotSentToANewSubscriber(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		k := newKit(t, db)
		p := newPushed(t, k)
		var polls atomic.Int64
		k.run(func(o *notify.Options) {
			o.Targets, o.Push = nil, p.Push
			head := o.Head
			o.Head = func() int64 {
				polls.Add(1)
				return head()
			}
		})
		for range 1001 { // one more than may be skipped without storing the cursor
			k.happen(notify.TurnFailed, "s", "")
		}
		k.eventually("it is passed over", func() bool {
			var pos int64
			err := db.Read().QueryRowContext(t.Context(), `select pos from notify_state where id = 1`).Scan(&pos)
			return err == nil && pos > 1
		})
		k.happen(notify.TurnFailed, "s", "")
		before := polls.Load()
		k.eventually("all is passed over", func() bool { return polls.Load() >= before+2 })
		one := newPage(t, p.service+"/a")
		p.subscribe(t, "me", one.Browser)
		k.happen(notify.JobFailed, "", "")
		if text := one.read(t, k.receive().body); !strings.Contains(text, "job.failed") {
			t.Errorf("sent %s", text)
		}
		k.drained()
		if len(k.received) > 0 {
			t.Errorf("sent %d more times", len(k.received))
		}
	})
}

// A subscription belongs to its latest caller, and no other caller can end it; beyond the limit the oldest one is
// removed.
func TestSubscriptions(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		k := newKit(t, db)
		p := newPushed(t, k)
		one := newPage(t, p.service+"/a").Browser
		mine := p.subscribe(t, "me", one)
		one.Auth = newPage(t, "").Auth
		if again := p.subscribe(t, "me", one); again.ID != mine.ID || again.Auth != one.Auth {
			t.Errorf("renewed it is %+v", again)
		}
		if err := p.Unsubscribe(t.Context(), "me", "a\x00b"); !errors.Is(err, notify.ErrNoSubscription) {
			t.Errorf("what is no id: %v", err)
		}
		if err := p.Unsubscribe(t.Context(), "you", mine.ID); !errors.Is(err, notify.ErrNoSubscription) {
			t.Errorf("another holder ended it: %v", err)
		}
		yours := p.subscribe(t, "you", one)
		if yours.ID == mine.ID || p.left(t, "me") != 0 || p.left(t, "you") != 1 {
			t.Errorf("taken over: %s, mine was %s", yours.ID, mine.ID)
		}
		if err := p.Unsubscribe(t.Context(), "you", yours.ID); err != nil || p.left(t, "you") != 0 {
			t.Errorf("ended: %v", err)
		}
		first := p.subscribe(t, "me", newPage(t, p.service+"/first").Browser)
		k.exec(`update push_subscriptions set created_at = 1`)
		for range 20 {
			p.subscribe(t, "me", newPage(t, p.service+"/"+rand.Text()).Browser)
		}
		if err := p.Unsubscribe(t.Context(), "me", first.ID); p.left(t, "me") != 20 || !errors.Is(err, notify.ErrNoSubscription) {
			t.Errorf("%d are subscribed, the first one: %v", p.left(t, "me"), err)
		}
		again := newPushed(t, k)
		if again.PublicKey() != p.PublicKey() || len(p.PublicKey()) != 87 {
			t.Errorf("the keys are %s and %s", p.PublicKey(), again.PublicKey())
		}
	})
}

// Messages go only to configured push services.
func TestWhereMessagesAreSent(t *testing.T) {
	t.Parallel()
	k := newKit(t, dbtest.Open(t, database.SQLite))
	p := newPushed(t, k)
	good := newPage(t, "")
	for endpoint, allowed := range map[string]bool{
		p.service + "/x": true, "https://a.push.example/x": true, "https://one.example/x?y": true, "https://ONE.example/": true,
		"http://a.push.example/x": false, "https://push.example/x": false, "https://apush.example/x": false,
		"https://one.example:444/x": false, "https://one.example.evil.example/": false, "https://u@one.example/x": false,
		"https://169.254.169.254/latest": false, "": false, "file:///etc/passwd": false, "https://one.example/#x": false,
		"https://one.example/" + strings.Repeat("x", 2048): false,
	} {
		good.Endpoint = endpoint
		var refused *notify.BrowserError
		_, err := p.Subscribe(t.Context(), notify.Subscriber{Holder: "me", Until: time.Now().UnixMilli()}, good.Browser)
		if allowed && err != nil || !allowed && (!errors.As(err, &refused) || refused.Field != "endpoint") {
			t.Errorf("%s: %v", endpoint, err)
		}
	}
	for _, bad := range []notify.Browser{{P256dh: "AAAA", Auth: good.Auth}, {P256dh: good.P256dh, Auth: "AAAA"},
		{P256dh: good.P256dh[:86] + "!", Auth: good.Auth}} {
		bad.Endpoint = p.service
		var refused *notify.BrowserError
		if _, err := p.Subscribe(t.Context(), notify.Subscriber{Holder: "me"}, bad); !errors.As(err, &refused) {
			t.Errorf("%v: %v", bad, err)
		}
	}
}
