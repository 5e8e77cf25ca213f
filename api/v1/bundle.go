package v1

import (
	"errors"
	"mime"
	"net/http"
	"time"
)

// bundle returns the support bundle of a session.
func (s *Server) bundle(w http.ResponseWriter, r *http.Request) (err error) {
	id, task := sessionOf(r), r.URL.Query().Get("task_id")
	if s.opts.Bundle == nil {
		return &refusal{http.StatusNotFound, "not_found", "this server creates no support bundles", nil}
	}
	file, err := s.opts.Bundle(r.Context(), id, task)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	name := "harness-bundle-" + id
	if task != "" {
		name += "-" + task
	}
	header := w.Header()
	header.Set("Content-Type", "application/gzip")
	header.Set("Cache-Control", "no-store")
	header.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": name + ".tar.gz"}))
	http.ServeContent(w, r, "", time.Time{}, file)
	return nil
}
