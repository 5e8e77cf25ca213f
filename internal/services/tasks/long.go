package tasks

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/google/uuid"

	"harness/internal/content/artifact"
	"harness/internal/runtime/wire"
)

// Limits of a result in an event. The event of a longer one has its beginning and a reference to the complete result.
const (
	inlineBytes  = 8000
	previewRunes = 512
)

// longContent is a content that an event refers to.
type longContent struct {
	ref     artifact.Ref
	content []byte
}

// shorten returns a value in the form for an event. A long one becomes an artifact: the event has its beginning as
// text, and the reference. The same record yields the same reference.
func (l *Log) shorten(name string, raw json.RawMessage) (preview json.RawMessage, ref *artifact.Ref) {
	if wire.Known(raw) == nil {
		return json.RawMessage("null"), nil
	}
	if len(raw) <= inlineBytes {
		return raw, nil
	}
	content, kind, extension := []byte(raw), "application/json", ".json"
	if raw[0] == '"' {
		content, kind, extension = []byte(wire.Text(raw)), "text/plain; charset=utf-8", ".txt"
	}
	if len(content) <= artifact.DefaultMaxBytes {
		ref = l.refer(name+extension, kind, content)
	}
	return beginning(content), ref
}

// refer creates the reference to a content of the current record.
func (l *Log) refer(name, contentType string, content []byte) *artifact.Ref {
	if l.Redact != nil {
		content = l.Redact(content)
	}
	sum := sha256.Sum256(content)
	ref := artifact.Ref{ContentType: contentType, Size: int64(len(content)), Hash: "sha256:" + hex.EncodeToString(sum[:]), Name: name,
		SessionID: l.about.SessionID}
	ref.ID = uuid.NewSHA1(uuid.NameSpaceOID, fmt.Appendf(nil, "%s %d %s %s", l.about.SessionID, l.state.Journal, name, ref.Hash)).String()
	l.long = append(l.long, longContent{ref, content})
	return &ref
}

// beginning returns the first part of a long content, as text that is marked as such.
func beginning(content []byte) json.RawMessage {
	count, size := 0, len(content)
	for at := 0; at < size; count++ {
		if count == previewRunes {
			return encode(fmt.Sprintf("%s… (cut here: it has %d bytes)", valid(string(content[:at])), size))
		}
		_, width := utf8.DecodeRune(content[at:])
		at += width
	}
	return encode(valid(string(content)))
}

// maxKnown bounds the remembered references of stored artifacts.
const maxKnown = 4096

// keepLong stores the contents that events refer to before the events are returned. If that fails, the next read
// retries.
func (s *Service) keepLong(ctx context.Context, contents []longContent) {
	if s.opts.Artifacts == nil {
		return
	}
	for _, one := range contents {
		s.mu.Lock()
		known := s.stored[one.ref.ID]
		s.mu.Unlock()
		if known {
			continue
		}
		if err := s.opts.Artifacts.PutAs(ctx, one.ref, one.content); err != nil {
			s.opts.Logger.Warn().Err(err).Str("session", one.ref.SessionID).Str("artifact", one.ref.ID).
				Msg("a long result could not be kept; the next read of its events tries again")
			continue
		}
		s.mu.Lock()
		if len(s.stored) >= maxKnown {
			clear(s.stored)
		}
		s.stored[one.ref.ID] = true
		s.mu.Unlock()
	}
}
