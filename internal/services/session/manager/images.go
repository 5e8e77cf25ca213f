package manager

import (
	"context"
	"slices"
	"strings"

	"harness/internal/platform/database"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/transcript"
)

// Images keeps the images of items. KeepImage stores one within a transaction and returns its id, "" for one that cannot
// be kept; the same image of a session is stored once.
type Images interface {
	KeepImage(ctx context.Context, tx database.Tx, sessionID string, content []byte) (id string, err error)
}

// imageLine begins the line of an entry that stands for an image.
const imageLine = "[image] "

// upsertItem stores the entry of an item, and its images.
func (s *Service) upsertItem(ctx context.Context, tx database.Tx, sessionID string, entry transcript.Entry, item runtime.Item) error {
	if err := s.showImages(ctx, tx, sessionID, &entry, item); err != nil {
		return err
	}
	_, _, err := s.entries.UpsertItem(ctx, tx, sessionID, entry)
	return err
}

// showImages stores the images of an item and names each in its entry, where everybody who may read the session can read
// it. What is not kept is named as the runtime's words have it.
func (s *Service) showImages(ctx context.Context, tx database.Tx, sessionID string, entry *transcript.Entry, item runtime.Item) error {
	if s.opts.Images == nil {
		return nil
	}
	for _, image := range item.Images {
		content, err := image.Decode()
		if err != nil {
			continue // no image after all
		}
		id, err := s.opts.Images.KeepImage(ctx, tx, sessionID, content)
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
	pieces := slices.Clone(entry.Source.Content)
	entry.Source.Content = pieces
	for i, piece := range pieces {
		if said != "" && string(piece) == string(quote(said)) {
			pieces[i] = quote(line)
			return
		}
	}
	if said == "" {
		entry.Source.Content = append(pieces, quote("\n"+line))
	}
}
