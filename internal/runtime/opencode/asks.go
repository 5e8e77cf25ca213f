package opencode

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"harness/internal/runtime"
	"harness/internal/runtime/wire"
)

// askedContext is stored with a request so that it can be answered later (runtime.Asked.Context).
type askedContext struct {
	// Session is the requesting conversation, Folder its folder.
	Session string `json:"session"`
	Folder  string `json:"folder"`
	// Permission and Always are the scope of an approval for the session.
	Permission string   `json:"permission,omitempty"`
	Always     []string `json:"always,omitempty"`
	// Questions is the number of questions.
	Questions int `json:"questions,omitempty"`
}

// ask stores a request. It returns nil when the request is known, or belongs to no turn.
func (t *translation) ask(id, native string, tool toolRef) *conversation {
	in := t.asker(native)
	if in == nil || id == "" || !fit(id) || len(in.Asked) >= maxAsked ||
		slices.ContainsFunc(in.Asked, func(one asked) bool { return one.ID == id }) {
		return nil
	}
	in.Asked = append(in.Asked, asked{ID: id, Call: runtime.KnownID(tool.CallID)})
	return in
}

func (t *translation) permission(raw json.RawMessage) {
	var p permission
	if json.Unmarshal(raw, &p) != nil {
		return
	}
	in := t.ask(p.ID, p.SessionID, p.Tool)
	if in == nil {
		return
	}
	var meta toolMetadata
	_ = json.Unmarshal(p.Metadata, &meta) // the decoder skips members of an unexpected type
	asking := wire.Asking{Place: in.in(), At: t.at}
	if open := in.ofCall(runtime.KnownID(p.Tool.CallID)); open != nil {
		asking.ItemID = open.ID
		if p.Permission == toolShell || p.Permission == "edit" { // the arguments of others come with their start
			t.begin(in, open,
				toolState{Metadata: meta, Input: encoded(toolInput{Command: meta.Command, FilePath: meta.FilePath})})
		}
	}
	id := rawText(p.ID)
	var signal runtime.Signal
	switch p.Permission {
	case toolShell:
		command := meta.Command
		if command == "" {
			command = strings.Join(p.Patterns, " && ")
		}
		signal = wire.ApproveCommand(id, asking, command, in.Dir, nil)
	case "edit":
		kind := "update"
		if strings.Contains(meta.Diff, "\n@@ -0,0 ") {
			kind = "add"
		}
		signal = wire.ApproveFileChange(id, asking, []wire.FileEdit{{Path: meta.FilePath, Kind: kind, Diff: meta.Diff}}, nil)
	default:
		signal = wire.ApproveTool(id, asking, p.Permission, encoded(struct {
			Patterns []string        `json:"patterns"`
			Metadata json.RawMessage `json:"metadata,omitempty"`
		}{p.Patterns, p.Metadata}), nil)
	}
	t.request(signal, askedContext{Session: p.SessionID, Folder: t.dir, Permission: p.Permission, Always: p.Always})
}

func (t *translation) question(raw json.RawMessage) {
	var q question
	if json.Unmarshal(raw, &q) != nil {
		return
	}
	in := t.ask(q.ID, q.SessionID, q.Tool)
	if in == nil {
		return
	}
	questions := make([]wire.Question, len(q.Questions))
	for i, one := range q.Questions {
		questions[i] = wire.Question{ID: questionID(i), Header: one.Header, Question: one.Question, Options: []wire.Option{},
			IsOther: one.Custom == nil || *one.Custom, Multiple: one.Multiple}
		for _, option := range one.Options {
			questions[i].Options = append(questions[i].Options,
				wire.Option{Label: option.Label, Description: option.Description})
		}
	}
	t.request(wire.AskUser(rawText(q.ID), wire.Asking{Place: in.in(), At: t.at}, questions...),
		askedContext{Session: q.SessionID, Folder: t.dir, Questions: len(questions)})
}

// questionID returns the id of the n-th question of a request.
func questionID(n int) string { return "q" + strconv.Itoa(n+1) }

// request publishes a request with its context.
func (t *translation) request(signal runtime.Signal, with askedContext) {
	if change, ok := signal.Change.(runtime.InteractiveRequested); ok {
		change.Asked.Context = encoded(with)
		signal.Change = change
	}
	t.emit(signal)
}

// settled handles the end of a request. A refusal declines its item.
func (t *translation) settled(id, reply string) {
	for _, in := range t.Conversations {
		i := slices.IndexFunc(in.Asked, func(one asked) bool { return one.ID == id })
		if i < 0 {
			continue
		}
		if open := in.ofCall(in.Asked[i].Call); open != nil && reply == "reject" {
			open.Declined = true
		}
		in.Asked = slices.Delete(in.Asked, i, i+1)
		t.emit(wire.RequestResolved(in.Thread, rawText(id)))
		return
	}
}
