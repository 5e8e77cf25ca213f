package notify_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/services/notify"
	"harness/tests/lifecycletest"
)

const secret = "a-key-of-the-webhook-01"

// kit is a journal, a target that receives messages, and the outcomes of the messages.
type kit struct {
	t        *testing.T
	db       *database.DB
	log      *journal.Journal
	received chan delivery

	mu     sync.Mutex
	answer int // the target's status
	ended  map[notify.Outcome]int
	logged bytes.Buffer
	url    string
}

// delivery is a request the target received.
type delivery struct {
	header http.Header
	path   string
	body   string
}

func newKit(t *testing.T, db *database.DB) *kit {
	k := &kit{t: t, db: db, log: journal.New(db, journal.Options{Logger: zerolog.Nop()}), received: make(chan delivery, 1000),
		answer: http.StatusNoContent, ended: map[notify.Outcome]int{}}
	lifecycletest.Run(t, k.log)
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		k.received <- delivery{r.Header, r.URL.RequestURI(), string(body)}
		k.mu.Lock()
		defer k.mu.Unlock()
		if k.answer == http.StatusFound {
			w.Header().Set("Location", "/elsewhere")
		}
		w.WriteHeader(k.answer)
	}))
	t.Cleanup(target.Close)
	k.url = target.URL + "/hook?key=part-of-the-url"
	return k
}

// Write implements io.Writer, for the log.
func (k *kit) Write(line []byte) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.logged.Write(line)
}

func (k *kit) answers(status int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.answer = status
}

func (k *kit) count(outcome notify.Outcome) int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.ended[outcome]
}

// notifier sends every event whose type is a kind to the target.
func (k *kit) notifier(change ...func(*notify.Options)) *notify.Notifier {
	webhook, err := notify.NewWebhook(k.url, secret)
	if err != nil {
		k.t.Fatal(err)
	}
	options := notify.Options{DB: k.db, Targets: []notify.Target{webhook}, Read: k.log.Read, Head: k.log.Head,
		NewsOf: func(record *journal.Record) (notify.News, bool) {
			return notify.News{Kind: notify.Kind(record.Type), SessionID: record.SessionID, RequestID: record.ItemID},
				record.Type != "other"
		},
		Waits:  func(context.Context, notify.News) (bool, error) { return true, nil },
		Logger: zerolog.New(k), Pause: time.Millisecond, Retry: 100 * time.Millisecond,
		PublicURL: "https://agents.example.com/harness",
		Ended: func(_ string, outcome notify.Outcome) {
			k.mu.Lock()
			defer k.mu.Unlock()
			k.ended[outcome]++
		}}
	for _, change := range change {
		change(&options)
	}
	return notify.New(options)
}

// run starts a notifier and returns when it has read the whole journal.
func (k *kit) run(change ...func(*notify.Options)) *notify.Notifier {
	k.t.Helper()
	n := k.notifier(change...)
	lifecycletest.Run(k.t, n)
	k.eventually("the journal is followed", func() bool {
		var pos int64
		err := k.db.Read().QueryRowContext(k.t.Context(), `select pos from notify_state where id = 1`).Scan(&pos)
		return err == nil && pos >= 0
	})
	return n
}

func (k *kit) happen(kind notify.Kind, session, item string) {
	k.t.Helper()
	_, err := k.log.Commit(k.t.Context(), func(context.Context, database.Tx) ([]journal.Event, error) {
		return []journal.Event{{SessionID: session, ItemID: item, Type: string(kind)}}, nil
	})
	if err != nil {
		k.t.Fatal(err)
	}
}

func (k *kit) receive() delivery {
	k.t.Helper()
	select {
	case got := <-k.received:
		return got
	case <-time.After(20 * time.Second):
		k.t.Fatalf("no message came; the log says %s", &k.logged)
		return delivery{}
	}
}

func (k *kit) exec(statement string) {
	k.t.Helper()
	err := k.db.Update(k.t.Context(), func(tx database.Tx) error {
		_, err := tx.ExecContext(k.t.Context(), statement)
		return err
	})
	if err != nil {
		k.t.Fatal(err)
	}
}

// drained waits until no message is left to send.
func (k *kit) drained() {
	k.t.Helper()
	k.eventually("all is sent", func() bool { return k.left() == 0 })
}

func (k *kit) left() (left int) {
	k.t.Helper()
	if err := k.db.Read().QueryRowContext(k.t.Context(), `select count(*) from notify_messages`).Scan(&left); err != nil {
		k.t.Fatal(err)
	}
	return left
}

func (k *kit) eventually(what string, condition func() bool) {
	k.t.Helper()
	ticker, limit := time.NewTicker(2*time.Millisecond), time.After(20*time.Second)
	defer ticker.Stop()
	for !condition() {
		select {
		case <-ticker.C:
		case <-limit:
			k.t.Fatalf("not so in time: %s", what)
		}
	}
}

// content is the body of a webhook request.
type content struct {
	Type, Timestamp string
	Data            map[string]string
}

func (h delivery) content(t *testing.T) (c content) {
	t.Helper()
	if err := json.Unmarshal([]byte(h.body), &c); err != nil {
		t.Fatalf("%v in %s", err, h.body)
	}
	return c
}
