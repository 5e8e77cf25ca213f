package acp

import (
	"context"
	"encoding/base64"
	"io"
	"strings"

	"harness/internal/content/artifact"
	"harness/internal/platform/telemetry"
	"harness/internal/services/session"
)

// Images are the stored images of sessions.
type Images interface {
	// Open opens an image. artifact.ErrNotFound.
	Open(ctx context.Context, id string) (artifact.Ref, io.ReadSeekCloser, error)
}

// contentOf returns the content of a stored message: its text, and the images that lines of it name.
func (f *follow) contentOf(ctx context.Context, text string) (content []object) {
	var kept []string
	var images []object
	for line := range strings.SplitSeq(text, "\n") {
		url := ""
		if id, names := strings.CutPrefix(line, "[image] "+session.ImagePath(f.id, "")); names {
			url = f.imageURL(ctx, id)
		}
		if url == "" {
			kept = append(kept, line)
			continue
		}
		images = append(images, object{"type": "image", "url": url})
	}
	if text = strings.Join(kept, "\n"); text != "" || len(images) == 0 {
		content = append(content, object{"type": "text", "text": text})
	}
	return append(content, images...)
}

// imageURL returns an image of the session with its bytes, "" if there is none.
func (f *follow) imageURL(ctx context.Context, id string) string {
	if f.peer.server.opts.Images == nil {
		return ""
	}
	ref, file, err := f.peer.server.opts.Images.Open(ctx, id)
	if err != nil {
		return ""
	}
	defer func() { _ = file.Close() }()
	content, err := io.ReadAll(file)
	if err != nil {
		telemetry.Log(ctx).Error().Err(err).Str("session_id", f.id).Msg("an image was not read")
	}
	if err != nil || ref.SessionID != f.id {
		return ""
	}
	return "data:" + ref.ContentType + ";base64," + base64.StdEncoding.EncodeToString(content)
}
