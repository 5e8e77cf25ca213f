// Package codexmanager imports the data directory of a codex-manager: projects, sessions with their controls and
// settings, transcripts and jobs.
//
// It owns the formats of those files, and how codex-manager interprets them. It must never know how a session, a
// project or a job is stored here.
package codexmanager

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// The files of a data directory.
const (
	metadataFile   = "session-metadata.json"
	transcriptFile = "supplemental-transcript.json"
	jobsFile       = "orchestrator-jobs.json"
)

// metadata is session-metadata.json.
type metadata struct {
	Titles           map[string]string         `json:"titles"`
	Projects         map[string]project        `json:"projects"`
	ProjectOf        map[string]string         `json:"sessionProjectById"`
	ApprovalPolicyOf map[string]string         `json:"sessionApprovalPolicyById"`
	ControlsOf       map[string]controls       `json:"sessionControlsById"`
	DefaultControls  *controls                 `json:"defaultSessionControls"`
	SystemOwned      map[string]bool           `json:"systemOwnedSessionIds"`
	TimingOf         map[string]map[string]run `json:"turnTimingBySessionId"`
}

type project struct {
	Name             string  `json:"name"`
	WorkingDirectory *string `json:"workingDirectory"`
	CreatedAt        string  `json:"createdAt"`
	UpdatedAt        string  `json:"updatedAt"`
}

type controls struct {
	Model             *string                    `json:"model"`
	ApprovalPolicy    string                     `json:"approvalPolicy"`
	NetworkAccess     string                     `json:"networkAccess"`
	FilesystemSandbox string                     `json:"filesystemSandbox"`
	Settings          map[string]json.RawMessage `json:"settings"`
}

// run has the times of a turn, in ms; nil for unknown ones.
type run struct {
	StartedAt   *float64 `json:"startedAt"`
	CompletedAt *float64 `json:"completedAt"`
}

// supplement is supplemental-transcript.json.
type supplement struct {
	Version  int                   `json:"version"`
	ByThread map[string][]numbered `json:"byThreadId"`
}

type numbered struct {
	Sequence float64 `json:"sequence"`
	Entry    entry   `json:"entry"`
}

type entry struct {
	MessageID   string   `json:"messageId"`
	TurnID      string   `json:"turnId"`
	Role        string   `json:"role"`
	Type        string   `json:"type"`
	Content     string   `json:"content"`
	Details     *string  `json:"details"`
	StartedAt   *float64 `json:"startedAt"`
	CompletedAt *float64 `json:"completedAt"`
	Status      string   `json:"status"`
}

// jobList is orchestrator-jobs.json.
type jobList struct {
	Version int   `json:"version"`
	Jobs    []job `json:"jobs"`
}

type job struct {
	ID                string          `json:"id"`
	Type              string          `json:"type"`
	Version           int             `json:"version"`
	ProjectID         string          `json:"projectId"`
	SourceSessionID   *string         `json:"sourceSessionId"`
	Priority          string          `json:"priority"`
	State             string          `json:"state"`
	DedupeKey         *string         `json:"dedupeKey"`
	Payload           json.RawMessage `json:"payload"`
	Result            json.RawMessage `json:"result"`
	Error             *string         `json:"error"`
	Attempts          int             `json:"attempts"`
	MaxAttempts       int             `json:"maxAttempts"`
	CreatedAt         string          `json:"createdAt"`
	StartedAt         *string         `json:"startedAt"`
	CompletedAt       *string         `json:"completedAt"`
	CancelRequestedAt *string         `json:"cancelRequestedAt"`
	NextAttemptAt     *string         `json:"nextAttemptAt"`
	LastAttemptAt     *string         `json:"lastAttemptAt"`
	RunningContext    struct {
		ThreadID *string `json:"threadId"`
		TurnID   *string `json:"turnId"`
	} `json:"runningContext"`
}

// Directory is the content of a data directory.
type Directory struct {
	path string
	// known are the conversations with files in CODEX_HOME, nil if the caller named no home.
	known map[string]bool
	// Missing lists missing files: their content is not imported.
	Missing []string

	metadata   metadata
	supplement supplement
	jobs       jobList
}

// ErrNoDirectory means that a folder is no data directory of a codex-manager.
var ErrNoDirectory = errors.New("no data directory of a codex-manager")

// Read reads a data directory. codexHome is the CODEX_HOME of its codex, "" if unknown: without it, sessions that never
// got a title or controls look like deleted ones, and are skipped. ErrNoDirectory; other errors name an unreadable
// file. A running codex-manager rewrites its files: stop it first.
func Read(path, codexHome string) (*Directory, error) {
	d := &Directory{path: path}
	for name, into := range map[string]any{metadataFile: &d.metadata, transcriptFile: &d.supplement, jobsFile: &d.jobs} {
		text, err := os.ReadFile(filepath.Join(path, name))
		if errors.Is(err, fs.ErrNotExist) {
			d.Missing = append(d.Missing, name)
			continue
		}
		if err == nil {
			err = json.Unmarshal(bytes.TrimPrefix(text, []byte("\ufeff")), into)
		}
		if err != nil {
			return nil, fmt.Errorf("read %s of the codex-manager: %w", filepath.Join(path, name), err)
		}
	}
	if len(d.Missing) == 3 {
		return nil, fmt.Errorf("%s has none of %s, %s and %s: %w", path, metadataFile, transcriptFile, jobsFile,
			ErrNoDirectory)
	}
	for file, version := range map[string]int{transcriptFile: d.supplement.Version, jobsFile: d.jobs.Version} {
		if version > 1 {
			return nil, fmt.Errorf("%s has version %d, this harness reads version 1", filepath.Join(path, file), version)
		}
	}
	if codexHome == "" {
		return d, nil
	}
	var err error
	d.known, err = conversations(codexHome)
	return d, err
}

// conversations lists the ids in the names of codex's files.
func conversations(home string) (map[string]bool, error) {
	const suffix, length = ".jsonl", 36
	known := map[string]bool{}
	for _, folder := range []string{"sessions", "archived_sessions"} {
		err := filepath.WalkDir(filepath.Join(home, folder), func(path string, file fs.DirEntry, err error) error {
			name := filepath.Base(path)
			if err == nil && !file.IsDir() && len(name) >= length+len(suffix) && filepath.Ext(name) == suffix {
				known[name[len(name)-len(suffix)-length:len(name)-len(suffix)]] = true
			}
			return err
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("look for codex's conversations: %w", err)
		}
	}
	return known, nil
}
