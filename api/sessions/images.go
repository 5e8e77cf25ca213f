package sessions

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"

	"harness/api/rest"
	"harness/api/schema"
	"harness/internal/content/artifact"
	"harness/internal/lib/thumbnail"
	"harness/internal/operations"
)

// imageRoutes serve the images of a session's transcript to every reader of the session.
func (s *transcripts) imageRoutes() []rest.Route {
	return []rest.Route{{Method: http.MethodGet, Path: "/api/sessions/:sessionId/images/:imageId", Operation: operations.Read,
		Query: imageQuery, Handle: s.image}}
}

// imageQuery is for the small version of an image.
var imageQuery = schema.Struct(rest.Optional("size", schema.Enum("small")))

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
	small := in.Query.Get("size").Text() == "small"
	return rest.Reply{Serve: func(w http.ResponseWriter, r *http.Request) error {
		if small {
			if served, err := s.thumbnail(w, r, ref); served || err != nil {
				return err
			}
		}
		return s.artifacts.Serve(w, r, ref.ID, false)
	}}, err
}

// thumbnail serves the small version of an image, if it has one.
func (s *transcripts) thumbnail(w http.ResponseWriter, r *http.Request, ref artifact.Ref) (served bool, err error) {
	_, opened, err := s.artifacts.Open(r.Context(), ref.ID)
	if err != nil {
		return false, err
	}
	content, err := io.ReadAll(opened)
	if err = errors.Join(err, opened.Close()); err != nil {
		return false, err
	}
	small, contentType, err := s.thumbnails.Of(r.Context(), content)
	if errors.Is(err, thumbnail.ErrNone) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	ref.ContentType, ref.Hash = contentType, ref.Hash+"-small"
	artifact.ServeContent(w, r, ref, bytes.NewReader(small), false)
	return true, nil
}
