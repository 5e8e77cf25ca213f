package search_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/rs/zerolog"

	"harness/internal/content/search"
	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/tests/dbtest"
	"harness/tests/lifecycletest"
	"harness/transcript"
)

// kit is an index over a journal, with methods that change the store like sessions do.
type kit struct {
	t   *testing.T
	db  *database.DB
	log *journal.Journal
}

func newKit(t *testing.T, db *database.DB) *kit {
	k := &kit{t, db, journal.New(db, journal.Options{Logger: zerolog.Nop()})}
	lifecycletest.Run(t, k.log)
	return k
}

func (k *kit) index() *search.Index {
	return search.New(search.Options{DB: k.db, Entries: transcript.Store{}, Head: k.log.Head, Logger: zerolog.Nop(),
		Removes: func(kind string) bool { return kind == "gone" }, Pause: time.Millisecond, Wait: time.Minute})
}

// do changes the store and publishes the event.
func (k *kit) do(event journal.Event, change func(ctx context.Context, tx database.Tx) error) {
	k.t.Helper()
	_, err := k.log.Commit(k.t.Context(), func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		return []journal.Event{event}, change(ctx, tx)
	})
	if err != nil {
		k.t.Fatal(err)
	}
}

func (k *kit) exec(event journal.Event, statement string, args ...any) {
	k.t.Helper()
	k.do(event, func(ctx context.Context, tx database.Tx) error {
		_, err := tx.ExecContext(ctx, statement, args...)
		return err
	})
}

func (k *kit) session(id, project, title string) {
	k.t.Helper()
	k.exec(journal.Event{}, `insert into projects (id, name, name_key, created_at, updated_at) values ($1, $1, $1, 1, 1)
		on conflict do nothing`, project)
	k.exec(journal.Event{SessionID: id, Type: "made"}, `insert into sessions (id, runtime, runtime_session_id, node_id, project_id,
		title, name, cwd, source, model_provider, thread, system_owned, archived, created_at, updated_at)
		values ($1, 'codex', $1, 'n', $2, $3, $3, '/', '', '', 'null', 0, 0, 1, 1)`, id, project, title)
}

func (k *kit) say(session, id, content string) {
	k.t.Helper()
	k.do(journal.Event{SessionID: session, ItemID: id, Type: "said"}, func(ctx context.Context, tx database.Tx) error {
		_, _, err := transcript.Store{}.Upsert(ctx, tx, session, transcript.Entry{MessageID: id, TurnID: "t-" + id, Role: "user",
			Type: "userMessage", Content: content, Status: transcript.Complete})
		return err
	})
}

func (k *kit) find(x *search.Index, q search.Query) (page search.Page, found string) {
	k.t.Helper()
	if q.Limit == 0 {
		q.Limit = 50
	}
	page, err := x.Search(k.t.Context(), q)
	if err != nil {
		k.t.Fatalf("%+v: %v", q, err)
	}
	var names []string
	for _, h := range page.Hits {
		names = append(names, h.SessionID+"/"+h.EntryID)
		units := utf16.Encode([]rune(h.Snippet))
		if len(h.Marks) == 0 {
			k.t.Errorf("%q: nothing is marked in %q", q.Text, h.Snippet)
		}
		for _, m := range h.Marks {
			if m.Start < 0 || m.End <= m.Start || m.End > len(units) {
				k.t.Errorf("%q: mark %v of %q", q.Text, m, h.Snippet)
			}
		}
	}
	return page, strings.Join(names, " ")
}

func (k *kit) want(x *search.Index, q search.Query, want string) {
	k.t.Helper()
	if _, found := k.find(x, q); found != want {
		k.t.Errorf("%+v finds %q, want %q", q, found, want)
	}
}

func (k *kit) documents(session string) (n int) {
	k.t.Helper()
	if err := k.db.Read().QueryRowContext(k.t.Context(), `select count(*) from search_documents where session = $1`, session).
		Scan(&n); err != nil {
		k.t.Fatal(err)
	}
	return n
}

// A search finds everything stored before it: a changed text by its new words only, and a deleted one not any longer.
func TestSearchFollows(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		k := newKit(t, db)
		k.session("a", "p", "Fix the lock")
		k.say("a", "1", "The hub takes its Lock twice; \U0001f600 the café is closed")
		x := k.index() // over the existing rows
		lifecycletest.Run(t, x)
		k.want(x, search.Query{Text: "lock"}, "a/ a/1")
		k.session("b", "q", "Über alles")
		k.session("c", "q", database.EncodeText("sign\x010file"))
		k.want(x, search.Query{Text: "0file"}, "c/")
		k.say("b", "2", "日本語のロック and a lock\x00file")
		for text, want := range map[string]string{
			"LOCK": "b/2 a/ a/1", "lock hub": "a/1", "hub lo": "a/1", "ub": "b/", "cafe": "a/1", "CAFÉ": "a/1", "uber": "b/", "本語": "b/2",
			`"lock" OR NEAR(hub) AND -x*`: "", `lock' | !hub:* & ("`: "a/1", `lock\`: "b/2 a/ a/1", "😀 closed": "a/1", "file": "b/2",
		} {
			k.want(x, search.Query{Text: text}, want)
		}
		k.want(x, search.Query{Text: "lock", Session: "b"}, "b/2")
		k.want(x, search.Query{Text: "lock", Project: "p"}, "a/ a/1")
		k.want(x, search.Query{Text: "lock", Projects: []string{"q"}}, "b/2")
		k.want(x, search.Query{Text: "lock", Project: "p", Projects: []string{"q"}}, "")
		k.want(x, search.Query{Text: "lock", Projects: []string{}}, "")

		page, found := k.find(x, search.Query{Text: "lock", Limit: 2})
		if found != "b/2 a/" || page.Next == "" || page.Behind {
			t.Errorf("the first page is %q, %+v", found, page)
		}
		k.want(x, search.Query{Text: "lock", Limit: 2, Cursor: page.Next}, "a/1")

		k.say("a", "1", "something else")
		k.want(x, search.Query{Text: "lock"}, "b/2 a/")
		k.want(x, search.Query{Text: "something"}, "a/1")
		k.exec(journal.Event{SessionID: "a", Type: "renamed"}, `update sessions set name = 'Nothing' where id = 'a'`)
		k.want(x, search.Query{Text: "nothing lock"}, "")
		k.want(x, search.Query{Text: "nothing"}, "a/")
		k.exec(journal.Event{SessionID: "b", Type: "taken back"},
			`insert into rolled_back_turns (session_id, turn_id, rolled_back_at) values ('b', 't-2', 1)`)
		k.want(x, search.Query{Text: "lock"}, "")
		k.do(journal.Event{SessionID: "a", Type: "gone"}, func(ctx context.Context, tx database.Tx) error {
			if _, err := tx.ExecContext(ctx, `delete from sessions where id = 'a'`); err != nil {
				return err
			}
			return transcript.Store{}.Delete(ctx, tx, "a")
		})
		k.want(x, search.Query{Text: "something"}, "")
		if left := k.documents("a"); left != 0 {
			t.Errorf("%d documents of a deleted session are left", left)
		}
	})
}

// An index that is behind the journal's oldest event is rebuilt, in as many steps as needed; a stopped one continues
// from its position.
func TestSearchBeginsAnew(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		k := newKit(t, db)
		k.session("a", "p", "title")
		for n := range 250 {
			k.say("a", fmt.Sprintf("%03d", n), fmt.Sprintf("word%d", n))
		}
		first := k.index()
		k.want(first, search.Query{Text: "word249"}, "a/249")
		k.exec(journal.Event{}, `delete from journal_events`)
		k.exec(journal.Event{}, `delete from transcript_entries where message_id = '100'`)
		k.exec(journal.Event{}, `update journal_head set oldest = pos`)
		k.want(k.index(), search.Query{Text: "word249"}, "a/249")
		k.want(k.index(), search.Query{Text: "word100"}, "")
		if there := k.documents("a"); there != 250 {
			t.Errorf("%d documents of 249 entries and a title", there)
		}
		k.say("a", "x", "later")
		k.want(k.index(), search.Query{Text: "later"}, "a/x")
		if err := db.Update(t.Context(), func(tx database.Tx) error {
			_, _, err := transcript.Store{}.Upsert(t.Context(), tx, "a", transcript.Entry{MessageID: "y", Content: "untold"})
			return errors.Join(err, search.Renew(t.Context(), tx))
		}); err != nil {
			t.Fatal(err)
		}
		k.want(k.index(), search.Query{Text: "untold"}, "a/y")
	})
}

// A search finds entries without separate events, however many were stored at once.
func TestSearchFindsEntriesNoEventNames(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		k := newKit(t, db)
		x := k.index()
		k.session("a", "p", "title")
		k.want(x, search.Query{Text: "title"}, "a/")
		k.do(journal.Event{SessionID: "a", Type: "imported"}, func(ctx context.Context, tx database.Tx) error {
			for n := range 700 {
				entry := transcript.Entry{MessageID: fmt.Sprint(n), TurnID: "t", Status: transcript.Complete}
				if n%7 > 0 { // the other events name no entry
					entry.Content = fmt.Sprintf("old%d", n)
				}
				if _, _, err := (transcript.Store{}).Upsert(ctx, tx, "a", entry); err != nil {
					return err
				}
			}
			return nil
		})
		k.want(x, search.Query{Text: "old1 old"}, "a/1")
		k.want(x, search.Query{Text: "old300 "}, "a/300")
		k.want(x, search.Query{Text: "old699"}, "a/699")
		if there := k.documents("a"); there != 701 {
			t.Errorf("%d documents of 700 entries and a title", there)
		}
	})
}

// Queries without a word, or with too many, are refused.
func TestSearchRefuses(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		x := newKit(t, db).index()
		many := ""
		for n := range 40 {
			many += fmt.Sprint(n, " ")
		}
		for _, text := range []string{"", " ", `"`, "* - ' ( : \\", "\x00\xff", many} {
			var refused *search.QueryError
			if _, err := x.Search(t.Context(), search.Query{Text: text, Limit: 1}); !errors.As(err, &refused) {
				t.Errorf("%q: %v", text, err)
			}
		}
		for _, cursor := range []string{"x", "-1", "99999999999999999999"} {
			if _, err := x.Search(t.Context(), search.Query{Text: "a", Cursor: cursor, Limit: 1}); !errors.Is(err, search.ErrBadCursor) {
				t.Errorf("cursor %q: %v", cursor, err)
			}
		}
	})
}
