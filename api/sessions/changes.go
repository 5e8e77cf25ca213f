package sessions

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"harness/api/rest"
	"harness/api/schema"
	"harness/internal/operations"
	"harness/internal/services/workingtree"
)

type changes struct{ changes *operations.Changes }

const changesPath = "/api/sessions/:sessionId/changes"

var (
	turnField    = rest.Optional("turn", schema.Text{}.Min(1).Max(200))
	baseField    = rest.Optional("base", schema.Enum("session", "branch"))
	changesQuery = schema.Struct(turnField, baseField,
		rest.Optional("cursor", schema.Integer().Coerce().Min(0).Max(1<<30)),
		rest.Optional("limit", schema.Integer().Coerce().Min(1).Max(operations.MaxChanges)))
	diffQuery = schema.Struct(turnField, baseField, rest.Optional("path", schema.Text{}.Min(1).Max(4096)),
		rest.Optional("context", schema.Integer().Coerce().Min(0).Max(1000)))
)

func (s *changes) changeRoutes() []rest.Route {
	return []rest.Route{
		{Method: http.MethodGet, Path: changesPath, Operation: operations.ReadChanges, Query: changesQuery, Handle: s.list},
		{Method: http.MethodGet, Path: "/api/sessions/:sessionId/blame", Operation: operations.ReadChanges, Query: blameQuery, Handle: s.blame},
		{Method: http.MethodGet, Path: changesPath + "/diff", Operation: operations.ReadChanges, Query: diffQuery, Handle: s.diff},
	}
}

// changesBody is what differs in the folder of a session.
type changesBody struct {
	Status    string  `json:"status"`
	SessionID string  `json:"sessionId"`
	TurnID    *string `json:"turnId"`
	// Base and Tree are null before the first turn.
	Base       *string    `json:"base"`
	Tree       *string    `json:"tree"`
	AsOf       string     `json:"asOf"`
	Files      []fileView `json:"files"`
	Total      int        `json:"total"`
	Added      int        `json:"added"`
	Removed    int        `json:"removed"`
	Skipped    []string   `json:"skipped"`
	NextCursor *string    `json:"nextCursor"`
}

type fileView struct {
	Path    string  `json:"path"`
	From    *string `json:"from"`
	Kind    string  `json:"kind"`
	Mode    string  `json:"mode"`
	Added   int     `json:"added"`
	Removed int     `json:"removed"`
	Binary  bool    `json:"binary"`
	TurnID  *string `json:"turnId"`
	// AlsoIn are other sessions that changed the path.
	AlsoIn []string `json:"alsoIn"`
}

// baseOf returns the base of the changes. A turn goes before the branch.
func baseOf(in *rest.Input) workingtree.Base {
	turn := in.Query.Get("turn").Text()
	return workingtree.Base{Turn: turn, Branch: turn == "" && in.Query.Get("base").Text() == "branch"}
}

// orNull returns nil for "".
func orNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

func (s *changes) list(ctx context.Context, in *rest.Input) (rest.Reply, error) {
	base := baseOf(in)
	page, err := s.changes.Changes(ctx, in.SessionID(), base,
		int(in.Query.Get("cursor").Int()), int(in.Query.Get("limit").Int()))
	if err != nil {
		return rest.Reply{}, err
	}
	body := changesBody{Status: "ok", SessionID: in.SessionID(), TurnID: orNull(base.Turn), Base: orNull(page.Base), Tree: orNull(page.Tree),
		AsOf: page.At.UTC().Format(time.RFC3339Nano), Files: make([]fileView, 0, len(page.Files)), Total: page.Total,
		Added: page.Added, Removed: page.Removed, Skipped: make([]string, 0, len(page.Skipped))}
	for _, path := range page.Skipped {
		body.Skipped = append(body.Skipped, workingtree.ShownPath(path))
	}
	for _, file := range page.Files {
		body.Files = append(body.Files, fileView{Path: workingtree.ShownPath(file.Path),
			From: orNull(workingtree.ShownPath(file.From)), Kind: string(file.Kind), Mode: file.Mode,
			Added: file.Added, Removed: file.Removed, Binary: file.Binary, TurnID: orNull(file.TurnID),
			AlsoIn: append([]string{}, file.AlsoIn...)})
	}
	if page.Next > 0 {
		body.NextCursor = orNull(strconv.Itoa(page.Next))
	}
	return rest.OK(body)
}

// maxDiff bounds the patch of one response in bytes.
const maxDiff = 256 << 10

type diffBody struct {
	Status    string `json:"status"`
	Patch     string `json:"patch"`
	Truncated bool   `json:"truncated"`
}

// defaultContext is the default number of unchanged lines around a change.
const defaultContext = 3

func (s *changes) diff(ctx context.Context, in *rest.Input) (rest.Reply, error) {
	lines := defaultContext
	if value := in.Query.Get("context"); value.Defined() {
		lines = int(value.Int())
	}
	patch, err := s.changes.Diff(ctx, in.SessionID(), baseOf(in), in.Query.Get("path").Text(), lines)
	if err != nil {
		return rest.Reply{}, err
	}
	body := diffBody{Status: "ok"}
	if len(patch) > maxDiff {
		patch, body.Truncated = patch[:maxDiff], true
		for len(patch) > 0 && patch[len(patch)-1] != '\n' {
			patch = patch[:len(patch)-1]
		}
	}
	body.Patch = strings.ToValidUTF8(string(patch), "\uFFFD")
	return rest.OK(body)
}
