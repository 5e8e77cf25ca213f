// Package items stores the transcript entries of items and their images, and cancels unfinished items.
//
// It owns how an item becomes a stored entry. It must never know a runtime's format of an item.
package items

import (
	"context"
	"slices"
	"strings"

	"harness/internal/lib/javascript"
	"harness/internal/platform/database"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/internal/services/session/reading"
	"harness/transcript"
)

// Images stores the images of items. KeepImage stores one within a transaction and returns its id, "" if it cannot
// store it. It stores equal images of a session once.
type Images interface {
	KeepImage(ctx context.Context, tx database.Tx, sessionID string, content []byte) (id string, err error)
}

// Options configure Items.
type Options struct {
	// Images, when set, stores the images of items.
	Images Images
	Reader *reading.Reader
}

// Items stores items.
type Items struct {
	options Options
	entries transcript.Store
}

// New builds Items.
func New(o Options) *Items { return &Items{options: o} }

// imageLine starts the line that represents an image in an entry.
const imageLine = "[image] "

// Upsert stores the entry of an item, and its images.
func (i *Items) Upsert(ctx context.Context, tx database.Tx, sessionID string, entry transcript.Entry, item runtime.Item) error {
	if err := i.ShowImages(ctx, tx, sessionID, &entry, item); err != nil {
		return err
	}
	_, _, err := i.entries.UpsertItem(ctx, tx, sessionID, entry)
	return err
}

// ShowImages stores the images of an item and names each in its entry, for all readers of the session. If an image
// cannot be stored, the entry keeps the runtime's text.
func (i *Items) ShowImages(ctx context.Context, tx database.Tx, sessionID string, entry *transcript.Entry, item runtime.Item) error {
	if i.options.Images == nil {
		return nil
	}
	for _, image := range item.Images {
		content, err := image.Decode()
		if err != nil {
			continue // not an image
		}
		id, err := i.options.Images.KeepImage(ctx, tx, sessionID, content)
		if err != nil {
			return err
		}
		if id != "" {
			nameImage(entry, image.Said, imageLine+session.ImagePath(sessionID, id))
		}
	}
	return nil
}

// nameImage replaces the content's text about an image with the image's line, or appends the line.
func nameImage(entry *transcript.Entry, said, line string) {
	if entry.Source == nil || entry.Source.Content == nil {
		switch {
		case said != "" && strings.Contains(entry.Content, said):
			entry.Content = strings.Replace(entry.Content, said, line, 1)
		case said == "":
			entry.Content += "\n" + line
		}
		return
	}
	parts := slices.Clone(entry.Source.Content)
	entry.Source.Content = parts
	for i, part := range parts {
		if said != "" && string(part) == string(javascript.MustEncode(said)) {
			parts[i] = javascript.MustEncode(line)
			return
		}
	}
	if said == "" {
		entry.Source.Content = append(parts, javascript.MustEncode("\n"+line))
	}
}
