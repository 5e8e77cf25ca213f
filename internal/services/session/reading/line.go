package reading

import (
	"context"
	"fmt"
	"strings"

	"harness/internal/platform/database"
	"harness/internal/runtime"
	"harness/internal/runtime/wire"
	"harness/internal/services/session"
	"harness/internal/services/session/store"
	"harness/internal/services/session/workspace"
)

// maxLine is the maximum number of characters of a line.
const maxLine = 200

// fillLines sets what happens in sessions now, and the branches of their folders. Most sessions are idle and cost
// nothing more.
func (r *Reader) fillLines(ctx context.Context, q database.Querier, sessions ...*session.Session) (err error) {
	branches := map[string]string{}
	for _, one := range sessions {
		if one.Figures == nil {
			continue
		}
		if branch, read := branches[one.Cwd]; read {
			one.Figures.Branch = branch
		} else if r.owns(*one) { // the folder is on this machine
			branches[one.Cwd] = workspace.Branch(one.Cwd)
			one.Figures.Branch = branches[one.Cwd]
		}
		if one.Figures.Line, err = r.lineOf(ctx, q, one); err != nil {
			return err
		}
	}
	return nil
}

// lineOf returns what happens in a session now, nil for nothing.
func (r *Reader) lineOf(ctx context.Context, q database.Querier, one *session.Session) (*session.Line, error) {
	now := one.Activity
	switch {
	case now.PendingCount > 0:
		return r.lineOfRequest(ctx, q, one.ID)
	case now.LastError != nil && now.ActiveTurnID != "":
		return lineOfError(session.LineRetrying, now.LastError), nil
	case now.LastError != nil:
		return lineOfError(session.LineFailed, now.LastError), nil
	case now.ActiveTurnID != "":
		return r.lineOfItem(ctx, q, one.ID)
	}
	return nil, nil //nolint:nilnil // nothing happens
}

func lineOf(kind session.LineKind, text string, at int64) *session.Line {
	line := []rune(strings.Join(strings.Fields(text), " "))
	if len(line) > maxLine {
		line = append(line[:maxLine-1], '…')
	}
	return &session.Line{Kind: kind, Text: string(line), At: at}
}

// lineOfError leaves out the remedy, which the session shows.
func lineOfError(kind session.LineKind, failed *session.TurnError) *session.Line {
	reason, _, _ := strings.Cut(failed.Message, "\n")
	return lineOf(kind, reason, 0)
}

// lineOfRequest describes the request that waits longest.
func (r *Reader) lineOfRequest(ctx context.Context, q database.Querier, sessionID string) (*session.Line, error) {
	pending, err := store.PendingRequests(ctx, q, sessionID)
	if err != nil || len(pending) == 0 {
		return nil, err
	}
	request := pending[0].Request
	if err := r.fillChanges(ctx, q, &request); err != nil {
		return nil, err
	}
	kind := session.LineApproval
	switch {
	case request.Kind == runtime.RequestToolInput:
		kind = session.LineQuestion
	case request.Kind == runtime.RequestToolCall:
		kind = session.LineTool
	case request.Changes != nil:
		return lineOf(session.LineEdit, changesText(request.Changes), request.CreatedAt), nil
	}
	return lineOf(kind, request.Summary, request.CreatedAt), nil
}

// lineOfItem describes the running item that began last.
func (r *Reader) lineOfItem(ctx context.Context, q database.Querier, sessionID string) (*session.Line, error) {
	running, err := store.RunningItems(ctx, q, sessionID)
	if err != nil {
		return nil, err
	}
	var last *session.Line
	for _, item := range running {
		entry, there, err := r.entries.Find(ctx, q, sessionID, item.MessageID)
		if err != nil {
			return nil, err
		}
		if !there || !wire.IsTool(entry.Type) || entry.StartedAt == nil || last != nil && *entry.StartedAt < last.At {
			continue
		}
		kind, text := session.LineRunning, entry.Type
		if entry = entry.Whole(); entry.Details != nil {
			details := []byte(*entry.Details)
			switch entry.Type {
			case wire.ItemCommand:
				text = wire.Text(wire.Members(details, "command")[0])
			case wire.ItemFileChange:
				kind, text = session.LineEditing, changesText(wire.FileChanges(details))
			default:
				if tool := wire.Text(wire.Members(details, "tool")[0]); tool != "" {
					text = tool
				}
			}
		}
		last = lineOf(kind, text, *entry.StartedAt)
	}
	return last, nil
}

// changesText names changed files, with the lines of the first one.
func changesText(changes []wire.ChangedFile) string {
	if len(changes) == 0 {
		return ""
	}
	text := changes[0].Path
	if changes[0].Added > 0 {
		text += fmt.Sprintf(" +%d", changes[0].Added)
	}
	if changes[0].Removed > 0 {
		text += fmt.Sprintf(" −%d", changes[0].Removed)
	}
	for _, more := range changes[1:] {
		text += ", " + more.Path
	}
	return text
}
