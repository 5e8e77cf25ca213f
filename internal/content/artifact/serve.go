package artifact

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"time"
)

// Serve answers a request for an artifact: its bytes with type, name, ETag (their hash) and ranges. It returns
// ErrNotFound and other failures of the store, for which the caller writes the response. On nil, Serve has written it.
func (s *Store) Serve(w http.ResponseWriter, r *http.Request, id string, download bool) (err error) {
	ref, content, err := s.Open(r.Context(), id)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, content.Close()) }()
	ServeContent(w, r, ref, content, download)
	return nil
}

// ServeContent answers a request with the content of an artifact, or with a version of it that ref describes.
func ServeContent(w http.ResponseWriter, r *http.Request, ref Ref, content io.ReadSeeker, download bool) {
	header := w.Header()
	header.Set("Content-Type", ref.ContentType)
	header.Set("ETag", `"`+ref.Hash+`"`)
	header.Set("X-Content-Type-Options", "nosniff")
	// The sandbox keeps agents' content from running in this server's origin.
	header.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	header.Set("Cache-Control", "private, max-age=31536000, immutable")
	disposition := "inline"
	if download {
		disposition = "attachment"
	}
	header.Set("Content-Disposition", mime.FormatMediaType(disposition, map[string]string{"filename": ref.Name}))
	http.ServeContent(w, r, "", time.UnixMilli(ref.CreatedAt), content)
}
