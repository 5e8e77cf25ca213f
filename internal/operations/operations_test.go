package operations_test

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"harness/internal/operations"
	"harness/internal/platform/database"
	"harness/internal/runtime"
	"harness/internal/runtime/codex"
	"harness/internal/runtime/process"
	"harness/internal/runtime/stdio"
	"harness/internal/services/session"
	"harness/queue"
	"harness/queue/jobs"
	"harness/tests/codextest"
	"harness/tests/dbtest"
	"harness/tests/mockmodel"
	"harness/transcript"
)

// Every operation works without a protocol: on a scripted runtime with both engines, and on the real codex.
func TestEveryOperation(t *testing.T) {
	t.Parallel()
	t.Run("scripted", func(t *testing.T) {
		dbtest.Each(t, func(t *testing.T, db *database.DB) {
			s, a := openScripted(t, db)
			drive(s, func() {})
			if len(a.steered) == 0 || len(a.reviews) != 1 ||
				a.reviews[0] != (runtime.Review{Target: runtime.ReviewCommit, SHA: "abc"}) {
				t.Errorf("steered %q, reviewed %+v", a.steered, a.reviews)
			}
			if i := slices.IndexFunc(a.replies, func(r runtime.Reply) bool {
				return r.Decision == "decline" && r.Message == "not now"
			}); i < 0 {
				t.Errorf("no refusal with its reason among %+v", a.replies)
			}
		})
	})
	t.Run("codex", func(t *testing.T) {
		t.Parallel()
		model := mockmodel.Start(t)
		home := codextest.Home(t, model.URL(), codextest.For(codextest.Default))
		s := open(t, dbtest.Open(t, database.SQLite), func(sink func(string) runtime.Sink) runtime.Adapter {
			return codex.New(codex.Options{Bin: codextest.Binary(t, codextest.Default), Home: home,
				Setup: stdio.Setup{Launch: stdio.Launch{Marker: process.Marker(home, codex.Name), Env: []string{"HOME=" + home}},
					Supervise: stdio.Options{Sink: sink(codex.Name)}}})
		})
		drive(s, func() {
			if err := model.WaitHeld(t.Context(), "a"); err != nil {
				t.Error(err)
			}
		})
	})
}

func openScripted(t *testing.T, db *database.DB, edit ...func(*operations.Options)) (*site, *agent) {
	t.Helper()
	a := newAgent()
	return open(t, db, func(sink func(string) runtime.Sink) runtime.Adapter {
		a.sink = sink(a.Name())
		return a
	}, edit...), a
}

// tools are the client's tools of the sessions below.
const tools = `[{"name":"lookup","description":"d","inputSchema":{"type":"object"}}]`

// drive performs every operation on a session. held waits until a held turn is held.
func drive(s *site, held func()) {
	t, ctx := s.t, s.t.Context()
	blank := "  "
	one, err := s.Create(ctx, session.Create{Cwd: " " + s.dir + " ", Model: &blank, DynamicTools: json.RawMessage(tools)})
	s.do(err)
	id := one.ID
	if one.Cwd != s.dir || one.Controls.Model != nil {
		t.Errorf("made in %q with model %v", one.Cwd, one.Controls.Model)
	}
	s.ended(id, s.send(id, "MOCK_REPLY[hello]"))
	driveTurns(s, id, held)
	driveRequests(s, id)
	driveControls(s, id)
	driveProjects(s, id)
	driveSuggestions(s, id)
	driveConversation(s, id)

	renamed, err := s.Rename(ctx, id, "Named")
	if s.do(err); renamed.Title != "Named" {
		t.Errorf("renamed to %q", renamed.Title)
	}
	entries := []transcript.Entry{{MessageID: "mine", TurnID: "t", Role: "system", Type: "note", Content: "noted",
		Status: transcript.Complete}}
	stored, err := s.Upsert(ctx, id, entries)
	if s.do(err); len(stored) != 1 {
		t.Errorf("stored %s", stored)
	}
	window, windowed, err := s.Read(ctx, id, operations.Reading{Limit: 1})
	if s.do(err); !windowed || len(window.Transcript) != 1 || window.Older == "" {
		t.Errorf("a window of %d entries, older: %q", len(window.Transcript), window.Older)
	}
	if !slices.ContainsFunc(s.read(id).Transcript, func(e transcript.Entry) bool { return e.MessageID == "mine" }) {
		t.Error("what was upserted is not read")
	}
	if _, err := s.Archive(ctx, id); err != nil {
		t.Error(err)
	}
	if _, err := s.Archive(ctx, id); !errors.Is(err, session.ErrNotMaterialized) {
		t.Errorf("archived twice: %v", err)
	}
	archived, err := s.List(ctx, session.ListQuery{Archived: true})
	if s.do(err); len(archived.Sessions) != 1 || archived.Sessions[0].ID != id {
		t.Errorf("archived are %+v", archived.Sessions)
	}
	if _, err := s.Unarchive(ctx, id); err != nil {
		t.Error(err)
	}
	if _, err := s.Resume(ctx, id, json.RawMessage(tools)); err != nil {
		t.Error(err)
	}
	deleted, err := s.Delete(ctx, id)
	if s.do(err); deleted.SessionID != id {
		t.Errorf("deleted %+v", deleted)
	}
	var gone *session.DeletedError
	if _, _, err := s.Read(ctx, id, operations.Reading{}); !errors.As(err, &gone) {
		t.Errorf("read after its deletion: %v", err)
	}
}

func driveTurns(s *site, id string, holds func()) {
	t, ctx := s.t, s.t.Context()
	said := func(e transcript.Entry) bool { return e.Role == "assistant" && e.Content == "hello" }
	if !slices.ContainsFunc(s.read(id).Transcript, said) {
		t.Errorf("no answer in %+v", s.read(id).Transcript)
	}
	held := s.send(id, "MOCK_HOLD[a]")
	holds()
	if err := s.Steer(ctx, id, "another", "no"); err == nil {
		t.Error("a turn that does not run was steered")
	}
	s.do(s.Steer(ctx, id, held, "more"))
	interrupted, err := s.Interrupt(ctx, id, "")
	if s.do(err); interrupted != held {
		t.Errorf("interrupted %s, not %s", interrupted, held)
	}
	s.ended(id, held)
	if _, err := s.Interrupt(ctx, id, held); !errors.Is(err, session.ErrNoActiveTurn) {
		t.Errorf("interrupted what is over: %v", err)
	}
	if err := s.Steer(ctx, id, held, "late"); !errors.Is(err, runtime.ErrNoActiveTurn) {
		t.Errorf("steered what is over: %v", err)
	}
	var invalid *operations.InvalidError
	_, err = s.Send(ctx, id, session.Message{Text: "see", Images: []string{"/etc/passwd", "https://there/picture.png"}})
	if !errors.As(err, &invalid) || len(invalid.Problems) != 2 || invalid.Problems[1].Index != 1 {
		t.Errorf("images that are none: %v", err)
	}
}

func driveRequests(s *site, id string) {
	t, ctx := s.t, s.t.Context()
	turn, request := s.asked(id, "MOCK_CMD[touch made]", runtime.RequestApproval)
	if in, err := s.SessionOfRequest(ctx, request.ID, runtime.RequestApproval); in != id || err != nil {
		t.Errorf("the request is of %q: %v", in, err)
	}
	settled, err := s.DecideApproval(ctx, request.ID, operations.ApprovalDecision{Decision: "accept"}, "me")
	if s.do(err); settled.DecidedBy != "me" || settled.Reply.Scope != "turn" {
		t.Errorf("settled as %+v", settled)
	}
	s.ended(id, turn)
	var late *session.SettledError
	_, err = s.DecideApproval(ctx, request.ID, operations.ApprovalDecision{Decision: "decline"}, "you")
	if !errors.As(err, &late) || late.Request.DecidedBy != "me" {
		t.Errorf("decided twice: %v", err)
	}
	turn, request = s.asked(id, "MOCK_CMD[touch other]", runtime.RequestApproval)
	_, err = s.DecideApproval(ctx, request.ID, operations.ApprovalDecision{Decision: "decline", Message: "not now"}, "me")
	s.do(err)
	s.ended(id, turn)

	turn, request = s.asked(id, "MOCK_CALL[lookup|{\"id\":\"T\"}]END", runtime.RequestToolCall)
	text := "found"
	var invalid *operations.InvalidError
	_, err = s.AnswerToolCall(ctx, request.ID, operations.ToolCallAnswer{Text: &text, Response: json.RawMessage(`{}`)},
		"me")
	if !errors.As(err, &invalid) {
		t.Errorf("two answers at once: %v", err)
	}
	settled, err = s.AnswerToolCall(ctx, request.ID, operations.ToolCallAnswer{Text: &text}, "me")
	if s.do(err); string(settled.Reply.ContentItems) != `[{"type":"inputText","text":"found"}]` || !settled.Reply.Success {
		t.Errorf("answered %+v", settled.Reply)
	}
	s.ended(id, turn)

	turn, request = s.asked(id, "MOCK_ASK", runtime.RequestToolInput)
	answers := json.RawMessage(`{"q":{"answers":["a"]}}`)
	_, err = s.DecideToolInput(ctx, request.ID, operations.ToolInputDecision{Decision: "decline", Answers: answers}, "me")
	if !errors.As(err, &invalid) {
		t.Errorf("answers that go nowhere: %v", err)
	}
	settled, err = s.DecideToolInput(ctx, request.ID, operations.ToolInputDecision{Decision: "accept", Answers: answers},
		"me")
	if s.do(err); string(settled.Reply.Answers) != string(answers) {
		t.Errorf("answered %+v", settled.Reply)
	}
	s.ended(id, turn)
}

func driveControls(s *site, id string) {
	t, ctx := s.t, s.t.Context()
	model := " m "
	change, err := s.SetControls(ctx, id, operations.ScopeSession, session.Controls{Model: &model, ApprovalPolicy: "never",
		NetworkAccess: "restricted", FilesystemSandbox: "read-only",
		Settings: map[string]json.RawMessage{"a": json.RawMessage("1")}}, operations.Audit{})
	if s.do(err); !change.Changed || *change.Applied().Model != "m" {
		t.Errorf("changed %+v", change)
	}
	s.do(s.SetApprovalPolicy(ctx, id, "untrusted"))
	key := "b"
	edit := func(e operations.SettingsEdit) operations.Change {
		t.Helper()
		change, err := s.EditSettings(ctx, id, operations.ScopeSession, e, operations.Audit{Actor: "me"})
		s.do(err)
		return change
	}
	edit(operations.SettingsEdit{Key: &key, Value: json.RawMessage(`"two"`)})
	if change := edit(operations.SettingsEdit{
		Settings: map[string]json.RawMessage{"a": json.RawMessage("1")}}); change.Changed {
		t.Error("a merge of what is there changed something")
	}
	if _, err := s.DeleteSetting(ctx, id, operations.ScopeSession, "a", operations.Audit{}); err != nil {
		t.Error(err)
	}
	settings, err := s.Settings(ctx, id, operations.ScopeSession)
	if s.do(err); len(settings) != 1 || string(settings["b"]) != `"two"` {
		t.Errorf("settings are %s", settings)
	}
	if change := edit(operations.SettingsEdit{Settings: map[string]json.RawMessage{}, Replace: true}); len(
		change.Applied().Settings) != 0 {
		t.Errorf("replaced by %s", change.Applied().Settings)
	}
	var parts *operations.PartsError
	if _, err := s.EditSettings(ctx, id, operations.ScopeSession, operations.SettingsEdit{Key: &key},
		operations.Audit{}); !errors.As(err, &parts) {
		t.Errorf("a key without a value: %v", err)
	}
	controls, defaults, err := s.Controls(ctx, id)
	if s.do(err); controls.ApprovalPolicy != "untrusted" || *controls.Model != "m" || defaults.Model != nil {
		t.Errorf("controls %+v, defaults %+v", controls, defaults)
	}
}

func driveProjects(s *site, id string) {
	t, ctx := s.t, s.t.Context()
	project, err := s.CreateProject(ctx, "P", nil)
	s.do(err)
	assigned, previous, err := s.AssignProject(ctx, id, &project.ID)
	if s.do(err); previous != nil || *assigned.ProjectID != project.ID {
		t.Errorf("assigned to %v, was in %v", assigned.ProjectID, previous)
	}
	nowhere := "nowhere"
	var unknown *operations.UnknownProjectError
	if _, _, err := s.AssignProject(ctx, id, &nowhere); !errors.As(err, &unknown) || unknown.ProjectID != nowhere {
		t.Errorf("assigned to a project that is not there: %v", err)
	}
	if _, err := s.RenameProject(ctx, project.ID, "Q", nil, false); err != nil {
		t.Error(err)
	}
	moved, err := s.MoveChats(ctx, project.ID, false)
	if s.do(err); moved.Moved != 1 {
		t.Errorf("moved %+v", moved)
	}
	if _, err := s.DeleteProject(ctx, project.ID); err != nil {
		t.Error(err)
	}
	if left, _, err := s.ProjectsAt(ctx); err != nil || len(left) != 0 {
		t.Errorf("left are %+v: %v", left, err)
	}
}

func driveSuggestions(s *site, id string) {
	t, ctx := s.t, s.t.Context()
	suggested, err := s.Suggest(ctx, id, operations.SuggestionWish{Draft: "d"})
	if s.do(err); suggested.Status != string(queue.Queued) || suggested.ProjectID != "session:"+id {
		t.Errorf("suggested %+v", suggested)
	}
	if waiting, err := s.Jobs(ctx, "session:"+id, ""); err != nil || len(waiting) != 1 ||
		waiting[0].ID != suggested.JobID {
		t.Errorf("jobs are %+v: %v", waiting, err)
	}
	if _, err := s.CancelJob(ctx, suggested.JobID, "test"); err != nil {
		t.Error(err)
	}
	s.until("the end of the job", func() bool {
		job, err := s.Job(ctx, suggested.JobID)
		s.do(err)
		return job.State == queue.Canceled
	})
	if _, err := s.StoreSuggestion(ctx, id, "k", jobs.Suggestion{Status: jobs.SuggestionComplete}); !errors.Is(err,
		operations.ErrMissingSuggestion) {
		t.Errorf("a suggestion of nothing: %v", err)
	}
	stored, err := s.StoreSuggestion(ctx, id, "k", jobs.Suggestion{Status: jobs.SuggestionComplete, Suggestion: "Go on."})
	if s.do(err); stored.Suggestion != "Go on." {
		t.Errorf("stored %+v", stored)
	}
}

func driveConversation(s *site, id string) {
	t, ctx := s.t, s.t.Context()
	idle := func() {
		t.Helper()
		s.until("that nothing runs", func() bool { return s.sessions.TurnFinder.ActiveTurn(id) == "" })
	}
	var invalid *operations.InvalidError
	text := "x"
	if _, err := s.Review(ctx, id, operations.ReviewRequest{Target: runtime.ReviewCommit, Branch: &text,
		Instructions: &text}); !errors.As(err, &invalid) ||
		len(invalid.Problems) != 2 {
		t.Errorf("a review of parts that do not go together: %v", err)
	}
	if _, err := s.RollBack(ctx, id, 1<<40); !errors.As(err, &invalid) {
		t.Errorf("more turns were taken back than there are: %v", err)
	}
	last := s.send(id, "MOCK_REPLY[hello]")
	s.ended(id, last)
	forked, err := s.Fork(ctx, id)
	if s.do(err); forked.Session.ID == id || len(forked.Thread) == 0 {
		t.Errorf("forked into %+v", forked)
	}
	if _, err := s.RollBack(ctx, id, 1); err != nil {
		t.Error(err)
	}
	if slices.ContainsFunc(s.read(id).Transcript, func(e transcript.Entry) bool { return e.TurnID == last }) {
		t.Error("what was taken back is read")
	}
	for name, do := range map[string]func() (json.RawMessage, error){
		"compact": func() (json.RawMessage, error) { return s.Compact(ctx, id) },
		"clean":   func() (json.RawMessage, error) { return s.CleanTerminals(ctx, id) },
	} {
		if answer, err := do(); err != nil || !json.Valid(answer) {
			t.Errorf("%s: %s, %v", name, answer, err)
		}
		idle()
	}
	sha := "abc"
	answer, err := s.Review(ctx, id, operations.ReviewRequest{Target: runtime.ReviewCommit, SHA: &sha})
	if s.do(err); !json.Valid(answer) {
		t.Errorf("reviewed: %s", answer)
	}
	idle()
	if _, err := s.Delete(ctx, forked.Session.ID); err != nil {
		t.Error(err)
	}
}
