// Package bundle gathers everything known about a session in one file for another person, and replays such a file.
//
// It owns what is in a bundle, that no secret is, and that its content yields the same events on another machine. The
// server passes in facts about itself (Facts). It must never know HTTP.
package bundle

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"harness/internal/content/artifact"
	"harness/internal/lib/javascript"
	"harness/internal/operations"
	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/services/audit"
	"harness/internal/services/tasks"
)

// Format is the version of a bundle's layout.
const Format = 1

// maxArtifact bounds an artifact in a bundle, maxArtifacts all of them together, in bytes.
const (
	maxArtifact  = 1 << 20
	maxArtifacts = 32 << 20
)

// Fact is a fact about the server: a file NAME.json of the bundle.
type Fact struct {
	Name  string
	Value any
}

// Options configure a Service. DB, Journal, Tasks and Operations are required.
type Options struct {
	DB         *database.DB
	Journal    *journal.Journal
	Tasks      *tasks.Service
	Operations *operations.Service
	// Artifacts is nil if there is no artifact store, Native if lines of agents are not kept.
	Artifacts *artifact.Store
	Native    func(ctx context.Context, sessionID string) ([]string, error)
	// Facts is called for each bundle.
	Facts func(ctx context.Context, sessionID string) ([]Fact, error)
	// Secrets are the server's known secrets.
	Secrets []string
	Version string
	// Clock returns the time; nil means time.Now.
	Clock func() time.Time
}

// Service makes bundles.
type Service struct {
	opts    Options
	cleaner *Cleaner
}

// New makes a Service.
func New(options Options) *Service {
	if options.Clock == nil {
		options.Clock = time.Now
	}
	return &Service{options, NewCleaner(options.Secrets...)}
}

// Manifest is the first file of a bundle but written last: it lists all others.
type Manifest struct {
	Format      int    `json:"format"`
	SessionID   string `json:"session_id"`
	TaskID      string `json:"task_id,omitempty"`
	Runtime     string `json:"runtime"`
	CreatedAt   int64  `json:"session_created_at"` // ms
	GeneratedAt string `json:"generated_at"`
	// About is the content of the session's first event.
	About   tasks.About `json:"about"`
	Version string      `json:"version"`
	// Oldest is the number of the oldest kept record, usually 1.
	Oldest int64 `json:"oldest_record"`
	// Redacted is the number of removed secrets.
	Redacted  int        `json:"redacted"`
	Files     []File     `json:"files"`
	Artifacts []Artifact `json:"artifacts"`
}

// File is a file of a bundle.
type File struct {
	Name  string `json:"name"`
	Bytes int    `json:"bytes"`
	Hash  string `json:"sha256"`
}

// Artifact is an artifact that the session's events refer to. Skipped explains why it is not in the bundle, "" if it
// is.
type Artifact struct {
	ID      string `json:"artifact_id"`
	Skipped string `json:"skipped,omitempty"`
}

// maker writes one bundle.
type maker struct {
	*Service
	manifest Manifest
	out      *tar.Writer
}

// Make writes the bundle of a session into a file without a name, which the caller closes. The bundle names taskID, ""
// for none. Errors are those of operations.Check, tasks.ErrNotFound, and failures to read or write.
func (s *Service) Make(ctx context.Context, sessionID, taskID string) (_ *os.File, err error) {
	about, err := s.opts.Operations.Find(ctx, sessionID)
	if err != nil {
		return nil, err
	}
	if about.SystemOwned {
		return nil, &operations.SystemSessionError{SessionID: sessionID}
	}
	if taskID != "" {
		if _, err := s.opts.Tasks.Get(ctx, sessionID, taskID); err != nil {
			return nil, err
		}
	}
	file, err := os.CreateTemp("", "harness-bundle-*.tar.gz")
	if err != nil {
		return nil, fmt.Errorf("make a bundle: %w", err)
	}
	defer func() {
		// The open file stays readable; no later cleanup would remove it.
		err = errors.Join(err, os.Remove(file.Name()))
		if err != nil {
			err = errors.Join(err, file.Close())
		}
	}()
	begin, err := s.opts.Tasks.About(ctx, sessionID)
	if err != nil {
		return nil, err
	}
	packed := gzip.NewWriter(file)
	m := &maker{Service: s, out: tar.NewWriter(packed),
		manifest: Manifest{Format: Format, SessionID: about.ID, TaskID: taskID, About: begin,
			Runtime: about.Runtime, CreatedAt: about.CreatedAt, GeneratedAt: javascript.ISOTime(s.opts.Clock().UnixMilli()),
			Version: s.opts.Version, Files: []File{}, Artifacts: []Artifact{}}}
	if err := m.all(ctx); err != nil {
		return nil, err
	}
	if err := errors.Join(m.out.Close(), packed.Close()); err != nil {
		return nil, fmt.Errorf("write a bundle: %w", err)
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return nil, fmt.Errorf("write a bundle: %w", err)
	}
	return file, nil
}

func (m *maker) all(ctx context.Context) error {
	id := m.manifest.SessionID
	if m.opts.Facts != nil {
		facts, err := m.opts.Facts(ctx, id)
		if err != nil {
			return err
		}
		for _, fact := range facts {
			if err := m.document(fact.Name+".json", fact.Value); err != nil {
				return err
			}
		}
	}
	events, err := m.events(ctx)
	if err != nil {
		return err
	}
	all, err := m.opts.Tasks.List(ctx, id, 500)
	if err != nil {
		return err
	}
	if err := errors.Join(m.document("tasks.json", all),
		m.document("transcript.json", tasks.Transcript(events)), m.document("tool-transcripts.json", Transcripts(events))); err != nil {
		return err
	}
	if err := m.records(ctx); err != nil {
		return err
	}
	if m.opts.Native != nil {
		lines, err := m.opts.Native(ctx, id)
		if err != nil {
			return err
		}
		if err := m.lines("native.jsonl", slices.Values(lines)); err != nil {
			return err
		}
	}
	var audited bytes.Buffer
	err = audit.Each(ctx, m.opts.DB.Read(), id, func(row audit.Row) error {
		audited.Write(append(javascript.MustEncode(row), '\n'))
		return nil
	})
	if err == nil {
		err = m.file("audit.jsonl", audited.Bytes())
	}
	if err != nil {
		return err
	}
	if err := m.artifacts(ctx, events); err != nil {
		return err
	}
	return m.document("manifest.json", m.manifest)
}

// events writes the session's events and returns them.
func (m *maker) events(ctx context.Context) ([]tasks.Event, error) {
	reader, err := m.opts.Tasks.Reader(ctx, m.manifest.SessionID, 0)
	if err != nil {
		return nil, err
	}
	var all []tasks.Event
	var out bytes.Buffer
	for {
		some, err := reader.Next(ctx, 1000)
		if err != nil {
			return nil, err
		}
		if len(some) == 0 {
			return all, m.file("events.jsonl", out.Bytes())
		}
		for _, e := range some {
			out.Write(append(javascript.MustEncode(e), '\n'))
		}
		all = append(all, some...)
	}
}

// line is a record of the journal in the form of a bundle.
type line struct {
	Pos           int64           `json:"pos"`
	Seq           int64           `json:"seq"`
	SchemaVersion int             `json:"schema_version"`
	Type          string          `json:"type"`
	Time          int64           `json:"time"`
	TurnID        string          `json:"turn_id,omitempty"`
	ItemID        string          `json:"item_id,omitempty"`
	Source        string          `json:"source,omitempty"`
	Actor         string          `json:"actor,omitempty"`
	TraceID       string          `json:"trace_id,omitempty"`
	SpanID        string          `json:"span_id,omitempty"`
	Meta          json.RawMessage `json:"meta,omitempty"`
	Payload       json.RawMessage `json:"payload"`
}

func (m *maker) records(ctx context.Context) error {
	var out bytes.Buffer
	for after := int64(0); ; {
		records, err := m.opts.Journal.ReadSession(ctx, database.EncodeText(m.manifest.SessionID), after, 0)
		if err != nil {
			return err
		}
		if len(records) == 0 {
			return m.file("records.jsonl", out.Bytes())
		}
		for i := range records {
			r := &records[i]
			if m.manifest.Oldest == 0 {
				m.manifest.Oldest = r.Seq
			}
			out.Write(append(
				javascript.MustEncode(line{r.Pos, r.Seq, r.SchemaVersion, r.Type, r.Time, database.DecodeText(r.TurnID),
					database.DecodeText(r.ItemID), r.Source, r.Actor, r.TraceID, r.SpanID, r.Meta, r.Payload}), '\n'))
			after = r.Seq
		}
	}
}

func (m *maker) document(name string, value any) error {
	encoded, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return fmt.Errorf("write %s of a bundle: %w", name, err)
	}
	return m.file(name, append(encoded, '\n'))
}

func (m *maker) lines(name string, all func(func(string) bool)) error {
	var out bytes.Buffer
	for one := range all {
		out.WriteString(one)
		out.WriteByte('\n')
	}
	return m.file(name, out.Bytes())
}

// file adds a JSON file, with its secrets removed.
func (m *maker) file(name string, content []byte) error {
	cleaned := make([]byte, 0, len(content))
	for one := range bytes.Lines(content) {
		text, taken := m.cleaner.Clean(one)
		cleaned = append(cleaned, text...)
		m.manifest.Redacted += taken
	}
	return m.add(name, cleaned)
}

// add adds a file unchanged.
func (m *maker) add(name string, cleaned []byte) error {
	sum := sha256.Sum256(cleaned)
	m.manifest.Files = append(m.manifest.Files, File{name, len(cleaned), hex.EncodeToString(sum[:])})
	header := &tar.Header{Name: name, Mode: 0o600, Size: int64(len(cleaned)), ModTime: m.opts.Clock()}
	if err := m.out.WriteHeader(header); err != nil {
		return fmt.Errorf("write %s of a bundle: %w", name, err)
	}
	if _, err := m.out.Write(cleaned); err != nil {
		return fmt.Errorf("write %s of a bundle: %w", name, err)
	}
	return nil
}

// artifacts adds the artifacts that the events refer to.
func (m *maker) artifacts(ctx context.Context, events []tasks.Event) error {
	total := int64(0)
	for _, id := range spokenOf(events) {
		skipped, err := m.artifact(ctx, id, &total)
		if err != nil {
			return err
		}
		m.manifest.Artifacts = append(m.manifest.Artifacts, Artifact{id, skipped})
	}
	return nil
}

func (m *maker) artifact(ctx context.Context, id string, total *int64) (skipped string, err error) {
	if m.opts.Artifacts == nil {
		return "this server keeps none", nil
	}
	ref, content, err := m.opts.Artifacts.Open(ctx, id)
	if errors.Is(err, artifact.ErrNotFound) {
		return "it is not kept any more", nil
	}
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, content.Close()) }()
	if ref.Size > maxArtifact || *total+ref.Size > maxArtifacts {
		return fmt.Sprintf("it has %d bytes; those of the bundle may have %d, and all of them %d", ref.Size, maxArtifact,
			maxArtifacts), nil
	}
	whole, err := io.ReadAll(content)
	if err != nil {
		return "", fmt.Errorf("read artifact %s: %w", id, err)
	}
	*total += ref.Size
	cleaned, taken := m.cleaner.Clean(whole) // not by line: an armored key spans several lines
	m.manifest.Redacted += taken
	return "", m.add("artifacts/"+id, cleaned)
}

// spokenOf lists the artifacts that events refer to, in the order of their first reference.
func spokenOf(events []tasks.Event) (ids []string) {
	var visit func(value any)
	visit = func(value any) {
		switch v := value.(type) {
		case map[string]any:
			if id, is := v["artifact_id"].(string); is && !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
			for _, member := range v {
				visit(member)
			}
		case []any:
			for _, item := range v {
				visit(item)
			}
		}
	}
	for _, e := range events {
		var payload any
		if json.Unmarshal(e.Payload, &payload) == nil {
			visit(payload)
		}
	}
	return ids
}
