package compat

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"harness/api/rest"
	"harness/api/schema"
	"harness/internal/lib/javascript"
	"harness/internal/runtime"
)

// NotSupportedError refuses a codex-only route for another runtime.
type NotSupportedError struct{ Runtime, Provider string }

// Error implements error.
func (e *NotSupportedError) Error() string {
	return fmt.Sprintf("this route exists only for %s; the %s runtime has no equivalent", e.Provider, e.Runtime)
}

// query is the schema of a query that may name a runtime.
func query(fields ...schema.Field) schema.Schema {
	return schema.Struct(append([]schema.Field{rest.Optional("runtime", rest.RuntimeName)}, fields...)...)
}

// asked returns the runtime that a request names, or the default one, and the request without that name. Error:
// *session.UnknownRuntimeError.
func (m *Mount) asked(ctx context.Context, in *rest.Input, otherwise string) (string, *rest.Input, error) {
	name := in.Query.Get("runtime").Text()
	if name == "" {
		return otherwise, in, nil
	}
	if _, err := m.opts.Operations.Runtime(ctx, name); err != nil {
		return "", nil, err
	}
	plain := *in
	plain.Query = schema.ObjectValue(slices.DeleteFunc(slices.Clone(in.Query.Members()), func(member schema.Member) bool {
		return member.Name == "runtime"
	})...)
	return name, &plain, nil
}

// ownAlone restricts a route to this mount's provider and refuses every other runtime.
func (m *Mount) ownAlone(route rest.Route) rest.Route {
	handle := route.Handle
	if route.Query == nil {
		route.Query = query()
	}
	route.Handle = func(ctx context.Context, in *rest.Input) (rest.Reply, error) {
		otherwise := m.opts.Provider
		if m.opts.Runtime == nil {
			otherwise = m.opts.Operations.DefaultRuntime()
		}
		name, in, err := m.asked(ctx, in, otherwise)
		switch {
		case err != nil:
			return rest.Reply{}, err
		case name != m.opts.Provider && name != "":
			return rest.Reply{}, &NotSupportedError{Runtime: name, Provider: m.opts.Provider}
		}
		return handle(ctx, in)
	}
	return route
}

// ofEach serves a route for any runtime, by default the default one. own serves this mount's provider, other serves
// the rest.
func (m *Mount) ofEach(own func(context.Context, *rest.Input) (rest.Reply, error),
	other func(context.Context, *rest.Input, string) (rest.Reply, error)) func(context.Context, *rest.Input) (
	rest.Reply, error) {
	return func(ctx context.Context, in *rest.Input) (rest.Reply, error) {
		name, in, err := m.asked(ctx, in, m.opts.Operations.DefaultRuntime())
		switch {
		case err != nil:
			return rest.Reply{}, err
		case name == m.opts.Provider || name == "":
			return own(ctx, in)
		}
		return other(ctx, in, name)
	}
}

// listModels lists a runtime's models in the format that clients expect.
func (m *Mount) listModels(ctx context.Context, in *rest.Input, name string) (rest.Reply, error) {
	models, err := m.opts.Operations.Models(ctx, name)
	if err != nil {
		return rest.Reply{}, err
	}
	from := 0
	if cursor := in.Query.Get("cursor"); cursor.Defined() {
		if from, err = strconv.Atoi(cursor.Text()); err != nil || from < 0 || from > len(models) {
			return rest.Reply{}, &rest.ValidationError{Issues: []schema.Issue{schema.Custom("Invalid cursor", "cursor")}}
		}
	}
	to, next := len(models), (*string)(nil)
	if limit := in.Query.Get("limit"); limit.Defined() && from+int(limit.Int()) < to {
		to = from + int(limit.Int())
		cursor := strconv.Itoa(to)
		next = &cursor
	}
	page := struct {
		Data       []modelView `json:"data"`
		NextCursor *string     `json:"nextCursor"`
	}{[]modelView{}, next}
	for _, model := range models[from:to] {
		page.Data = append(page.Data, viewModel(model))
	}
	return rest.OK(page)
}

type modelView struct {
	ID              string       `json:"id"`
	Model           string       `json:"model"`
	DisplayName     string       `json:"displayName"`
	Description     string       `json:"description"`
	Hidden          bool         `json:"hidden"`
	Efforts         []effortView `json:"supportedReasoningEfforts"`
	DefaultEffort   *string      `json:"defaultReasoningEffort"`
	InputModalities []string     `json:"inputModalities"`
	IsDefault       bool         `json:"isDefault"`
}

type effortView struct {
	Effort      string `json:"reasoningEffort"`
	Description string `json:"description"`
}

func viewModel(model runtime.Model) modelView {
	view := modelView{ID: model.ID, Model: model.ID, DisplayName: model.Name, Description: model.Description,
		IsDefault: model.Default, Efforts: []effortView{}, InputModalities: []string{"text"}}
	for _, effort := range model.Efforts {
		view.Efforts = append(view.Efforts, effortView{Effort: effort})
	}
	if model.DefaultEffort != "" {
		view.DefaultEffort = &model.DefaultEffort
	}
	if model.Images {
		view.InputModalities = append(view.InputModalities, "image")
	}
	return view
}

// otherCapabilities describes what another runtime can do, using the methods through which clients call it.
func (m *Mount) otherCapabilities(ctx context.Context, _ *rest.Input, name string) (rest.Reply, error) {
	one, err := m.opts.Operations.Runtime(ctx, name)
	if err != nil {
		return rest.Reply{}, err
	}
	can := one.Capabilities
	known := probe{known: true, at: javascript.ISOTime(m.opts.Clock().UnixMilli()),
		lacks: "the " + name + " runtime does not have it",
		methods: map[string]bool{
			"thread/fork": can.Fork, "thread/compact/start": can.Compact, "thread/rollback": can.Rollback,
			"turn/steer": can.Steer, "review/start": can.Review, "item/tool/call": can.DynamicTools,
			"item/tool/requestUserInput": can.ToolInput,
		},
		features: map[string]bool{
			"toolUserInput": can.ToolInput, "dynamicToolCall": can.DynamicTools, "planUpdates": can.Plan, "diffUpdates": false,
			"tokenUsage": can.Usage,
		}}
	return rest.OK(struct {
		capabilitiesBody
		Capabilities runtime.Capabilities `json:"capabilities"`
	}{known.body(one.Status.State == runtime.StateReady), can})
}

// modelRoutes serve any runtime.
func (m *Mount) modelRoutes() []rest.Route {
	return []rest.Route{
		{Method: http.MethodGet, Path: "/api/models", Query: pageQuery,
			Handle: m.ofEach(m.passList("model/list", ofQuery), m.listModels)},
		{Method: http.MethodGet, Path: "/api/capabilities", Query: capabilitiesQuery,
			Handle: m.ofEach(m.getCapabilities, m.otherCapabilities)},
	}
}
