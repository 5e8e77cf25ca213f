package api

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"

	"harness/api/rest"
	"harness/api/schema"
	"harness/api/sessions"
	"harness/internal/platform/journal"
	"harness/internal/platform/telemetry"
)

// serve handles one request of a route. It runs the parameters, body, guards and validation in codex-manager's order,
// then the handler and the response.
func (s *server) serve(w http.ResponseWriter, r *http.Request, rt *rest.Route, names, values []string) {
	params, known := readParams(rt, names, values)
	if !known {
		rest.NotFound(w, r)
		return
	}
	if !s.admit(w, r, rt, params) {
		return
	}
	if rt.Raw != nil {
		rt.Raw.ServeHTTP(w, r)
		return
	}
	in := &rest.Input{Params: params, Actor: s.Actor(r), Request: r, IfNoneMatch: strings.Join(r.Header.Values("If-None-Match"), ",")}
	ctx := r.Context()
	if s.StoreWait > 0 {
		ctx = journal.Patient(ctx, s.StoreWait)
	}
	if id := in.SessionID(); id != "" {
		rest.NoteSession(ctx, id)
		ctx = telemetry.WithSession(ctx, id)
	}
	if s.Reads != nil && rt.Access != rest.AccessAnybody { // the state of the server is always public
		ctx = s.Reads.Reading(ctx)
	}
	answer, err := s.run(ctx, r, rt, in)
	defer func() { s.Long.Release(answer) }()
	if err = s.askOwner(w, r, in, err); errors.Is(err, errAsked) {
		return
	}
	if unsettled := s.settle(ctx, rt, in, answer, err); unsettled != nil {
		err = unsettled
	}
	if err != nil {
		s.writeError(ctx, w, rt, in, err)
		return
	}
	if answer.Serve != nil {
		if err := answer.Serve(w, r); err != nil {
			s.writeError(ctx, w, rt, in, err)
		}
		return
	}
	if err := s.send(ctx, w, rt, answer); err != nil {
		s.writeError(ctx, w, rt, in, err)
	}
}

// admit responds to a request that is not allowed here, and returns false if it responded.
func (s *server) admit(w http.ResponseWriter, r *http.Request, rt *rest.Route, params map[string]string) bool {
	refuse := func(w http.ResponseWriter, r *http.Request, err error) {
		s.writeError(r.Context(), w, rt, &rest.Input{Params: params}, err)
	}
	err := checkRole(r, rt)
	if err == nil {
		err = s.checkAgent(r, rt, params)
	}
	if err == nil {
		if err = s.checkReach(r, rt, params); rt.Refuse != nil {
			refuse = rt.Refuse
		}
	}
	if err == nil {
		return true
	}
	// With an unread body, closing the connection resets it, and the client loses the refusal.
	_, _ = io.CopyN(io.Discard, r.Body, rest.MaxBody)
	refuse(w, r, err)
	return false
}

// send sends a response. If it returns an error, it has sent nothing.
func (s *server) send(ctx context.Context, w http.ResponseWriter, rt *rest.Route, answer rest.Reply) error {
	leave, err := s.Long.MakeRoom(ctx, rt, &answer)
	if err != nil {
		return err
	}
	defer leave()
	if answer.Status == 0 {
		answer.Status = http.StatusOK
	}
	if answer.Version != "" {
		w.Header().Set("ETag", entityTag(answer.Version))
		w.Header().Set("Cache-Control", "private, no-cache")
	}
	if answer.Cookie != nil {
		http.SetCookie(w, answer.Cookie)
		w.Header().Set("Cache-Control", "no-store")
	}
	if answer.Status == http.StatusNotModified {
		w.Header().Add("Vary", "Accept-Encoding") // the original response has this header too
		w.WriteHeader(answer.Status)
		return nil
	}
	if answer.Replayed {
		w.Header().Set("Idempotency-Replayed", "true")
	}
	if long, is := answer.Body.(*sessions.LongAnswer); is {
		long.Send(ctx, w, answer.Status)
		return nil
	}
	rest.WriteJSON(ctx, w, answer.Status, answer.Body)
	return nil
}

// settle waits until the data in a response may be shown. A response that reports a change may be sent immediately,
// because the change was committed after everything it read. A refusal changed nothing, so settle may replace it with
// its own error.
func (s *server) settle(ctx context.Context, rt *rest.Route, in *rest.Input, answer rest.Reply, outcome error) error {
	if s.Reads == nil {
		return nil
	}
	shown := rt.Method == http.MethodGet || answer.Replayed
	if outcome != nil {
		shown = failureOf(outcome, rt, in).Status < http.StatusInternalServerError
	}
	if !shown {
		return nil
	}
	return s.Reads.Settled(ctx)
}

func (s *server) run(ctx context.Context, r *http.Request, rt *rest.Route, in *rest.Input) (rest.Reply, error) {
	var body schema.Value
	var sent string
	var err error
	if rt.Upload > 0 {
		sent, err = s.readText(r, rt.Upload)
	} else {
		body, sent, err = s.readBody(r)
	}
	in.Sent = sent
	if err != nil {
		return rest.Reply{}, err
	}
	if err := checkParams(in.Params); err != nil {
		return rest.Reply{}, err
	}
	validate := func() error {
		if rt.Query != nil || r.URL.RawQuery != "" {
			if in.Query, err = rest.ValidRefusing(rt.Query, schema.ParseQuery(r.URL.RawQuery), selects); err != nil {
				return err
			}
		}
		in.Body, err = rest.ValidRefusing(rt.Body, body, carriesContent)
		return err
	}
	if err := validate(); err != nil {
		if rt.Operation != "" && !rt.BodyFirst {
			// Problems with the session are reported first.
			if refused := s.Operations.Check(ctx, rt.Operation, in.SessionID()); refused != nil {
				return rest.Reply{}, refused
			}
		}
		return rest.Reply{}, err
	}
	if rt.OfRuntimes && s.Owners != nil {
		if err := s.Operations.CheckRuns(); err != nil {
			return rest.Reply{}, err
		}
	}
	if key := r.Header.Values(idempotencyKey); rt.Once && len(key) > 0 && s.Idempotency != nil {
		if err := s.elsewhere(ctx, rt, in); err != nil {
			return rest.Reply{}, err
		}
		return s.once(ctx, key, []string{r.Method, r.URL.Path, r.URL.RawQuery, string(body.JSON())}, rt, in)
	}
	return rt.Handle(ctx, in)
}

// paramSchema is the rule of every path parameter.
var paramSchema = schema.Text{}.Trim().Min(1)

// plain reports whether a parameter has only visible ASCII characters. Most do, and need no trimming and no check.
func plain(value string) bool {
	for i := range len(value) {
		if value[i] <= ' ' || value[i] > '~' {
			return false
		}
	}
	return value != ""
}

// checkParams trims the parameters in place.
func checkParams(params map[string]string) error {
	for name, value := range params {
		if plain(value) {
			continue
		}
		rule := schema.Struct(schema.Field{Name: name, Schema: paramSchema})
		checked, err := rest.Valid(rule, schema.ObjectValue(schema.Member{Name: name, Value: schema.StringValue(value)}))
		if err != nil {
			return err
		}
		params[name] = checked.Get(name).Text()
	}
	return nil
}
