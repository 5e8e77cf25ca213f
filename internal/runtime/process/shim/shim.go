// Package shim keeps a coding-agent runtime alive while servers come and go.
//
// A shim is a small process of its own session between the server and one runtime process. It owns that process and its
// pipes: what the runtime writes goes to a spool on disk, and one attached server at a time reads it from there, by
// offset. When the server dies, nothing happens to the runtime; the next server attaches and reads on. The package is
// both sides of that: the shim's (Run) and the server's (Spawn, Discover, Attach). It must never know what the runtime
// says: to a shim a runtime is a stream of bytes with line ends.
//
// Durability: the spool is written to the page cache and never synced. It outlives the server and the shim. It does not
// outlive the machine, and neither does the runtime; what was acknowledged to clients is in the server's store, which
// is synced.
package shim

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"harness/internal/lib/durable"
	"harness/internal/runtime"
	"harness/internal/runtime/process/confine"
)

// Protocol is the newest version of the protocol between server and shim that this binary speaks,
// OldestProtocol the oldest. Both sides send their range at attach and use the highest both know; frames of an
// unknown kind are skipped.
//
// Version 2 added calls: a shim remembers which requests of a server have had no answer yet.
const (
	Protocol       = 2
	OldestProtocol = 1

	protocolCalls = 2
)

// GenerationVariable is the environment variable that names the shim a process belongs to, inherited by everything the
// runtime starts.
const GenerationVariable = "HARNESS_RUNTIME_GENERATION"

// Own is an assignment in the environment of a shim only, not of its runtime. A process with it is no leftover, but a
// shim that is about to end.
const Own = "HARNESS_RUNTIME_SHIM=1"

// Files of one shim in its folder, which is named by the generation.
const (
	specFile   = "spec.json"
	stateFile  = "state.json"
	tokenFile  = "token"
	socketFile = "sock"
	stderrFile = "stderr.log"
	logFile    = "shim.log"
	spoolDir   = "spool"
)

// Defaults of Spec.
const (
	defaultStopGrace    = 3 * time.Second
	defaultDetachGrace  = 15 * time.Minute
	defaultSegmentBytes = 4 << 20
	defaultSpoolBytes   = 1 << 30
)

// Spec describes what a shim runs. Only the owner can read the stored form, but secrets belong in the environment, which
// is not stored.
type Spec struct {
	// Generation identifies this run of the runtime (a UUIDv7), Runtime its kind, for example "codex".
	Generation string `json:"generation"`
	Runtime    string `json:"runtime"`
	// Path, Args, Dir and Marker are those of process.Spec. The environment is the shim's own.
	Path   string   `json:"path"`
	Args   []string `json:"args"`
	Dir    string   `json:"dir"`
	Marker string   `json:"mark"`
	// Confine and Stage are those of process.Spec, too.
	Confine confine.Plan `json:"confine"`
	Stage   []string     `json:"stage,omitempty"`
	// Version is that of the binary that starts the shim, Server the path of its program.
	Version string `json:"version"`
	Server  string `json:"server,omitempty"`
	// Outer is the generation of the server itself if an agent started it; otherwise "".
	Outer string `json:"outer,omitempty"`
	// StopGrace is the time between SIGTERM and killing the runtime's group (3 s). DetachGrace is how long it may run
	// without a server (15 min).
	StopGrace   time.Duration `json:"stopGrace"`
	DetachGrace time.Duration `json:"detachGrace"`
	// SegmentBytes is the size of one spool file (4 MiB). SpoolBytes bounds the unacknowledged spool (1 GiB): above it
	// the shim stops reading, and the runtime blocks on a full pipe.
	SegmentBytes int64 `json:"segmentBytes"`
	SpoolBytes   int64 `json:"spoolBytes"`
}

func (s Spec) withDefaults() Spec {
	if s.StopGrace <= 0 {
		s.StopGrace = defaultStopGrace
	}
	if s.DetachGrace <= 0 {
		s.DetachGrace = defaultDetachGrace
	}
	if s.SegmentBytes <= 0 {
		s.SegmentBytes = defaultSegmentBytes
	}
	if s.SpoolBytes <= 0 {
		s.SpoolBytes = defaultSpoolBytes
	}
	return s
}

// State is a shim's report of itself, in its folder and to servers that attach.
type State struct {
	Generation string `json:"generation"`
	Runtime    string `json:"runtime"`
	// Version is that of the shim's binary; OldestProtocol and Protocol are its versions of the protocol.
	Version        string `json:"version"`
	OldestProtocol int    `json:"oldestProtocol"`
	Protocol       int    `json:"protocol"`
	// PID and Started identify the shim, RuntimePID and RuntimeStarted the runtime: a process id alone may be reused,
	// and after a restart of the machine (another Boot) all may be. A shim of an older version has no Boot.
	Boot           string `json:"boot,omitempty"`
	PID            int    `json:"pid"`
	Started        uint64 `json:"started"`
	RuntimePID     int    `json:"runtimePid"`
	RuntimeStarted uint64 `json:"runtimeStarted"`
	// Socket is where the shim listens; outside the folder when that path is too long for a socket.
	Socket string `json:"socket"`
	// StartedAt is in ms.
	StartedAt int64 `json:"startedAt"`
	// Note is the value that the attached server stored for the next one.
	Note json.RawMessage `json:"note,omitempty"`
	// Exit is set when the runtime is gone.
	Exit *runtime.Exit `json:"exit,omitempty"`
	// Calls are the open ones, oldest first. Only in answers, and in the folder once Exit is set.
	Calls []Call `json:"calls,omitempty"`

	// Attached reports whether a server is attached, Oldest and End the offsets in the spool, Acked the acknowledged
	// one. Only in answers.
	Attached bool  `json:"attached"`
	Oldest   int64 `json:"oldest"`
	End      int64 `json:"end"`
	Acked    int64 `json:"acked"`
}

// Sentinels for errors.Is.
var (
	// ErrProtocol: the shim and this binary have no common version of the protocol.
	ErrProtocol = errors.New("no common shim protocol")
	// ErrRefused: the shim did not accept the token.
	ErrRefused = errors.New("the shim refused")
	// ErrGone: the shim process has ended.
	ErrGone = errors.New("the shim is gone")
)

func readJSON(path string, into any) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(content, into); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// writeJSON writes a value into a file. A reader never sees a part of it, even after a loss of power.
func writeJSON(path string, value any) error {
	content, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return durable.Write(path, content)
}

// replaceJSON is writeJSON for values that are void after a loss of power.
func replaceJSON(path string, value any) error {
	content, err := json.Marshal(value)
	if err != nil {
		return err
	}
	draft := path + ".new"
	if err := os.WriteFile(draft, content, 0o600); err != nil {
		_ = os.Remove(draft)
		return err
	}
	return os.Rename(draft, path)
}

func spoolPath(dir string) string { return filepath.Join(dir, spoolDir) }
