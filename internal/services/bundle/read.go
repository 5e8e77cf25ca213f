package bundle

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime/wire"
	"harness/internal/services/tasks"
	"harness/stream"
)

// maxBundle bounds the unpacked bytes read from a bundle.
const maxBundle = 1 << 30

// Bundle is a bundle in memory.
type Bundle struct {
	Manifest Manifest
	Events   []tasks.Event
	Records  []journal.Record
	Native   []json.RawMessage
	// Files contains all files by name.
	Files map[string][]byte
}

// Read reads a bundle. It returns an error for a file that is not a bundle, is truncated or was changed.
func Read(from io.Reader) (*Bundle, error) {
	packed, err := gzip.NewReader(from)
	if err != nil {
		return nil, fmt.Errorf("this is no bundle (a .tar.gz): %w", err)
	}
	b := &Bundle{Files: map[string][]byte{}}
	files, left := tar.NewReader(packed), int64(maxBundle)
	for {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("the bundle is cut off or damaged: %w", err)
		}
		content, err := io.ReadAll(io.LimitReader(files, left+1))
		if err != nil {
			return nil, fmt.Errorf("the bundle is cut off or damaged: %w", err)
		}
		if left -= int64(len(content)); left < 0 {
			return nil, fmt.Errorf("the bundle has more than %d bytes", int64(maxBundle))
		}
		b.Files[header.Name] = content
	}
	if err := json.Unmarshal(b.Files["manifest.json"], &b.Manifest); err != nil {
		return nil, fmt.Errorf("the bundle has no manifest, so it is cut off or none: %w", err)
	}
	if b.Manifest.Format != Format {
		return nil, fmt.Errorf("the bundle has the format %d; this program reads %d", b.Manifest.Format, Format)
	}
	return b, b.decode()
}

func (b *Bundle) decode() error {
	for one := range bytes.Lines(b.Files["events.jsonl"]) {
		var e tasks.Event
		if err := json.Unmarshal(one, &e); err != nil {
			return fmt.Errorf("event %d of the bundle cannot be read: %w", len(b.Events)+1, err)
		}
		b.Events = append(b.Events, e)
	}
	for one := range bytes.Lines(b.Files["records.jsonl"]) {
		var l line
		if err := json.Unmarshal(one, &l); err != nil {
			return fmt.Errorf("record %d of the bundle cannot be read: %w", len(b.Records)+1, err)
		}
		record, err := l.record(b.Manifest.SessionID)
		if err != nil {
			return fmt.Errorf("record %d of the bundle cannot be read: %w", l.Seq, err)
		}
		b.Records = append(b.Records, record)
	}
	for one := range bytes.Lines(b.Files["native.jsonl"]) {
		b.Native = append(b.Native, bytes.TrimSpace(one))
	}
	return nil
}

// record returns a record in the journal's form. Redaction in a line of a runtime has moved its parts, so record
// locates them again.
func (l *line) record(sessionID string) (journal.Record, error) {
	r := journal.Record{Pos: l.Pos, Seq: l.Seq, SchemaVersion: l.SchemaVersion, Event: journal.Event{
		SessionID: database.EncodeText(sessionID), TurnID: database.EncodeText(l.TurnID),
		ItemID: database.EncodeText(l.ItemID), Type: l.Type, Time: l.Time, Source: l.Source, Actor: l.Actor,
		TraceID: l.TraceID, SpanID: l.SpanID, Meta: l.Meta, Payload: l.Payload}}
	if l.Type != stream.EventNotification && l.Type != stream.EventRequest {
		return r, nil
	}
	read, err := stream.MetaOf(&r.Event)
	if err != nil {
		return r, err
	}
	meta := *read
	if _, layout, ok := wire.LayoutOf(l.Payload); ok {
		meta.Layout = &layout
	}
	stream.SetMeta(&r.Event, &meta)
	return r, nil
}
