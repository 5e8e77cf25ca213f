package notify_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"harness/internal/platform/database"
	"harness/internal/services/notify"
	"harness/tests/dbtest"
	"harness/tests/lifecycletest"
)

// A message is signed as specified by Standard Webhooks, and contains only the session's title and ids.
func TestWebhookMessagesAreSigned(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		k := newKit(t, db)
		k.happen(notify.TurnFailed, "before", "")
		k.run()
		err := db.Update(t.Context(), func(tx database.Tx) error {
			_, err := tx.ExecContext(t.Context(), `insert into sessions (id, runtime, runtime_session_id, node_id, name, title, cwd,
				source, model_provider, thread, system_owned, archived, created_at, updated_at)
				values ('s/1', 'codex', 's/1', 'n', $1, '', '/', '', '', 'null', 0, 0, 1, 1)`, "Wörter\n"+strings.Repeat("x", 500))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		k.happen("other", "s/1", "")
		k.happen(notify.ApprovalWaits, "s/1", "r1")
		got := k.receive()
		c := got.content(t)
		want := map[string]string{"sessionId": "s/1", "requestId": "r1", "title": "Wörter " + strings.Repeat("x", 193),
			"link": "https://agents.example.com/harness/s/s%2F1"}
		if c.Type != "approval.waiting" || !maps.Equal(c.Data, want) {
			t.Errorf("sent %s, want %v", got.body, want)
		}
		if at, err := time.Parse(time.RFC3339, c.Timestamp); err != nil || time.Since(at) > time.Minute {
			t.Errorf("it is said to have happened at %q", c.Timestamp)
		}
		id, at := got.header.Get("webhook-id"), got.header.Get("webhook-timestamp")
		mac := hmac.New(sha256.New, []byte(secret))
		_, _ = fmt.Fprintf(mac, "%s.%s.%s", id, at, got.body) // a hash never fails
		if got := got.header.Get("webhook-signature"); got != "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)) {
			t.Errorf("the signature of %s at %s is %s", id, at, got)
		}
		k.drained()
		k.eventually("it is counted", func() bool { return k.count(notify.Delivered) == 1 })
		if len(k.received) > 0 {
			t.Errorf("sent %d more times", len(k.received))
		}
	})
}

// A refused message is sent again with the same id, even by a later process. No log contains a secret, and no redirect
// is followed.
func TestWhatIsRefusedIsSentAgain(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		k := newKit(t, db)
		k.answers(http.StatusFound)
		first := k.run()
		k.happen(notify.TurnEnded, "s", "")
		id := k.receive().header.Get("webhook-id")
		again := k.receive()
		if again.path != "/hook?key=part-of-the-url" || again.header.Get("webhook-id") != id || !strings.HasPrefix(id, "msg_") {
			t.Errorf("sent again to %s as %s, first as %s", again.path, again.header.Get("webhook-id"), id)
		}
		if err := first.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		k.happen(notify.JobFailed, "", "")
		k.answers(http.StatusNoContent)
		k.run()
		kinds := map[string]int{}
		for kinds["turn.ended"] == 0 || kinds["job.failed"] == 0 {
			c := k.receive().content(t)
			kinds[c.Type]++
			if c.Type == "job.failed" && c.Data["link"] != "https://agents.example.com/harness/jobs" {
				t.Errorf("a job is shown at %s", c.Data["link"])
			}
		}
		k.drained()
		k.eventually("they are counted", func() bool { return k.count(notify.Delivered) == 2 })
		if k.count(notify.Failed) < 2 {
			t.Errorf("%d attempts failed", k.count(notify.Failed))
		}
		k.mu.Lock()
		defer k.mu.Unlock()
		log := k.logged.String()
		if !strings.Contains(log, "302, which is not followed") || strings.Contains(log, "part-of-the-url") ||
			strings.Contains(log, secret) {
			t.Errorf("logged %s", log)
		}
	})
}

// A target that is down gets its message once it is back, and its URL is in no log.
func TestATargetThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	k := newKit(t, dbtest.Open(t, database.SQLite))
	there := k.url
	k.url = "http://127.0.0.1:1/hook?key=part-of-the-url"
	away := k.run()
	k.happen(notify.TurnEnded, "s", "")
	k.eventually("it failed", func() bool { return k.count(notify.Failed) > 0 })
	if err := away.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	k.mu.Lock()
	log := k.logged.String()
	k.mu.Unlock()
	if !strings.Contains(log, "webhook did not answer") || strings.Contains(log, "part-of-the-url") {
		t.Errorf("logged %s", log)
	}
	k.url = there
	k.run()
	k.receive()
}

// Only one of several processes sends a message.
func TestSeveralProcessesSendAMessageOnce(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		k := newKit(t, db)
		patient := func(o *notify.Options) { o.Retry = time.Minute }
		for range 3 {
			k.run(patient)
		}
		ids := map[string]bool{}
		for i := range 20 {
			k.happen(notify.TurnEnded, fmt.Sprint("s", i), "")
		}
		for range 20 {
			ids[k.receive().header.Get("webhook-id")] = true
		}
		k.drained()
		if len(ids) != 20 || len(k.received) > 0 {
			t.Errorf("20 messages were sent as %d, and %d more", len(ids), len(k.received))
		}
	})
}

// A request that was decided before it is sent is not sent; a pending one is.
func TestADecidedRequestIsNotSent(t *testing.T) {
	t.Parallel()
	k := newKit(t, dbtest.Open(t, database.SQLite))
	k.run(func(o *notify.Options) {
		o.Waits = func(_ context.Context, news notify.News) (bool, error) { return news.RequestID == "waits", nil }
	})
	k.happen(notify.ApprovalWaits, "s", "decided")
	k.happen(notify.QuestionWaits, "s", "waits")
	got := k.receive()
	if c := got.content(t); c.Data["requestId"] != "waits" {
		t.Errorf("sent %s", got.body)
	}
	k.drained()
	if len(k.received) > 0 {
		t.Errorf("sent a request that was decided: %s", (<-k.received).body)
	}
}

// A message that no target accepted for a day is dropped.
func TestADayOldMessageIsDropped(t *testing.T) {
	t.Parallel()
	k := newKit(t, dbtest.Open(t, database.SQLite))
	err := k.db.Update(t.Context(), func(tx database.Tx) error {
		_, err := tx.ExecContext(t.Context(), `insert into notify_messages (id, target, at, due, attempts, news)
			values ('msg_old', 'webhook', $1, 1, 7, '{"kind":"turn.ended"}')`, time.Now().Add(-25*time.Hour).UnixMilli())
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	k.run()
	k.drained()
	k.eventually("it is counted", func() bool { return k.count(notify.Dropped) == 1 })
	if len(k.received) > 0 {
		t.Error("it was sent")
	}
}

func TestNtfy(t *testing.T) {
	t.Parallel()
	k := newKit(t, dbtest.Open(t, database.SQLite))
	ntfy, err := notify.NewNtfy(strings.Replace(k.url, "://", "://:a-token@", 1))
	if err != nil {
		t.Fatal(err)
	}
	k.run(func(o *notify.Options) { o.Targets = []notify.Target{ntfy} })
	k.happen(notify.QuestionWaits, "s1", "r1")
	got := k.receive()
	for name, want := range map[string]string{"Title": "A question is waiting", "Authorization": "Bearer a-token", "Priority": "high",
		"Click": "https://agents.example.com/harness/s/s1", "Tags": "question.waiting"} {
		if got := got.header.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if got.body != "A session without a title" {
		t.Errorf("sent %q", got.body)
	}
}

func TestASecretThatIsNone(t *testing.T) {
	t.Parallel()
	for _, place := range []string{"nowhere.example", "ftp://a.example/", "https://", "://"} {
		_, hook := notify.NewWebhook(place, secret)
		_, topic := notify.NewNtfy(place)
		if hook == nil || topic == nil {
			t.Errorf("%q is taken: %v, %v", place, hook, topic)
		}
	}
	for _, text := range []string{"short", "whsec_no base64 at all!!", "whsec_c2hvcnQ="} {
		if _, err := notify.NewWebhook("http://127.0.0.1/", text); err == nil || strings.Contains(err.Error(), text) {
			t.Errorf("of %q it is said: %v", text, err)
		}
	}
}

// Without targets the journal is not followed; a later target does not get earlier news.
func TestWithoutTargets(t *testing.T) {
	t.Parallel()
	k := newKit(t, dbtest.Open(t, database.SQLite))
	lifecycletest.Run(t, k.notifier(func(o *notify.Options) { o.Targets = nil }))
	k.happen(notify.TurnEnded, "before", "")
	k.run()
	k.happen(notify.TurnEnded, "after", "")
	if c := k.receive().content(t); c.Data["sessionId"] != "after" {
		t.Errorf("sent %v", c.Data)
	}
}
