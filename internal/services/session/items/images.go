// Package items stores the transcript entries of items: their images, and the end of those that are canceled.
//
// It owns how an item becomes an entry that stays. It must never know how a runtime words an item.
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

// Images keeps the images of items. KeepImage stores one within a transaction and returns its id, "" for one that cannot
// be kept; the same image of a session is stored once.
type Images interface {
	KeepImage(ctx context.Context, tx database.Tx, sessionID string, content []byte) (id string, err error)
}

// Options are what Items is built from.
type Options struct {
	// Images, when set, keeps the images of items.
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

// imageLine begins the line of an entry that stands for an image.
const imageLine = "[image] "

// Upsert stores the entry of an item, and its images.
func (i *Items) Upsert(ctx context.Context, tx database.Tx, sessionID string, entry transcript.Entry, item runtime.Item) error {
	if err := i.ShowImages(ctx, tx, sessionID, &entry, item); err != nil {
		return err
	}
	_, _, err := i.entries.UpsertItem(ctx, tx, sessionID, entry)
	return err
}

// ShowImages stores the images of an item and names each in its entry, where everybody who may read the session can read
// it. What is not kept is named as the runtime's words have it.
func (i *Items) ShowImages(ctx context.Context, tx database.Tx, sessionID string, entry *transcript.Entry, item runtime.Item) error {
	if i.options.Images == nil {
		return nil
	}
	for _, image := range item.Images {
		content, err := image.Decode()
		if err != nil {
			continue // no image after all
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

// nameImage puts the line of an image in the place of what the content says of it, or behind all of it.
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
