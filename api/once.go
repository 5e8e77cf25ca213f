package api

import (
	"context"
	"errors"
	"net/http"

	"harness/api/idempotency"
	"harness/api/rest"
	"harness/internal/platform/journal"
	"harness/internal/platform/telemetry"
)

const (
	idempotencyKey = "Idempotency-Key"
	// maxIdempotencyKey is the maximum length of a key in bytes.
	maxIdempotencyKey = 255
)

// once executes a request with a key, or returns its stored response. The request runs to the end even if the client
// disconnects, since the client may retry for the response.
func (s *server) once(ctx context.Context, key, asked []string, rt *rest.Route, in *rest.Input) (rest.Reply, error) {
	if err := checkIdempotencyKey(key); err != nil {
		return rest.Reply{}, err
	}
	claim, before, err := s.claim(ctx, rt, in, idempotency.Request{Caller: in.Actor, Key: key[0], Parts: asked, Again: rt.Again})
	if err != nil {
		return rest.Reply{}, err
	}
	if before != nil {
		return rest.Reply{Status: before.Status, Body: rest.Encoded(before.Body), Replayed: true}, nil
	}
	defer claim.Lose() // if a handler panics
	if rt.Again {
		in.Key = claim.Name()
	}
	ctx = context.WithoutCancel(ctx)
	reply, err := rt.Handle(ctx, in)
	status, body := reply.Status, reply.Body
	if err != nil {
		f := failureOf(err, rt, in)
		switch status, body = f.Status, f.Body; {
		case f.Retry, status == http.StatusServiceUnavailable, status == http.StatusTooManyRequests,
			status == http.StatusMisdirectedRequest: // the owner executes it, with this key
			return reply, s.concluded(ctx, err, claim.GiveBack(ctx))
		case rt.Again && (status == http.StatusInternalServerError || errors.As(err, new(*journal.OutageError))):
			return reply, err // the retry finds the outcome
		}
	}
	if status == 0 {
		status = http.StatusOK
	}
	text, unencodable := rest.Encode(body)
	if unencodable != nil {
		return rest.Reply{}, errors.Join(unencodable, err)
	}
	concluded := claim.Conclude(ctx, idempotency.Answer{Status: status, Body: text})
	if err == nil {
		reply.Body = rest.Encoded(text)
	}
	return reply, s.concluded(ctx, err, concluded)
}

// claim claims a key. If this node now owns the session, another node no longer runs the key's earlier request.
func (s *server) claim(ctx context.Context, rt *rest.Route, in *rest.Input, request idempotency.Request) (
	*idempotency.Claim, *idempotency.Answer, error) {
	claim, before, err := s.Idempotency.Claim(ctx, request)
	if !rt.Again || rt.Operation == "" || !errors.Is(err, idempotency.ErrUnderWay) {
		return claim, before, err
	}
	if err := s.Operations.Check(ctx, rt.Operation, in.SessionID()); err != nil {
		return nil, nil, err
	}
	request.Alone = true
	return s.Idempotency.Claim(ctx, request)
}

// concluded returns the response of a request: the request's own outcome, even if storing it failed.
func (s *server) concluded(ctx context.Context, outcome, note error) error {
	if note != nil {
		telemetry.Log(ctx).Warn().Err(note).
			Msg("cannot store the response of a request with an idempotency key; a retry gets an unknown outcome")
	}
	return outcome
}

// checkIdempotencyKey accepts a single key of visible characters.
func checkIdempotencyKey(keys []string) error {
	wrong := &requestError{http.StatusBadRequest, "Idempotency-Key must be given once, with 1 to 255 visible ASCII characters"}
	if len(keys) != 1 || len(keys[0]) > maxIdempotencyKey || !plain(keys[0]) {
		return wrong
	}
	return nil
}

// idempotencyFailures maps the errors of keys that were used before.
func idempotencyFailures(err error, _ *rest.Route, _ *rest.Input) (rest.Failure, bool) {
	for known, code := range map[error]string{
		idempotency.ErrReused: "idempotency_key_reused", idempotency.ErrUnderWay: "idempotency_key_in_use",
		idempotency.ErrLost: "idempotency_outcome_unknown",
	} {
		if errors.Is(err, known) {
			f := rest.Problem(http.StatusConflict, code, known.Error())
			f.Retry = errors.Is(err, idempotency.ErrUnderWay)
			return f, true
		}
	}
	return rest.Failure{}, false
}
