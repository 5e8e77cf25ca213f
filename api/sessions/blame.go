package sessions

import (
	"context"
	"strings"
	"time"

	"harness/api/rest"
	"harness/api/schema"
	"harness/internal/operations"
	"harness/internal/services/session"
)

var blameQuery = schema.Struct(rest.Required("path", schema.Text{}.Min(1).Max(4096)),
	rest.Optional("line", schema.Integer().Coerce().Min(1).Max(1<<30)),
	rest.Optional("limit", schema.Integer().Coerce().Min(1).Max(operations.MaxBlamed)))

// blameBody has lines of a file with the turns that wrote them.
type blameBody struct {
	Status    string      `json:"status"`
	SessionID string      `json:"sessionId"`
	Path      string      `json:"path"`
	AsOf      string      `json:"asOf"`
	Total     int         `json:"total"`
	Lines     []linesView `json:"lines"`
	NextLine  *int        `json:"nextLine"`
}

type linesView struct {
	From int      `json:"from"`
	To   int      `json:"to"`
	Text []string `json:"text"`
	// SessionID and TurnID are null if no turn is known to have written the lines.
	SessionID  *string         `json:"sessionId"`
	TurnID     *string         `json:"turnId"`
	Prompt     *string         `json:"prompt"`
	ApprovalID *string         `json:"approvalId"`
	DecidedBy  *session.Author `json:"decidedBy"`
	Certain    bool            `json:"certain"`
}

func (s *changes) blame(ctx context.Context, in *rest.Input) (rest.Reply, error) {
	line, path := 1, in.Query.Get("path").Text()
	if value := in.Query.Get("line"); value.Defined() {
		line = int(value.Int())
	}
	page, err := s.changes.Blame(ctx, in.SessionID(), path, line, int(in.Query.Get("limit").Int()))
	if err != nil {
		return rest.Reply{}, err
	}
	body := blameBody{Status: "ok", SessionID: in.SessionID(), Path: path, AsOf: page.At.UTC().Format(time.RFC3339Nano),
		Total: page.Total, Lines: make([]linesView, 0, len(page.Lines))}
	if page.Next > 0 {
		body.NextLine = &page.Next
	}
	for _, lines := range page.Lines {
		view := linesView{From: lines.From, To: lines.From + len(lines.Text) - 1, SessionID: orNull(lines.SessionID),
			TurnID: orNull(lines.TurnID), Prompt: orNull(lines.Prompt), ApprovalID: orNull(lines.RequestID), Certain: lines.Certain}
		if lines.RequestID != "" {
			view.DecidedBy = &lines.DecidedBy
		}
		for _, text := range lines.Text {
			view.Text = append(view.Text, strings.ToValidUTF8(text, "\uFFFD"))
		}
		body.Lines = append(body.Lines, view)
	}
	return rest.OK(body)
}
