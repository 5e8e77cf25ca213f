package manager

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"harness/internal/lib/ids"
	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/internal/services/session/store"
	"harness/stream"
	"harness/transcript"
)

func TestCreate(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		model, sandbox := "m", "workspace-write"
		s, err := k.Create(t.Context(), session.Create{Cwd: "/there", Model: &model, FilesystemSandbox: &sandbox, SystemOwned: true})
		k.do(err)
		if s.Materialized || s.Title != session.DraftTitle || s.Cwd != "/there" || *s.Controls.Model != "m" ||
			s.Controls.FilesystemSandbox != sandbox ||
			s.Controls.ApprovalPolicy != "untrusted" || s.Runtime != "codex" || s.RuntimeSessionID != s.ID {
			t.Errorf("created %+v", s)
		}
		again, err := k.reopen().Lookup(t.Context(), s.ID)
		if err != nil || !again.Materialized || !again.SystemOwned || again.Title != session.DraftTitle ||
			string(again.Thread) != string(s.Thread) ||
			again.Controls.FilesystemSandbox != sandbox || again.UpdatedAt < s.UpdatedAt {
			t.Errorf("stored %+v, %v", again, err)
		}
	})
}

func TestMissingRuntime(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		s := k.create()
		k.fake.exited()
		_, createErr := k.Create(t.Context(), session.Create{})
		_, sendErr := k.Send(t.Context(), s.ID, session.Message{Text: "x"})
		for _, err := range []error{createErr, sendErr} {
			if !errors.Is(err, runtime.ErrUnavailable) {
				t.Errorf("got %v", err)
			}
		}
		if err := k.UpsertTranscript(t.Context(), s.ID, transcript.Entry{MessageID: "m", Status: "complete"}); err != nil {
			t.Errorf("an upsert needs no runtime: %v", err)
		}
		if detail, err := k.Get(t.Context(), s.ID); err != nil || len(detail.Transcript) != 1 ||
			len(detail.Session.Thread) == 0 {
			t.Errorf("read %+v, %v", detail, err)
		}
	})
}

func TestLookupAsksTheRuntime(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		id := ids.New()
		k.fake.mu.Lock()
		k.fake.threads = append(k.fake.threads, runtime.Thread{ID: id, Name: "theirs"})
		k.fake.mu.Unlock()
		if got, err := k.Lookup(t.Context(), id); err != nil || got.Title != "theirs" {
			t.Errorf("found %+v, %v", got, err)
		}
		for _, unknown := range []string{ids.New(), "", "no\x00body", "\xff"} {
			if _, err := k.Lookup(t.Context(), unknown); !errors.Is(err, session.ErrNotFound) {
				t.Errorf("%q: %v", unknown, err)
			}
		}
	})
}

func TestListPages(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		var users []string
		for i := range 7 {
			s, err := k.Create(t.Context(), session.Create{SystemOwned: i%3 == 1})
			k.do(err)
			if !s.SystemOwned {
				users = append([]string{s.ID}, users...)
			}
		}
		var got []string
		pages := 0
		for cursor := ""; ; pages++ {
			page, err := k.List(t.Context(), session.ListQuery{Cursor: cursor, Limit: 2})
			k.do(err)
			for _, s := range page.Sessions {
				got = append(got, s.ID)
			}
			if cursor = page.NextCursor; cursor == "" {
				break
			}
			if len(page.Sessions) != 2 {
				t.Errorf("a page of %d before the last", len(page.Sessions))
			}
		}
		if pages != 2 || strings.Join(got, " ") != strings.Join(users, " ") {
			t.Errorf("%d full pages: %v, want %v", pages, got, users)
		}
		all, err := k.List(t.Context(), session.ListQuery{IncludeSystemOwned: true})
		k.do(err)
		if len(all.Sessions) != 7 || all.NextCursor != "" {
			t.Errorf("%d sessions, cursor %q", len(all.Sessions), all.NextCursor)
		}
		for _, bad := range []string{"garbage", "|", "2026-01-01T00:00:00.000Z|", "x|y", "2026-01-01|y"} {
			if _, err := k.List(t.Context(), session.ListQuery{Cursor: bad}); !errors.Is(err, session.ErrBadCursor) {
				t.Errorf("cursor %q: %v", bad, err)
			}
		}
		_, err = k.Archive(t.Context(), users[0])
		k.do(err)
		archived, err := k.List(t.Context(), session.ListQuery{Archived: true})
		if err != nil || len(archived.Sessions) != 1 || archived.Sessions[0].ID != users[0] {
			t.Errorf("archived %+v, %v", archived, err)
		}
		if back, err := k.Unarchive(t.Context(), users[0]); err != nil || back.Archived {
			t.Errorf("unarchived %+v, %v", back, err)
		}
	})
}

func TestRenameAndResume(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		s := k.create()
		if renamed, err := k.Rename(t.Context(), s.ID, "Mine\x00"); err != nil || renamed.Title != "Mine\x00" {
			t.Errorf("renamed %+v, %v", renamed, err)
		}
		_, err := k.Resume(t.Context(), s.ID, json.RawMessage(`[]`))
		k.do(err)
		k.fake.mu.Lock()
		k.fake.threads = nil
		k.fake.mu.Unlock()
		for _, act := range []func() error{
			func() error { _, err := k.Resume(t.Context(), s.ID, nil); return err },
			func() error { _, err := k.Archive(t.Context(), s.ID); return err },
			func() error { _, err := k.Unarchive(t.Context(), s.ID); return err },
		} {
			if err := act(); !errors.Is(err, session.ErrNotMaterialized) || !errors.Is(err, runtime.ErrThreadNotFound) {
				t.Errorf("a conversation the runtime lost: %v", err)
			}
		}
		if _, err := k.Rename(t.Context(), ids.New(), "x"); !errors.Is(err, session.ErrNotFound) {
			t.Errorf("rename of an unknown session: %v", err)
		}
	})
}

// A deletion is permanent: after a restart, and whatever signals still arrive.
func TestDelete(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		s := k.create()
		turnID := k.send(s.ID)
		k.fake.ask(s.ID, turnID, 0, runtime.RequestApproval, "m", "{}")
		k.fake.ask(s.ID, "another turn", 1, runtime.RequestToolCall, "m", "{}")
		approval := k.pending(s.ID, runtime.RequestApproval)[0].ID
		k.do(k.UpsertTranscript(t.Context(), s.ID, transcript.Entry{MessageID: "m", Status: "complete"}))
		announced := map[string]int{} // published before the deletion of the session, which redacts it
		var mu sync.Mutex
		_, stopListening := k.log.Subscribe(func(records []journal.Record) {
			mu.Lock()
			defer mu.Unlock()
			for _, record := range records {
				announced[record.Type]++
			}
		})
		defer stopListening()
		deleted, err := k.Delete(t.Context(), s.ID)
		if err != nil || deleted.Title != session.NewChatTitle || deleted.DeletedFileCount != 1 || len(k.fake.interrupts) != 1 {
			t.Errorf("deleted %+v, %v, interrupts %v", deleted, err, k.fake.interrupts)
		}
		var payload struct{ Status, SessionID, Title, Message, DeletedAt string }
		event := k.events("session_deleted")[0]
		k.do(json.Unmarshal(event.Payload, &payload))
		if payload.Status != "deleted" || payload.SessionID != s.ID || payload.Title != session.NewChatTitle ||
			payload.Message != deletedMessage ||
			!strings.HasSuffix(payload.DeletedAt, "Z") || !event.Broadcast || event.SessionID != s.ID {
			t.Errorf("event %s", event.Payload)
		}
		mu.Lock()
		if announced["approval_resolved"] != 1 || announced["tool_call_resolved"] != 1 {
			t.Errorf("what it asked did not expire: %v", announced)
		}
		mu.Unlock()

		check := func(k *kit) {
			t.Helper()
			// TR-09
			var gone *session.DeletedError
			if _, err := k.Lookup(t.Context(), s.ID); !errors.As(err, &gone) || gone.Title != session.NewChatTitle ||
				gone.DeletedAt == 0 {
				t.Errorf("lookup: %v", err)
			}
			if err := k.UpsertTranscript(t.Context(), s.ID, transcript.Entry{MessageID: "m", Status: "complete"}); !errors.As(
				err, &gone) {
				t.Errorf("upsert: %v", err)
			}
			if _, err := k.Delete(t.Context(), s.ID); !errors.As(err, &gone) {
				t.Errorf("delete again: %v", err)
			}
			if _, err := k.Settle(t.Context(), approval, runtime.RequestApproval, runtime.Reply{Decision: "accept"},
				"u"); !errors.Is(err, session.ErrRequestNotFound) {
				t.Errorf("settle: %v", err)
			}
			before := len(k.records())
			k.fake.item(s.ID, turnID, runtime.Item{ID: "late", Role: "user", Type: "userMessage"}, true)
			k.fake.notify(s.ID, "", "thread/closed", nil)
			k.fake.ask(s.ID, turnID, 9, runtime.RequestApproval, "m", "{}")
			late := k.records()[before:]
			if len(late) != 3 {
				t.Fatalf("%d late events", len(late))
			}
			for _, record := range late {
				if meta := metaOf(t, record); !meta.Purged || meta.Session != nil || meta.Request != nil {
					t.Errorf("late event %s: %+v", record.Type, meta)
				}
			}
			if len(k.stored(s.ID)) != 0 || len(k.pending(s.ID, runtime.RequestApproval)) != 0 {
				t.Error("a late signal left something behind")
			}
		}
		check(k)
		k.index.Forget(s.ID) // as if the signal came to a server that never saw the session
		check(k)
		again := k.reopen()
		check(again)
		again.fake.mu.Lock()
		again.fake.threads = append(again.fake.threads, runtime.Thread{ID: s.ID})
		again.fake.mu.Unlock()
		k.do(again.adoptAll(t.Context(), "codex"))
		check(again)

		worker, err := again.Create(t.Context(), session.Create{SystemOwned: true})
		k.do(err)
		if _, err := again.Delete(t.Context(), worker.ID); err != nil {
			t.Error(err)
		}
		if event := again.events("session_deleted")[1]; event.Broadcast || !metaOf(t, event).SystemOwned {
			t.Error("the end of a system-owned session is published to all subscribers")
		}
		if _, err := again.Delete(t.Context(), ids.New()); !errors.Is(err, session.ErrNotFound) {
			t.Errorf("unknown session: %v", err)
		}
	})
}

// TR-01, TR-03, TR-04, TR-10
func TestUpsertTranscript(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		s := k.create()
		details := "d\x00"
		first := transcript.Entry{MessageID: "m", TurnID: "t\x00", Role: "user", Type: "x", Content: "<a>", Details: &details,
			Status: "complete"}
		second := transcript.Entry{MessageID: "m", TurnID: "t\x00", Role: "user", Type: "x", Content: "late",
			Status: "streaming"}
		k.do(k.UpsertTranscript(t.Context(), s.ID, first))
		k.do(k.UpsertTranscript(t.Context(), s.ID, second))
		events := k.events("transcript_updated")
		want := fmt.Sprintf(
			`{"threadId":%q,"turnId":"t\u0000","messageId":"m","type":"x","entry":{"messageId":"m","turnId":"t\u0000","role":"user",`+
				`"type":"x","content":"<a>","details":"d\u0000","status":"complete"}}`, s.ID)
		if len(events) != 2 || string(events[0].Payload) != want || events[0].SessionID != s.ID || events[0].Broadcast {
			t.Errorf("event %s\nwant %s", events[0].Payload, want)
		}
		// The event carries the entry as sent, the row the merged one.
		if !strings.Contains(string(events[1].Payload), `"content":"late","status":"streaming"`) {
			t.Errorf("event %s", events[1].Payload)
		}
		if stored := k.stored(s.ID); len(stored) != 1 || !stored[0].Equal(first) {
			t.Errorf("stored %+v", stored)
		}
		before := len(k.records())
		if err := k.UpsertTranscript(t.Context(), ids.New(), first); !errors.Is(err, session.ErrNotFound) {
			t.Errorf("unknown session: %v", err)
		}
		if len(k.records()) != before {
			t.Error("a refused upsert left an event")
		}
	})
}

func TestProjects(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		dir := "/d"
		var ids []string
		for _, name := range []string{"Émile", "Beta", "ALPHA Z", "alpha two", "zeta\x00"} {
			project, err := k.CreateProject(t.Context(), name, &dir)
			k.do(err)
			ids = append(ids, project.ID)
		}
		projects, err := k.Projects(t.Context())
		k.do(err)
		var names []string
		for _, project := range projects {
			names = append(names, project.Name)
		}
		if got := strings.Join(names, ","); got != "alpha two,ALPHA Z,Beta,Émile,zeta\x00" ||
			*projects[0].WorkingDirectory != "/d" {
			t.Errorf("order %q", got)
		}
		var duplicate *session.DuplicateNameError
		if _, err := k.CreateProject(t.Context(), " BETA ", nil); !errors.As(err, &duplicate) ||
			duplicate.ProjectID != ids[1] {
			t.Errorf("duplicate: %v", err)
		}
		if _, err := k.RenameProject(t.Context(), ids[0], "beta", nil, false); !errors.As(err, &duplicate) {
			t.Errorf("duplicate: %v", err)
		}
		kept, err := k.RenameProject(t.Context(), ids[1], "BETA", nil, false)
		if err != nil || kept.Name != "BETA" || *kept.WorkingDirectory != "/d" {
			t.Errorf("renamed %+v, %v", kept, err)
		}
		cleared, err := k.RenameProject(t.Context(), ids[1], "BETA", nil, true)
		if err != nil || cleared.WorkingDirectory != nil {
			t.Errorf("renamed %+v, %v", cleared, err)
		}
		upserted := k.events("project_upserted")
		want := fmt.Sprintf(
			`{"project":{"projectId":%q,"name":"BETA","workingDirectory":null,"createdAt":%q,"updatedAt":%q}}`,
			ids[1], isoTime(cleared.CreatedAt), isoTime(cleared.UpdatedAt))
		if last := upserted[len(upserted)-1]; len(upserted) != 7 || string(last.Payload) != want || !last.Broadcast ||
			last.SessionID != "" {
			t.Errorf("%d events, the last %s\nwant %s", len(upserted), last.Payload, want)
		}
		// Names of members of every JavaScript object are not valid ids here.
		for _, id := range []string{"__proto__", "constructor", "no\x00pe"} {
			_, rename := k.RenameProject(t.Context(), id, "x", nil, false)
			_, remove := k.DeleteProject(t.Context(), id)
			if !errors.Is(rename, session.ErrProjectNotFound) || !errors.Is(remove, session.ErrProjectNotFound) {
				t.Errorf("%q: %v, %v", id, rename, remove)
			}
		}
	})
}

func TestProjectsOfSessions(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		s := k.create()
		project, err := k.CreateProject(t.Context(), "p", nil)
		k.do(err)
		nope := "nope"
		if _, err := k.AssignProject(t.Context(), ids.New(), &nope); !errors.Is(err, session.ErrProjectNotFound) {
			t.Errorf("the project is looked at first: %v", err)
		}
		if _, err := k.AssignProject(t.Context(), ids.New(), &project.ID); !errors.Is(err, session.ErrNotFound) {
			t.Errorf("unknown session: %v", err)
		}
		assigned, err := k.AssignProject(t.Context(), s.ID, &project.ID)
		if err != nil || *assigned.ProjectID != project.ID {
			t.Errorf("assigned %+v, %v", assigned, err)
		}
		event := k.events("session_project_updated")[0]
		want := fmt.Sprintf(`{"status":"ok","sessionId":%q,"projectId":%q,"previousProjectId":null}`, s.ID, project.ID)
		if string(event.Payload) != want || !event.Broadcast || event.SessionID != s.ID {
			t.Errorf("event %s", event.Payload)
		}
		k.fake.notify(s.ID, "", "warning", nil)
		notes := k.events(stream.EventNotification)
		if ref := metaOf(t, notes[len(notes)-1]).Session; ref.ProjectID == nil || *ref.ProjectID != project.ID {
			t.Errorf("signal names %+v", ref)
		}
		var notEmpty *session.ProjectNotEmptyError
		if _, err := k.DeleteProject(t.Context(), project.ID); !errors.As(err, &notEmpty) || notEmpty.SessionCount != 1 {
			t.Errorf("delete: %v", err)
		}
		worker, err := k.Create(t.Context(), session.Create{SystemOwned: true})
		k.do(err)
		_, err = k.AssignProject(t.Context(), worker.ID, &project.ID)
		k.do(err)
		_, err = k.AssignProject(t.Context(), s.ID, nil)
		k.do(err)
		if _, err := k.DeleteProject(t.Context(), project.ID); err != nil {
			t.Error(err)
		}
		if got := k.one("project_deleted"); got != fmt.Sprintf(`{"projectId":%q,"sessionIds":[]}`, project.ID) {
			t.Errorf("event %s", got)
		}
		previous := k.events("session_project_updated")
		if got := string(previous[2].Payload); !strings.HasSuffix(got,
			fmt.Sprintf(`"projectId":null,"previousProjectId":%q}`, project.ID)) {
			t.Errorf("event %s", got)
		}
	})
}

// A signal may name a session before its creation is stored; it is still the session in the caller's reply.
func TestASessionIsAsItWasAnswered(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		id := ids.New()
		k.do(k.journal.Do(t.Context(), func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
			return nil, store.InsertPlaceholder(ctx, tx, store.Placeholder{ID: id, Runtime: "codex", Node: "node", At: time.Now().UnixMilli() + 1})
		}))
		k.fake.mu.Lock()
		k.fake.natives = []string{id}
		k.fake.mu.Unlock()
		answered := k.create()
		stored, err := k.Get(t.Context(), id)
		k.do(err)
		if answered.ID != id || stored.Session.CreatedAt != answered.CreatedAt ||
			stored.Session.UpdatedAt != answered.UpdatedAt {
			t.Errorf("it is %+v, and was answered as %+v", stored.Session, answered)
		}
	})
}
