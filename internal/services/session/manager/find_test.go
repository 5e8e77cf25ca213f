package manager

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"harness/internal/services/session"
	"harness/transcript"
)

// pages reads all pages of a query.
func (k *kit) pages(query session.ListQuery) (all []session.Session) {
	k.t.Helper()
	for {
		page, err := k.List(k.t.Context(), query)
		k.do(err)
		all = append(all, page.Sessions...)
		if query.Cursor = page.NextCursor; query.Cursor == "" {
			return all
		}
		if len(page.Sessions) != query.Limit {
			k.t.Errorf("a page of %d before the last", len(page.Sessions))
		}
	}
}

// find returns the titles of all sessions that a query finds.
func (k *kit) find(query session.ListQuery) (titles []string) {
	k.t.Helper()
	for _, s := range k.pages(query) {
		titles = append(titles, s.Title)
	}
	return titles
}

// A text finds the sessions that contain it in their title or first message. This works equally for every script on
// both engines, and no character in the text is special.
func TestListOfAText(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		called := func(title string) session.Session {
			t.Helper()
			s := k.create()
			_, err := k.Rename(t.Context(), s.ID, title)
			k.do(err)
			return s
		}
		for _, title := range []string{"Deploy the API", "ÉTUDE à écrire", "Straße", "Договор", "100% of it", "under_score",
			`back\slash`, "'; drop table sessions; --"} {
			called(title)
		}
		asked := k.create()
		say := func(id string, role, content string) {
			t.Helper()
			k.do(k.UpsertTranscript(t.Context(), asked.ID, transcript.Entry{MessageID: id, Role: role, Type: "message",
				Content: content, Status: "complete"}))
		}
		say("1", "system", "a lifecycle line")
		say("2", "user", "Please MIGRATE the database"+strings.Repeat(" now", 1000)+" at last")
		say("3", "user", "a second message")
		away := called("archived deploy")
		_, err := k.Archive(t.Context(), away.ID)
		k.do(err)
		_, err = k.Create(t.Context(), session.Create{SystemOwned: true})
		k.do(err)

		for text, want := range map[string][]string{
			"api": {"Deploy the API"}, "DEPLOY": {"Deploy the API"}, "étude À": {"ÉTUDE à écrire"},
			"e\u0301crire": {"ÉTUDE à écrire"}, "STRASSE": {"Straße"}, "дОГОВОР": {"Договор"}, "0%": {"100% of it"},
			"%": {"100% of it"}, "r_s": {"under_score"}, "d_p": nil, `K\s`: {`back\slash`}, "' drop": nil,
			"'; drop": {"'; drop table sessions; --"}, "migrate": {session.NewChatTitle}, "new ch": {session.NewChatTitle}, "lifecycle": nil,
			"second message": nil, "at last": nil, "deploy  the": nil, "nowhere": nil, "worker": nil,
		} {
			if got := k.find(session.ListQuery{Text: text, Limit: 10}); !slices.Equal(got, want) {
				t.Errorf("%q finds %q, want %q", text, got, want)
			}
		}
		if got := k.find(session.ListQuery{Text: "DEPLOY", Archived: true}); !slices.Equal(got, []string{"archived deploy"}) {
			t.Errorf("among the archived: %q", got)
		}
		if got := k.find(session.ListQuery{Text: "worker", IncludeSystemOwned: true}); !slices.Equal(got, []string{session.DraftTitle}) {
			t.Errorf("with workers: %q", got)
		}
	})
}

// The pages of a text search are full and in order, and together contain every match.
func TestListOfATextPages(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		var want []string
		for i := range 15 {
			s := k.create()
			title := fmt.Sprintf("hit %d", i)
			if i%3 == 1 {
				title = fmt.Sprintf("other %d", i)
			} else {
				want = append([]string{title}, want...)
			}
			_, err := k.Rename(t.Context(), s.ID, title)
			k.do(err)
		}
		for _, limit := range []int{1, 2, 3, 5, 9, 10, 11} {
			if got := k.find(session.ListQuery{Text: "HIT", Limit: limit}); !slices.Equal(got, want) {
				t.Errorf("pages of %d: %q, want %q", limit, got, want)
			}
		}
	})
}
