package operations

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"harness/internal/content/artifact"
)

// Uploads stores client uploads for the messages of a session, as long as the session exists. *artifact.Store
// implements it.
type Uploads interface {
	Put(ctx context.Context, sessionID, name, contentType string, content []byte) (artifact.Ref, error)
	// Open returns a reference with its bytes, which the caller closes; artifact.ErrNotFound.
	Open(ctx context.Context, id string) (artifact.Ref, io.ReadSeekCloser, error)
}

// The maximum bytes of an upload, and of all uploads of one message.
const (
	MaxUpload         = 5 << 20
	MaxMessageUploads = 20 << 20
)

// uploadPrefix begins an image that refers to an upload; the id follows.
const uploadPrefix = "upload:"

// Uploader stores pictures for messages.
type Uploader struct {
	access  *Access
	uploads Uploads
}

// Upload is a picture that was uploaded for messages of a session.
type Upload struct {
	artifact.Ref
	// Image is the reference to it in the images of a message.
	Image string
}

// Upload stores a picture for messages of a session. Its content determines its type: *InvalidError for other
// content, or more than MaxUpload.
func (s *Uploader) Upload(ctx context.Context, sessionID, name string, content []byte) (Upload, error) {
	if err := s.access.Check(ctx, StoreUpload, sessionID); err != nil {
		return Upload{}, err
	}
	found := http.DetectContentType(content)
	if !slices.Contains(imageTypes(), found) {
		return Upload{}, invalid("body", fmt.Sprintf("Is %s; upload one of %s", found, strings.Join(imageTypes(), ", ")))
	}
	if len(content) > MaxUpload {
		return Upload{}, invalid("body", fmt.Sprintf("Has %d bytes; at most %d are allowed", len(content), MaxUpload))
	}
	ref, err := s.uploads.Put(ctx, sessionID, name, found, content)
	return Upload{ref, uploadPrefix + ref.ID}, err
}

// Pictures reads the uploads that messages refer to.
type Pictures struct{ Uploads Uploads }

// Load returns the images of a message of a session as the runtime gets them: checked data URLs. *InvalidError.
func (p Pictures) Load(ctx context.Context, sessionID string, images []string) ([]string, error) {
	all, err := p.uploaded(ctx, sessionID, images)
	if err != nil {
		return nil, err
	}
	return all, checkImages(all)
}

// uploaded returns the images of a message with the content of the session's uploads, as data URLs.
func (p Pictures) uploaded(ctx context.Context, sessionID string, images []string) ([]string, error) {
	var all []string
	left := int64(MaxMessageUploads)
	for i, image := range images {
		id, is := strings.CutPrefix(image, uploadPrefix)
		if !is {
			continue
		}
		url, size, err := p.dataURL(ctx, sessionID, id, left)
		if errors.Is(err, artifact.ErrNotFound) {
			return nil, &InvalidError{[]Problem{{Field: "images", Index: i,
				Message: "The session has no such upload; upload it again"}}}
		}
		if err != nil {
			return nil, err
		}
		if left -= size; left < 0 {
			return nil, &InvalidError{[]Problem{{Field: "images", Index: i,
				Message: fmt.Sprintf("The uploads of a message have at most %d bytes in total; send several messages",
					MaxMessageUploads)}}}
		}
		if all == nil {
			all = slices.Clone(images)
		}
		all[i] = url
	}
	if all == nil {
		return images, nil
	}
	return all, nil
}

// dataURL returns the content of an upload of a session; artifact.ErrNotFound also for those of other sessions. It
// does not read content beyond the remaining room.
func (p Pictures) dataURL(ctx context.Context, sessionID, id string, room int64) (url string, size int64, err error) {
	ref, content, err := p.Uploads.Open(ctx, id)
	if err != nil {
		return "", 0, err
	}
	defer func() { err = errors.Join(err, content.Close()) }()
	if ref.SessionID != sessionID {
		return "", 0, artifact.ErrNotFound
	}
	if ref.Size > room {
		return "", ref.Size, nil
	}
	bytes, err := io.ReadAll(content)
	return "data:" + ref.ContentType + ";base64," + base64.StdEncoding.EncodeToString(bytes), ref.Size, err
}
