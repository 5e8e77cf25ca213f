package operations_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"harness/internal/operations"
	"harness/internal/platform/database"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/queue/jobs"
	"harness/tests/dbtest"
	"harness/transcript"
)

// Every operation itself refuses a part that is too long, blank or unknown, so that this holds in every protocol. A
// refused operation does nothing. A part at its limit is accepted. Strings are counted as clients count them: a
// character beyond the first 65,536 is two.
func TestLimitsHoldInEveryProtocol(t *testing.T) {
	t.Parallel()
	s, a := openScripted(t, dbtest.Open(t, database.SQLite))
	ctx := t.Context()
	one, err := s.Create(ctx, session.Create{})
	s.do(err)
	long := func(n int) string { return strings.Repeat("é", n-2) + "😀" }
	entry := func(change func(*transcript.Entry)) []transcript.Entry {
		e := transcript.Entry{MessageID: "m", TurnID: "t", Role: "user", Type: "x", Content: "c", Status: transcript.Complete}
		change(&e)
		return []transcript.Entry{e}
	}
	tools := func(n int) json.RawMessage {
		list := make([]string, n)
		for i := range list {
			list[i] = `{"name":"n","description":"d","inputSchema":{}}`
		}
		return json.RawMessage("[" + strings.Join(list, ",") + "]")
	}
	upsert := func(change func(*transcript.Entry)) func() error {
		return func() error { _, err := s.Upsert(ctx, one.ID, entry(change)); return err }
	}
	setting := func(key string, audit operations.Audit) func() error {
		return func() error {
			_, err := s.EditSettings(ctx, one.ID, operations.ScopeSession,
				operations.SettingsEdit{Key: &key, Value: json.RawMessage("1")}, audit)
			return err
		}
	}
	rename := func(title string) func() error {
		return func() error { _, err := s.Rename(ctx, one.ID, title); return err }
	}
	project := func(name string, folder *string) func() error {
		return func() error { _, err := s.CreateProject(ctx, name, folder); return err }
	}
	store := func(key string, next jobs.Suggestion) func() error {
		return func() error { _, err := s.StoreSuggestion(ctx, one.ID, key, next); return err }
	}
	decide := func(in operations.ApprovalDecision) func() error {
		return func() error { _, err := s.DecideApproval(ctx, "r", in, "me"); return err }
	}
	long2001, blank, unknown := long(operations.MaxWorkingDirectory+1), " \ufeff\n", long(operations.MaxProjectID+1)
	for field, do := range map[string]func() error{
		"title":            rename(long(operations.MaxTitle + 1)),
		"title:blank":      rename(blank),
		"name":             project(long(operations.MaxProjectName+1), nil),
		"name:blank":       project(blank, nil),
		"workingDirectory": project("p", &long2001),
		"name:renamed":     func() error { _, err := s.RenameProject(ctx, "p", blank, nil, false); return err },
		"projectId":        func() error { _, _, err := s.AssignProject(ctx, one.ID, &unknown); return err },
		"text":             func() error { _, err := s.Send(ctx, one.ID, session.Message{Text: blank}); return err },
		"images": func() error {
			_, err := s.Send(ctx, one.ID, session.Message{Text: "x", Images: make([]string, operations.MaxImages+1)})
			return err
		},
		"dynamicTools": func() error {
			_, err := s.Create(ctx, session.Create{DynamicTools: tools(operations.MaxTools + 1)})
			return err
		},
		"dynamicTools:resumed": func() error { _, err := s.Resume(ctx, one.ID, tools(operations.MaxTools+1)); return err },
		"runtime": func() error {
			_, err := s.Create(ctx, session.Create{Runtime: long(operations.MaxRuntimeName + 1)})
			return err
		},
		"input": func() error { return s.Steer(ctx, one.ID, "t", blank) },
		"q": func() error {
			_, err := s.List(ctx, session.ListQuery{Text: long(operations.MaxSearch + 1)})
			return err
		},
		"limit": func() error { _, err := s.List(ctx, session.ListQuery{Limit: operations.MaxPage + 1}); return err },
		"limit:window": func() error {
			_, _, err := s.Read(ctx, one.ID, operations.Reading{Limit: operations.MaxWindow + 1})
			return err
		},
		"messageId": upsert(func(e *transcript.Entry) { e.MessageID = long(database.MaxKey + 1) }),
		"turnId":    upsert(func(e *transcript.Entry) { e.TurnID = "" }),
		"role":      upsert(func(e *transcript.Entry) { e.Role = "robot" }),
		"status":    upsert(func(e *transcript.Entry) { e.Status = "perhaps" }),
		"type":      upsert(func(e *transcript.Entry) { e.Type = blank }),
		"entries": func() error {
			_, err := s.Upsert(ctx, one.ID, make([]transcript.Entry, operations.MaxUpserts+1))
			return err
		},
		"key":    setting(long(operations.MaxSettingKey+1), operations.Audit{}),
		"actor":  setting("k", operations.Audit{Actor: long(operations.MaxActor + 1)}),
		"source": setting("k", operations.Audit{Source: long(operations.MaxSource + 1)}),
		"draft": func() error {
			_, err := s.Suggest(ctx, one.ID, operations.SuggestionWish{Draft: long(operations.MaxDraft + 1)})
			return err
		},
		"requestKey": store(blank, jobs.Suggestion{Status: jobs.SuggestionStreaming}),
		"suggestion": store("k",
			jobs.Suggestion{Status: jobs.SuggestionStreaming, Suggestion: long(operations.MaxSuggestion + 1)}),
		"error": store("k",
			jobs.Suggestion{Status: jobs.SuggestionStreaming, Error: long(operations.MaxSuggestionError + 1)}),
		"decision": decide(operations.ApprovalDecision{Decision: "perhaps"}),
		"scope":    decide(operations.ApprovalDecision{Decision: "accept", Scope: "year"}),
		"message":  decide(operations.ApprovalDecision{Decision: "decline", Message: long(operations.MaxReason + 1)}),
		"decision:answer": func() error {
			_, err := s.DecideToolInput(ctx, "r", operations.ToolInputDecision{}, "me")
			return err
		},
		"targetType": func() error {
			_, err := s.Review(ctx, one.ID, operations.ReviewRequest{Target: "moon"})
			return err
		},
		"delivery": func() error {
			_, err := s.Review(ctx, one.ID, operations.ReviewRequest{Delivery: "mail"})
			return err
		},
		"title:review": func() error {
			title := long(operations.MaxReviewTitle + 1)
			_, err := s.Review(ctx, one.ID, operations.ReviewRequest{Target: runtime.ReviewCommit, Title: &title})
			return err
		},
	} {
		name, _, _ := strings.Cut(field, ":")
		var invalid *operations.InvalidError
		err := do()
		if !errors.As(err, &invalid) {
			t.Errorf("%s: %v", field, err)
			continue
		}
		found := false
		for _, problem := range invalid.Problems {
			found = found || problem.Field == name
		}
		if !found {
			t.Errorf("%s is refused for %+v", field, invalid.Problems)
		}
	}
	if len(a.reviews)+len(a.steered)+len(a.replies) != 0 {
		t.Error("the runtime was called anyway")
	}
	for what, do := range map[string]func() error{
		"a title": rename(long(operations.MaxTitle)), "a project": project(long(operations.MaxProjectName), nil),
		"a setting": setting(long(operations.MaxSettingKey),
			operations.Audit{Actor: long(operations.MaxActor), Source: long(operations.MaxSource)}),
		"an entry": upsert(func(e *transcript.Entry) { e.MessageID = long(database.MaxKey) }),
		"tools": func() error {
			_, err := s.Create(ctx, session.Create{DynamicTools: tools(operations.MaxTools)})
			return err
		},
	} {
		if err := do(); err != nil {
			t.Errorf("%s at its limit: %v", what, err)
		}
	}
}
