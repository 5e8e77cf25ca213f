package mcp

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	index "harness/internal/content/search"
	"harness/internal/operations"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/transcript"
)

type listInput struct {
	State   string `json:"state,omitempty" jsonschema:"idle, running, waiting, error or unresponsive"`
	Runtime string `json:"runtime,omitempty"`
	Project string `json:"project,omitempty"`
	Query   string `json:"query,omitempty" jsonschema:"a text of the title or of the first message"`
	Cursor  string `json:"cursor,omitempty"`
	Limit   limit  `json:"limit,omitempty"`
}

// sessionView is a session in an answer.
type sessionView struct {
	ID        string `json:"id"`
	Title     string `json:"title"`
	Runtime   string `json:"runtime"`
	State     string `json:"state"`
	Waiting   int64  `json:"waiting"`
	UpdatedAt string `json:"updated_at"`
	Parent    string `json:"parent,omitempty"`
}

func viewOf(s session.Session, parent string) sessionView {
	title, _ := s.Shown()
	return sessionView{s.ID, title, s.Runtime, string(s.Activity.State), s.Activity.PendingCount, instant(s.UpdatedAt), parent}
}

func listSessions(ctx context.Context, k *call, in listInput) (any, error) {
	if k.agent() != "" {
		return k.family(ctx, in)
	}
	page, err := k.ops().List(ctx, session.ListQuery{Text: in.Query, Runtime: in.Runtime, ProjectID: in.Project,
		State: session.State(in.State), Cursor: in.Cursor, Limit: in.Limit.or()})
	if err != nil {
		return nil, err
	}
	views := make([]sessionView, len(page.Sessions))
	for i, one := range page.Sessions {
		views[i] = viewOf(one, "")
	}
	return object{"sessions": views, "next_cursor": page.NextCursor, "pos": page.Pos}, nil
}

type transcriptInput struct {
	Session string   `json:"session"`
	After   string   `json:"after,omitempty" jsonschema:"id of an entry; without it, the newest entries"`
	Limit   limit    `json:"limit,omitempty"`
	Kinds   kindList `json:"kinds,omitempty" jsonschema:"types of entries, such as agentMessage"`
	Entry   string   `json:"entry,omitempty" jsonschema:"id of an entry whose text goes on; then only offset counts"`
	Offset  offset   `json:"offset,omitempty" jsonschema:"next_offset of that entry in the last answer"`
}

// entryView is an entry of a transcript in an answer.
type entryView struct {
	ID        string `json:"id"`
	Turn      string `json:"turn"`
	Role      string `json:"role"`
	Type      string `json:"type"`
	Text      string `json:"text"`
	Truncated bool   `json:"truncated,omitempty"`
	// Next is where a truncated text goes on, 0 while it grows.
	Next int64 `json:"next_offset,omitempty"`
}

func readTranscript(ctx context.Context, k *call, in transcriptInput) (any, error) {
	if err := k.own(ctx, in.Session); err != nil {
		return nil, err
	}
	if in.Entry != "" {
		return k.text(ctx, in)
	}
	read, _, err := k.ops().Read(ctx, in.Session, operations.Reading{Limit: in.Limit.or(), After: in.After, OmitDetails: true,
		Beginning: maxShownBytes})
	if err != nil {
		return nil, err
	}
	entries := []entryView{}
	for i := range read.Transcript {
		if one := &read.Transcript[i]; len(in.Kinds) == 0 || slices.Contains(in.Kinds, one.Type) {
			entries = append(entries, entryOf(one))
		}
	}
	return object{"entries": entries, "more": read.Newer != "", "pos": read.Pos, "untrusted": true}, nil
}

func entryOf(one *transcript.Entry) entryView {
	view := entryView{ID: one.MessageID, Turn: one.TurnID, Role: one.Role, Type: one.Type}
	view.Text, view.Truncated = cut(one.Whole().Content)
	if view.Truncated = view.Truncated || one.Cut; view.Truncated && one.Status != transcript.Streaming {
		view.Next = int64(len(view.Text))
	}
	return view
}

// text continues the text of an entry.
func (k *call) text(ctx context.Context, in transcriptInput) (any, error) {
	read, err := k.ops().Text(ctx, in.Session, in.Entry, int64(in.Offset), maxShownBytes)
	if err != nil {
		return nil, err
	}
	text, truncated := cut(read.Text)
	answer := object{"entry": in.Entry, "text": text, "untrusted": true}
	if truncated || read.Next > 0 {
		answer["next_offset"] = int64(in.Offset) + int64(len(text))
	}
	return answer, nil
}

type searchInput struct {
	Query   string `json:"query"`
	Session string `json:"session,omitempty"`
	Cursor  string `json:"cursor,omitempty"`
	Limit   limit  `json:"limit,omitempty"`
}

type hitView struct {
	Session string `json:"session"`
	Title   string `json:"title"`
	Entry   string `json:"entry,omitempty"`
	Excerpt string `json:"excerpt"`
}

func search(ctx context.Context, k *call, in searchInput) (any, error) {
	if in.Session = cmp.Or(in.Session, k.agent()); in.Session != "" {
		if err := errors.Join(k.own(ctx, in.Session), k.ops().Check(ctx, operations.Read, in.Session)); err != nil {
			return nil, err
		}
	}
	page, err := k.ops().Search(ctx, index.Query{Text: in.Query, Session: in.Session, Cursor: in.Cursor, Limit: in.Limit.or()})
	if err != nil {
		return nil, err
	}
	hits := make([]hitView, len(page.Hits))
	for i, one := range page.Hits {
		hits[i] = hitView{one.SessionID, one.Title, one.EntryID, one.Snippet}
	}
	return object{"hits": hits, "next_cursor": page.Next, "untrusted": true}, nil
}

type approvalsInput struct {
	Session string `json:"session,omitempty"`
	Cursor  string `json:"cursor,omitempty"`
	Limit   limit  `json:"limit,omitempty"`
}

type requestView struct {
	ID        string   `json:"id"`
	Session   string   `json:"session"`
	Kind      string   `json:"kind"`
	Summary   string   `json:"summary"`
	Asked     string   `json:"asked"`
	Decisions []string `json:"decisions"`
}

func listApprovals(ctx context.Context, k *call, in approvalsInput) (any, error) {
	if in.Session = cmp.Or(in.Session, k.agent()); in.Session != "" {
		if err := k.own(ctx, in.Session); err != nil {
			return nil, err
		}
	}
	open, err := k.ops().Pending(ctx, in.Session)
	if err != nil {
		return nil, err
	}
	if at := slices.IndexFunc(open, func(r session.Request) bool { return r.ID == in.Cursor }); at >= 0 {
		open = open[at+1:]
	}
	next := ""
	if len(open) > in.Limit.or() {
		open = open[:in.Limit.or()]
		next = open[len(open)-1].ID
	}
	views := make([]requestView, len(open))
	for i, one := range open {
		decisions := []string{"accept", "decline", "cancel"}
		for _, option := range one.Asked.Options {
			decisions = append(decisions, "option:"+option.ID)
		}
		summary, _ := cut(one.Summary)
		views[i] = requestView{one.ID, one.SessionID, string(one.Kind), summary, instant(one.CreatedAt), decisions}
	}
	return object{"requests": views, "next_cursor": next, "untrusted": true}, nil
}

type runtimeView struct {
	Name      string   `json:"name"`
	Default   bool     `json:"default"`
	State     string   `json:"state"`
	Models    []string `json:"models"`
	Sandboxes []string `json:"sandboxes"`
	Approvals []string `json:"approvals"`
	Networks  []string `json:"networks"`
}

// modelsWait bounds how long a runtime may take to list its models.
const modelsWait = 5 * time.Second

func listRuntimes(ctx context.Context, k *call, _ struct{}) (any, error) {
	states, err := k.ops().RuntimeStates()
	if err != nil {
		return nil, err
	}
	views := make([]runtimeView, len(states))
	var asking sync.WaitGroup
	for i, one := range states {
		can := one.Capabilities
		views[i] = runtimeView{one.Name, one.Default, string(one.Status.State), []string{}, can.Sandboxes, can.ApprovalPolicies,
			can.NetworkAccess}
		if one.Offered == operations.RuntimeDisabled {
			views[i].State = string(operations.RuntimeDisabled)
			continue
		}
		asking.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, modelsWait)
			defer cancel()
			models, _ := k.ops().Models(ctx, one.Name) // a runtime that lists none still has a default model
			views[i].Models = ids(models)
		})
	}
	asking.Wait()
	return object{"runtimes": views}, nil
}

func ids(models []runtime.Model) []string {
	all := make([]string, len(models))
	for i, m := range models {
		all[i] = m.ID
	}
	return all
}
