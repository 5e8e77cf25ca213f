package admin

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"harness/api/rest"
	"harness/api/schema"
	"harness/internal/services/session"
	"harness/internal/services/session/usage"
)

var (
	usageQuery = schema.Struct(rest.Optional("by", schema.Enum(string(session.UsageByDay), string(session.UsageByProject),
		string(session.UsageBySession), string(session.UsageByRuntime), string(session.UsageByModel))), sinceField, untilField,
		rest.Optional("project", rest.Name), rest.Optional("session", rest.Name), rest.Optional("runtime", rest.RuntimeName),
		reportLimit)
	micros    = schema.Integer()
	priceBody = schema.Struct(rest.Required("model", rest.Name), rest.Optional("from", rest.Name),
		rest.Required("inputMicros", micros), rest.Required("cachedInputMicros", micros), rest.Required("outputMicros", micros))
)

func (s *reportAPI) usageRoutes() []rest.Route {
	return []rest.Route{
		{Method: http.MethodGet, Path: "/api/usage", Query: usageQuery, Handle: s.readUsage},
		{Method: http.MethodGet, Path: "/api/prices", Handle: s.listPrices},
		{Method: http.MethodPost, Path: "/api/prices", Access: rest.AccessAdmin, Body: priceBody, Handle: s.setPrice},
		{Method: http.MethodDelete, Path: "/api/prices/:priceId", Access: rest.AccessAdmin, Handle: s.removePrice},
	}
}

// unknownModel is the key of usage whose model is unknown.
const unknownModel = "unknown"

// usageView is the usage of one group. Key is absent in a total. Cost is null if nothing has a price.
type usageView struct {
	Key       string `json:"key,omitempty"`
	Requests  int64  `json:"requests"`
	Sessions  int64  `json:"sessions"`
	Total     int64  `json:"totalTokens"`
	Input     int64  `json:"inputTokens"`
	Cached    int64  `json:"cachedInputTokens"`
	Output    int64  `json:"outputTokens"`
	Reasoning int64  `json:"reasoningOutputTokens"`
	Cost      *int64 `json:"costMicros"`
	Unpriced  int64  `json:"unpricedTokens"`
}

func viewUsage(u session.Usage) usageView {
	view := usageView{u.Key, u.Requests, u.Sessions, u.Total, u.Input, u.Cached, u.Output, u.Reasoning, nil, u.Unpriced}
	if u.Unpriced < u.Total || u.Total == 0 {
		view.Cost = &u.Cost
	}
	return view
}

func (s *reportAPI) readUsage(ctx context.Context, in *rest.Input) (rest.Reply, error) {
	want := session.UsageQuery{By: session.UsageByDay, ProjectID: in.Query.Get("project").Text(),
		SessionID: in.Query.Get("session").Text(), Runtime: in.Query.Get("runtime").Text(),
		Limit: int(in.Query.Get("limit").Int())}
	if by := in.Query.Get("by"); by.Defined() {
		want.By = session.UsageBy(by.Text())
	}
	var err error
	if want.Since, want.Before, err = between(in.Query); err != nil {
		return rest.Reply{}, err
	}
	sum, err := s.history.Usage(ctx, want)
	if err != nil {
		return rest.Reply{}, err
	}
	body := struct {
		By       session.UsageBy `json:"by"`
		Data     []usageView     `json:"data"`
		Total    usageView       `json:"total"`
		Unpriced []string        `json:"unpricedModels"`
	}{want.By, make([]usageView, len(sum.Rows)), viewUsage(sum.Total), append([]string{}, sum.UnpricedModels...)}
	for i, row := range sum.Rows {
		body.Data[i] = viewUsage(row)
		body.Data[i].Key = keyOf(want.By, row.Key)
	}
	return rest.OK(body)
}

// keyOf returns the name of a group in the API.
func keyOf(by session.UsageBy, key string) string {
	switch {
	case by == session.UsageByDay:
		if at, err := strconv.ParseInt(key, 10, 64); err == nil {
			return dateOf(at)
		}
	case key == "" && by == session.UsageByModel:
		return unknownModel
	case key == "":
		return session.NoProject
	}
	return key
}

func dateOf(at int64) string { return time.UnixMilli(at).UTC().Format(time.DateOnly) }

// priceView is a price in the API. A built-in price has no id and applies to all days.
type priceView struct {
	ID      *string `json:"id"`
	Model   string  `json:"model"`
	From    *string `json:"from"`
	Input   int64   `json:"inputMicros"`
	Cached  int64   `json:"cachedInputMicros"`
	Output  int64   `json:"outputMicros"`
	SetBy   *string `json:"setBy"`
	BuiltIn bool    `json:"builtIn"`
}

func viewPrice(p session.Price) priceView {
	view := priceView{ID: rest.TextOrNull(p.ID), Model: p.Model, Input: p.Input, Cached: p.Cached, Output: p.Output,
		SetBy: rest.TextOrNull(p.Actor), BuiltIn: p.ID == ""}
	if !view.BuiltIn {
		from := dateOf(p.Since)
		view.From = &from
	}
	return view
}

func (s *reportAPI) listPrices(ctx context.Context, _ *rest.Input) (rest.Reply, error) {
	prices, err := s.history.Prices(ctx)
	if err != nil {
		return rest.Reply{}, err
	}
	body := struct {
		Data    []priceView `json:"data"`
		BuiltIn string      `json:"builtInSince"`
	}{make([]priceView, len(prices)), usage.BuiltInSince}
	for i, p := range prices {
		body.Data[i] = viewPrice(p)
	}
	return rest.OK(body)
}

func (s *reportAPI) setPrice(ctx context.Context, in *rest.Input) (rest.Reply, error) {
	from, err := timeOf(in.Body, "from")
	if err != nil {
		return rest.Reply{}, err
	}
	if from == 0 {
		from = s.clock().UnixMilli()
	}
	price, err := s.history.SetPrice(ctx, session.Price{Model: in.Body.Get("model").Text(), Since: from, Actor: in.Actor,
		Input: in.Body.Get("inputMicros").Int(), Cached: in.Body.Get("cachedInputMicros").Int(),
		Output: in.Body.Get("outputMicros").Int()})
	if err != nil {
		return rest.Reply{}, err
	}
	return rest.OK(struct {
		Status string    `json:"status"`
		Price  priceView `json:"price"`
	}{"ok", viewPrice(price)})
}

func (s *reportAPI) removePrice(ctx context.Context, in *rest.Input) (rest.Reply, error) {
	found, err := s.history.RemovePrice(ctx, in.Params["priceId"])
	if err != nil {
		return rest.Reply{}, err
	}
	if !found {
		return rest.Reply{Status: http.StatusNotFound, Body: rest.ErrorBody{Status: "error", Code: "not_found",
			Message: "no price with this id was set"}}, nil
	}
	return rest.OK(struct {
		Status string `json:"status"`
	}{"ok"})
}
