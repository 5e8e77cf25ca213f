package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"harness/api"
	"harness/internal/operations"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/transcript"
)

// The sessions of every recording.
const (
	deletedID = "01a1fbb7-da59-71f1-8746-2ce1c0248883"
	systemID  = "01a1fbb7-d9dc-75e3-85ba-92f703a91e87"
	systemID2 = "01a1fbb8-7322-77e1-814d-8441b5b05822"
	unknownID = "01a00000-0000-7000-8000-000000000000"
	knownID   = "01a1fbb7-e748-7863-a3f3-39c361908c54"
)

// fakeSessions replaces package session with a table of canned facts. A test sets the facts that it needs, under mu
// if requests already run.
func (f *fakeSessions) SessionOfRequest(context.Context, string, runtime.RequestKind) (string, error) {
	return f.requestOf, nil
}

// ProjectsOf returns no projects, so a project limit hides everything here.
func (f *fakeSessions) ProjectsOf(context.Context, ...string) (map[string]string, error) {
	return nil, nil
}

// unused has the methods that REST does not call. It is nil.
type unused struct {
	operations.Lookups
	operations.OpenerStore
	operations.ReaderStore
	operations.EditorStore
	operations.TurnStore
	operations.ThreadStore
	operations.QueueStore
	operations.RequestStore
	operations.ProjectStore
	operations.UsageStore
	operations.FolderStore
}

type fakeSessions struct {
	requestOf string // the session of all requests
	runtime   *fakeRuntime

	fakeChats
	unused

	mu       sync.Mutex
	deleted  map[string]int64
	projects []session.Project
	assigned map[string]*string
	requests map[string]session.Request
	entries  []transcript.Entry
	settled  []runtime.Reply
	messages []session.Message
	created  []session.Create
	received []any // the other parameters of its calls

	// next is the result of the next change.
	next struct {
		project    session.Project
		session    session.Session
		turnID     string
		deleted    session.Deleted
		page       session.Page
		transcript []transcript.Entry
		version    string
		pos        int64
		result     json.RawMessage
	}
	// background is the work outside turns of every session.
	background []session.BackgroundTask
	// made is the turn that earlier messages with keys started. keys are the keys in the calls.
	made    string
	madeErr error
	keys    []string
	// rolledBack is the number of turns of the last rollback.
	rolledBack int
	// read is the last read request. listed is the last list request.
	read   session.Reading
	listed session.ListQuery
	// lookup and fail, when set, determine the result before everything else.
	lookup func(string) (session.Session, error)
	fail   error
	panics bool
	// noNew is the error that refuses new sessions.
	noNew error
	// noRuns is the error that refuses requests that need a runtime.
	noRuns error
}

func newFake() *fakeSessions {
	return &fakeSessions{
		deleted:  map[string]int64{deletedID: time.Date(2026, 11, 21, 1, 28, 16, 381e6, time.UTC).UnixMilli()},
		assigned: map[string]*string{},
		requests: map[string]session.Request{},
	}
}

// Own is CheckOwner, because no session moves.
func (f *fakeSessions) Own(_ context.Context, one session.Session) error { return f.CheckOwner(one) }

// CheckOwner checks the owner on a single node that owns every session.
func (f *fakeSessions) CheckOwner(one session.Session) error {
	if one.NodeID != "" {
		return &session.NotOwnerError{SessionID: one.ID, Owner: one.NodeID, Node: "this"}
	}
	return nil
}

// CheckNew returns the preset refusal.
func (f *fakeSessions) CheckNew() error { return f.noNew }

// CheckRuns returns the preset refusal.
func (f *fakeSessions) CheckRuns() error { return f.noRuns }

// Operations on a conversation go to the runtime, as with codex.
func (f *fakeSessions) Fork(ctx context.Context, id string) (session.Forked, error) {
	result, err := f.ask(ctx, "thread/fork", id)
	if err != nil {
		return session.Forked{}, err
	}
	var forked struct{ Thread json.RawMessage }
	var created struct{ ID string }
	if err := errors.Join(json.Unmarshal(result, &forked), json.Unmarshal(forked.Thread, &created)); err != nil {
		return session.Forked{}, err
	}
	stored, err := f.Lookup(ctx, created.ID)
	return session.Forked{Session: stored, Thread: forked.Thread}, err
}

func (f *fakeSessions) ask(ctx context.Context, method, id string) (json.RawMessage, error) {
	return f.runtime.Call(ctx, method, map[string]string{"threadId": id})
}

func (f *fakeSessions) Compact(ctx context.Context, id string) (json.RawMessage, error) {
	return f.ask(ctx, "thread/compact/start", id)
}

func (f *fakeSessions) CleanTerminals(ctx context.Context, id string) (json.RawMessage, error) {
	return f.ask(ctx, "thread/backgroundTerminals/clean", id)
}

func (f *fakeSessions) Review(ctx context.Context, id string, review runtime.Review) (json.RawMessage, error) {
	f.note(review)
	return f.ask(ctx, "review/start", id)
}

func (f *fakeSessions) SteerTurn(ctx context.Context, id, turnID, text string) error {
	f.note(turnID + ": " + text)
	_, err := f.ask(ctx, "turn/steer", id)
	return err
}

func (f *fakeSessions) Lookup(_ context.Context, id string) (session.Session, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.panics {
		panic("boom")
	}
	if f.lookup != nil {
		return f.lookup(id)
	}
	if at, gone := f.deleted[id]; gone {
		return session.Session{}, &session.DeletedError{SessionID: id, DeletedAt: at}
	}
	if id == unknownID || !strings.HasPrefix(id, "01a1") {
		return session.Session{}, session.ErrNotFound
	}
	return session.Session{ID: id, SystemOwned: id == systemID || id == systemID2, ProjectID: f.assigned[id]}, nil
}

func (f *fakeSessions) answer() (session.Session, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.next.session, f.fail
}

func (f *fakeSessions) CheckFolder(cwd string) (string, error) { return cwd, nil }

// Complete finds the path itself.
func (f *fakeSessions) Complete(path string, _ []string, _ int) ([]session.Folder, bool) {
	return []session.Folder{{Path: path}}, false
}

func (f *fakeSessions) Create(_ context.Context, in session.Create) (session.Session, error) {
	f.mu.Lock()
	f.created = append(f.created, in)
	f.mu.Unlock()
	return f.answer()
}

func (f *fakeSessions) List(_ context.Context, q session.ListQuery) (session.Page, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.listed = q
	if q.Cursor == "bogus" {
		return session.Page{}, session.ErrBadCursor
	}
	return f.next.page, f.fail
}

func (f *fakeSessions) RollBack(_ context.Context, _ string, numTurns int) (json.RawMessage, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rolledBack = numTurns
	return f.next.result, f.fail
}

func (f *fakeSessions) Read(_ context.Context, _ string, want session.Reading) (session.Detail, error) {
	one, err := f.answer()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.read = want
	if want.Figures {
		one.Figures = &session.Figures{Plan: json.RawMessage(`{"plan":[]}`), LastEntryAt: 5_000}
	}
	detail := session.Detail{Session: one, Transcript: f.next.transcript, Version: f.next.version, Pos: f.next.pos}
	detail.Unchanged = want.Has != nil && want.Has(detail.Version)
	return detail, err
}

func (f *fakeSessions) MarkRead(_ context.Context, reader, _, messageID string) (bool, error) {
	if messageID == "none" {
		return false, session.ErrNoEntry
	}
	f.note(reader + " " + messageID)
	return messageID != "read", nil
}

func (f *fakeSessions) MarkUnread(context.Context, string, string) error { return nil }

func (f *fakeSessions) Rename(_ context.Context, _, title string) (session.Session, error) {
	f.note(title)
	return f.answer()
}

func (f *fakeSessions) note(what any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.received = append(f.received, what)
}

func (f *fakeSessions) Archive(_ context.Context, id string) (session.Session, error) {
	return session.Session{ID: id, Archived: true}, f.fail
}
func (f *fakeSessions) Unarchive(context.Context, string) (session.Session, error) { return f.answer() }
func (f *fakeSessions) Resume(_ context.Context, _ string, tools json.RawMessage) (session.Session, error) {
	f.note(tools)
	return f.answer()
}

func (f *fakeSessions) Delete(_ context.Context, id string) (session.Deleted, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.deleted[id] = 1
	return f.next.deleted, f.fail
}

func (f *fakeSessions) AssignProject(_ context.Context, id string, projectID *string) (session.Session, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if projectID != nil && f.project(*projectID) == nil {
		return session.Session{}, session.ErrProjectNotFound
	}
	if id == unknownID || !strings.HasPrefix(id, "01a1") {
		return session.Session{}, session.ErrNotFound
	}
	f.assigned[id] = projectID
	return session.Session{ID: id, ProjectID: projectID}, f.fail
}

func (f *fakeSessions) Submit(_ context.Context, _ string, m session.Message) (session.Sent, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.messages = append(f.messages, m)
	return session.Sent{TurnID: f.next.turnID}, f.fail
}

// TurnForKey returns the turn that the test set.
func (f *fakeSessions) TurnForKey(_ context.Context, id, key string) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.keys = append(f.keys, key)
	return f.made, f.madeErr
}

func (f *fakeSessions) Retry(_ context.Context, id, turnID, _ string) (string, error) {
	if f.fail != nil {
		return "", f.fail
	}
	return "after " + turnID + " of " + id, nil
}

func (f *fakeSessions) Sources(context.Context, string) (session.Sources, error) {
	now := runtime.Source{Path: "/w/AGENTS.md", Kind: runtime.SourceInstructions, Scope: runtime.SourceOfFolder, Bytes: 3,
		SHA256: "aa"}
	return session.Sources{Implicit: runtime.ImplicitAll, Choices: []string{runtime.ImplicitAll, runtime.ImplicitHome},
		Files: []session.SourceNow{
			{Source: now, State: session.SourceChanged, Began: &runtime.Source{Bytes: 2, SHA256: "bb"}}}}, f.fail
}

func (f *fakeSessions) StopTurn(_ context.Context, _, turnID string, keepBackground bool) (session.Stopped, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.fail != nil:
		return session.Stopped{}, f.fail
	case f.next.turnID == "":
		return session.Stopped{}, session.ErrNoActiveTurn
	case turnID != "" && turnID != f.next.turnID:
		return session.Stopped{}, session.ErrWrongTurn
	}
	stopped := session.Stopped{TurnID: f.next.turnID}
	if keepBackground {
		f.received = append(f.received, "keep the background work")
		stopped.GoesOn = f.background
	} else {
		stopped.Ended = f.background
	}
	return stopped, nil
}

func (f *fakeSessions) Background(context.Context, string) ([]session.BackgroundTask, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.background, f.fail
}

func (f *fakeSessions) EndBackground(_ context.Context, _, id string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	left := slices.DeleteFunc(slices.Clone(f.background), func(one session.BackgroundTask) bool { return one.ID == id })
	if len(left) == len(f.background) {
		return runtime.ErrNoBackground
	}
	f.background = left
	return f.fail
}

func (f *fakeSessions) UpsertTranscripts(ctx context.Context, id string, entries []transcript.Entry) (
	[]json.RawMessage, error) {
	if _, err := f.Lookup(ctx, id); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.entries = append(f.entries, entries...)
	encoded := make([]json.RawMessage, len(entries))
	for i := range entries {
		encoded[i] = entries[i].AppendJSON(nil)
	}
	return encoded, f.fail
}

func (f *fakeSessions) Requests(_ context.Context, id string, kind runtime.RequestKind) ([]session.Request, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var pending []session.Request
	for _, request := range f.requests {
		if request.SessionID == id && request.Kind == kind && request.Status == session.RequestPending {
			pending = append(pending, request)
		}
	}
	return pending, f.fail
}

func (f *fakeSessions) AllPending(context.Context) ([]session.Request, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	pending := slices.Collect(maps.Values(f.requests))
	slices.SortFunc(pending, func(a, b session.Request) int { return strings.Compare(a.ID, b.ID) })
	return pending, f.fail
}

func (f *fakeSessions) Settle(_ context.Context, id string, kind runtime.RequestKind, answer runtime.Reply, by string) (
	session.Request, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	request, exists := f.requests[id]
	if !exists || request.Kind != kind {
		return session.Request{}, session.ErrRequestNotFound
	}
	if request.Status != session.RequestPending {
		return session.Request{}, &session.SettledError{Request: request}
	}
	request.Status, request.Reply, request.DecidedBy, request.SettledAt =
		session.RequestResolved, &answer, by, 1795224552123
	f.requests[id] = request
	f.settled = append(f.settled, answer)
	return request, f.fail
}

func (f *fakeSessions) ProjectsAt(context.Context) ([]session.Project, int64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.projects, f.next.pos, f.fail
}

func (f *fakeSessions) CreateProject(_ context.Context, name string, directory *string) (session.Project, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.nameTaken(name, ""); err != nil {
		return session.Project{}, err
	}
	project := f.next.project
	project.Name, project.WorkingDirectory = name, directory
	f.projects = append(f.projects, project)
	return project, f.fail
}

func (f *fakeSessions) RenameProject(_ context.Context, id, name string, directory *string, setDirectory bool) (
	session.Project, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	project := f.project(id)
	if project == nil {
		return session.Project{}, session.ErrProjectNotFound
	}
	if err := f.nameTaken(name, id); err != nil {
		return session.Project{}, err
	}
	project.Name, project.UpdatedAt = name, f.next.project.UpdatedAt
	if setDirectory {
		project.WorkingDirectory = directory
	}
	return *project, f.fail
}

func (f *fakeSessions) DeleteProject(_ context.Context, id string) (session.Project, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fail != nil {
		return session.Project{}, f.fail
	}
	for i, project := range f.projects {
		if project.ID == id {
			f.projects = append(f.projects[:i:i], f.projects[i+1:]...)
			return project, nil
		}
	}
	return session.Project{}, session.ErrProjectNotFound
}

func (f *fakeSessions) project(id string) *session.Project {
	for i := range f.projects {
		if f.projects[i].ID == id {
			return &f.projects[i]
		}
	}
	return nil
}

func (f *fakeSessions) nameTaken(name, except string) error {
	for _, project := range f.projects {
		if strings.EqualFold(project.Name, name) && project.ID != except {
			return &session.DuplicateNameError{ProjectID: project.ID}
		}
	}
	return nil
}

// fakeRuntime returns one result or refusal for every call, unless a method has a separate one.
type fakeRuntime struct {
	mu      sync.Mutex
	result  json.RawMessage
	fail    error
	answers map[string]json.RawMessage
	refused map[string][]error // refusals of a method, each used once
	calls   []string           // "method params"
}

func (f *fakeRuntime) Call(_ context.Context, method string, params any) (json.RawMessage, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	encoded := ""
	if params != nil {
		text, err := json.Marshal(params)
		if err != nil {
			return nil, err
		}
		encoded = " " + string(text)
	}
	f.calls = append(f.calls, method+encoded)
	if queue := f.refused[method]; len(queue) > 0 {
		f.refused[method] = queue[1:]
		return nil, queue[0]
	}
	if answer, known := f.answers[method]; known {
		return answer, nil
	}
	return f.result, f.fail
}

// fakeHealth is the state of a process.
type fakeHealth struct {
	damaged      int
	status       runtime.Status // of codex
	others       []api.RuntimeHealth
	notReady     error
	storeRefuses error
	outage       *journal.OutageError
}

func (f *fakeHealth) Runtime() runtime.Status { return f.status }
func (f *fakeHealth) Runtimes() []api.RuntimeHealth {
	return append([]api.RuntimeHealth{{Name: "codex", Status: f.status}}, f.others...)
}
func (f *fakeHealth) Serving() error { return f.notReady }

func (f *fakeHealth) Damaged() (int, time.Time) { return f.damaged, time.UnixMilli(1) }

func (f *fakeHealth) StoreReady(context.Context) error { return f.storeRefuses }

// Store implements api.Health.
func (f *fakeHealth) Store() *journal.OutageError { return f.outage }
