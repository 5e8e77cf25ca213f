package admin

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"harness/api/rest"
	"harness/api/schema"
	"harness/internal/lib/javascript"
	"harness/internal/operations"
	"harness/queue"
	"harness/stream"
)

// The operators' lists over all sessions and projects: jobs and events.

var (
	reportLimit   = rest.Optional("limit", schema.Integer().Coerce().Min(1).Max(operations.MaxReport))
	sinceField    = rest.Optional("since", rest.Name)
	untilField    = rest.Optional("until", rest.Name)
	jobStateField = rest.Optional("state", schema.Enum(string(queue.Queued), string(queue.Running), string(queue.Completed),
		string(queue.Failed), string(queue.Canceled)))
	jobFilter = []schema.Field{jobStateField, rest.Optional("type", rest.Name), rest.Optional("project", rest.Name),
		rest.Optional("session", rest.Name), sinceField, untilField}
	browseJobs     = schema.Struct(append([]schema.Field{rest.Optional("cursor", rest.Cursor), reportLimit}, jobFilter...)...)
	cancelJobsBody = schema.Struct(jobFilter...)
	positionField  = schema.Integer().Coerce().Min(0)
	browseEvents   = schema.Struct(rest.Optional("after", positionField), rest.Optional("before", positionField),
		rest.Optional("session", rest.Name), rest.Optional("type", rest.Name), rest.Optional("actor", rest.Name), sinceField,
		untilField, reportLimit)
)

func (s *reportAPI) reportRoutes() []rest.Route {
	return []rest.Route{
		{Method: http.MethodGet, Path: "/api/jobs", Query: browseJobs, Handle: s.browseJobs},
		{Method: http.MethodPost, Path: "/api/jobs/cancel", Body: cancelJobsBody, Handle: s.cancelJobs},
		{Method: http.MethodPost, Path: "/api/jobs/:jobId/run-again", Once: true, Handle: s.runJobAgain},
		{Method: http.MethodGet, Path: "/api/events", Query: browseEvents, Handle: s.browseEvents},
		{Method: http.MethodGet, Path: "/api/events/:pos", Handle: s.readEvent},
	}
}

// timeOf parses an RFC 3339 time or a day (UTC) into milliseconds. An absent value is 0.
func timeOf(v schema.Value, name string) (int64, error) {
	given := v.Get(name)
	if !given.Defined() {
		return 0, nil
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if at, err := time.Parse(layout, given.Text()); err == nil {
			return at.UnixMilli(), nil
		}
	}
	return 0, &rest.ValidationError{Issues: []schema.Issue{
		schema.Custom("Give a time as 2026-01-02T03:04:05Z, or a day as 2026-01-02", name)}}
}

// between parses since and until.
func between(v schema.Value) (since, until int64, err error) {
	if since, err = timeOf(v, "since"); err != nil {
		return 0, 0, err
	}
	until, err = timeOf(v, "until")
	return since, until, err
}

func jobFilterOf(v schema.Value) (f queue.Filter, err error) {
	f = queue.Filter{State: queue.State(v.Get("state").Text()), Type: v.Get("type").Text(),
		ProjectID: v.Get("project").Text(), Session: v.Get("session").Text()}
	f.Since, f.Before, err = between(v)
	return f, err
}

func (s *reportAPI) browseJobs(ctx context.Context, in *rest.Input) (rest.Reply, error) {
	filter, err := jobFilterOf(in.Query)
	if err != nil {
		return rest.Reply{}, err
	}
	page, err := s.jobs.BrowseJobs(ctx, queue.Browse{Filter: filter, Cursor: in.Query.Get("cursor").Text(),
		Limit: int(in.Query.Get("limit").Int())})
	if err != nil {
		return rest.Reply{}, err
	}
	return rest.OK(struct {
		Data       []queue.Job   `json:"data"`
		NextCursor *string       `json:"nextCursor"`
		Counts     jobCountsView `json:"counts"`
	}{page.Jobs, rest.TextOrNull(page.NextCursor), jobCountsView{page.Counts[queue.Queued], page.Counts[queue.Running],
		page.Counts[queue.Completed], page.Counts[queue.Failed], page.Counts[queue.Canceled]}})
}

type jobCountsView struct {
	Queued    int `json:"queued"`
	Running   int `json:"running"`
	Completed int `json:"completed"`
	Failed    int `json:"failed"`
	Canceled  int `json:"canceled"`
}

func (s *reportAPI) cancelJobs(ctx context.Context, in *rest.Input) (rest.Reply, error) {
	filter, err := jobFilterOf(in.Body)
	if err != nil {
		return rest.Reply{}, err
	}
	canceled, more, err := s.jobs.CancelJobs(ctx, filter, cancelReason)
	if err != nil {
		return rest.Reply{}, err
	}
	return rest.OK(struct {
		Status string      `json:"status"`
		Jobs   []queue.Job `json:"jobs"`
		More   bool        `json:"more"`
	}{"ok", canceled, more})
}

func (s *reportAPI) runJobAgain(ctx context.Context, in *rest.Input) (rest.Reply, error) {
	result, err := s.jobs.JobAgain(ctx, in.Params["jobId"])
	if err != nil {
		return rest.Reply{}, err
	}
	return rest.Reply{Status: http.StatusAccepted, Body: struct {
		Status string              `json:"status"`
		Job    queue.Job           `json:"job"`
		Dedupe queue.EnqueueStatus `json:"dedupe"`
	}{"ok", result.Job, result.Status}}, nil
}

// eventView is an event in the list.
type eventView struct {
	Pos       int64           `json:"pos"`
	Seq       int64           `json:"seq"`
	Time      string          `json:"time"`
	SessionID *string         `json:"sessionId"`
	TurnID    *string         `json:"turnId"`
	ItemID    *string         `json:"itemId"`
	Type      string          `json:"type"`
	Source    string          `json:"source"`
	Actor     *string         `json:"actor"`
	Bytes     int             `json:"bytes"`
	Payload   json.RawMessage `json:"payload"`
}

func viewEvent(e *stream.BrowsedEvent, payload json.RawMessage) eventView {
	return eventView{e.Cursor, e.Seq, javascript.ISOTime(e.Time), rest.TextOrNull(e.SessionID), rest.TextOrNull(e.TurnID),
		rest.TextOrNull(e.ItemID), e.Name, e.Source, rest.TextOrNull(e.Actor), len(e.Payload), payload}
}

func (s *reportAPI) browseEvents(ctx context.Context, in *rest.Input) (rest.Reply, error) {
	want := stream.Browse{Session: in.Query.Get("session").Text(), Type: in.Query.Get("type").Text(),
		Actor: in.Query.Get("actor").Text(), Limit: int(in.Query.Get("limit").Int())}
	for name, cursor := range map[string]**int64{"after": &want.After, "before": &want.Before} {
		if given := in.Query.Get(name); given.Defined() {
			at := given.Int()
			*cursor = &at
		}
	}
	var err error
	if want.Since, want.Until, err = between(in.Query); err != nil {
		return rest.Reply{}, err
	}
	page, err := s.history.Events(ctx, want)
	if err != nil {
		return rest.Reply{}, err
	}
	body := struct {
		Data []eventView `json:"data"`
		Next *int64      `json:"next"`
		Pos  int64       `json:"pos"`
	}{make([]eventView, len(page.Events)), page.Next, page.Head}
	for i := range page.Events {
		body.Data[i] = viewEvent(&page.Events[i], page.Events[i].Listed())
	}
	return rest.OK(body)
}

func (s *reportAPI) readEvent(ctx context.Context, in *rest.Input) (rest.Reply, error) {
	pos, err := strconv.ParseInt(in.Params["pos"], 10, 64)
	if err != nil || pos < 0 {
		return rest.Reply{}, &rest.ValidationError{Issues: []schema.Issue{
			schema.Custom("Give the pos of an event", "pos")}}
	}
	event, found, err := s.history.Event(ctx, pos)
	if err != nil {
		return rest.Reply{}, err
	}
	if !found {
		return rest.Reply{Status: http.StatusNotFound, Body: rest.ErrorBody{Status: "error", Code: "not_found",
			Message: "no event is stored at this position"}}, nil
	}
	return rest.OK(viewEvent(&event, event.Payload))
}
