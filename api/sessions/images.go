package sessions

import (
	"context"
	"errors"
	"net/http"

	"harness/api/rest"
	"harness/internal/content/artifact"
	"harness/internal/operations"
)

// imageRoutes serve the images of a session's transcript to every reader of the session.
func (s *transcripts) imageRoutes() []rest.Route {
	return []rest.Route{{Method: http.MethodGet, Path: "/api/sessions/:sessionId/images/:imageId", Operation: operations.Read,
		Handle: s.image}}
}

// image returns the bytes of an image. An image of another session is not found.
func (s *transcripts) image(ctx context.Context, in *rest.Input) (rest.Reply, error) {
	if err := s.access.Check(ctx, operations.Read, in.SessionID()); err != nil {
		return rest.Reply{}, err
	}
	none := rest.Reply{Status: http.StatusNotFound, Body: rest.ErrorBody{Status: "error", Code: "not_found",
		Message: "The session has no such image; read its transcript again"}}
	if s.artifacts == nil {
		return none, nil
	}
	ref, err := s.artifacts.Get(ctx, in.Params["imageId"])
	if errors.Is(err, artifact.ErrNotFound) || err == nil && ref.SessionID != in.SessionID() {
		return none, nil
	}
	return rest.Reply{Serve: func(w http.ResponseWriter, r *http.Request) error {
		return s.artifacts.Serve(w, r, ref.ID, false)
	}}, err
}
