package sessions

import (
	"context"
	"net/http"

	"harness/api/rest"
	"harness/api/schema"
	"harness/internal/operations"
)

var uploadQuery = schema.Struct(rest.Optional("name", schema.Text{}.Max(operations.MaxTitle)))

func (s *uploads) uploadRoutes() []rest.Route {
	return []rest.Route{{Method: http.MethodPost, Path: "/api/sessions/:sessionId/uploads", Operation: operations.StoreUpload,
		Query: uploadQuery, Upload: operations.MaxUpload, Handle: s.upload}}
}

// uploadBody is an upload. Messages refer to it by Image.
type uploadBody struct {
	Status      string `json:"status"`
	SessionID   string `json:"sessionId"`
	Image       string `json:"image"`
	Name        string `json:"name"`
	ContentType string `json:"contentType"`
	Size        int64  `json:"size"`
	Hash        string `json:"hash"`
}

func (s *uploads) upload(ctx context.Context, in *rest.Input) (rest.Reply, error) {
	kept, err := s.uploader.Upload(ctx, in.SessionID(), in.Query.Get("name").Text(), []byte(in.Sent))
	if err != nil {
		return rest.Reply{}, err
	}
	return rest.Reply{Status: http.StatusCreated, Body: uploadBody{"ok", in.SessionID(), kept.Image, kept.Name,
		kept.ContentType, kept.Size, kept.Hash}}, nil
}
