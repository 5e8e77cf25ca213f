// Package shim keeps a coding-agent runtime alive across restarts of the server.
//
// A shim is a small process in a separate session, between the server and one runtime process. It owns that process
// and its pipes. It writes the output of the runtime to a spool on disk, and one attached server at a time reads the
// spool, by offset. The death of the server does not affect the runtime; the next server attaches and continues to
// read. The package is both sides of that: the shim's (Run) and the server's (Spawn, Discover, Attach). It must never
// know the runtime's protocol: to a shim a runtime is a stream of bytes with line ends.
//
// Durability: the spool is in the page cache and is never synced. It outlives the server and the shim. It does not
// outlive the machine, and neither does the runtime. The server's store, which is synced, has everything acknowledged
// to clients.
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

// Protocol is the newest version of the protocol between server and shim in this binary, OldestProtocol the oldest.
// Both sides send their range at attach and use the highest common version; they skip frames of an unknown kind.
//
// Version 2 added calls: a shim stores the unanswered requests of a server.
const (
	Protocol       = 2
	OldestProtocol = 1

	protocolCalls = 2
)

// GenerationVariable is the environment variable with the shim of a process. All processes the runtime starts inherit
// it.
const GenerationVariable = "HARNESS_RUNTIME_GENERATION"

// Own is an assignment in the environment of a shim only, not of its runtime. A process with it is not a leftover: it
// is a shim that is about to exit.
const Own = "HARNESS_RUNTIME_SHIM=1"

// Files of one shim in its folder. The generation is the name of the folder.
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

// Spec configures the runtime of a shim. Only the owner can read the stored form, but secrets belong in the
// environment, which is not stored.
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
	// Version is the version of the binary that starts the shim, Server the path of its program.
	Version string `json:"version"`
	Server  string `json:"server,omitempty"`
	// Outer is the generation of the server itself if an agent started it; otherwise "".
	Outer string `json:"outer,omitempty"`
	// StopGrace is the time between SIGTERM and the kill of the runtime's group (3 s). DetachGrace is how long it may
	// run without a server (15 min).
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
	// Version is the version of the shim's binary; OldestProtocol and Protocol are its versions of the protocol.
	Version        string `json:"version"`
	OldestProtocol int    `json:"oldestProtocol"`
	Protocol       int    `json:"protocol"`
	// PID and Started identify the shim, RuntimePID and RuntimeStarted the runtime: the system may reuse a process
	// id, and after a reboot (another Boot) all of them. A shim of an older version has no Boot.
	Boot           string `json:"boot,omitempty"`
	PID            int    `json:"pid"`
	Started        uint64 `json:"started"`
	RuntimePID     int    `json:"runtimePid"`
	RuntimeStarted uint64 `json:"runtimeStarted"`
	// Socket is the path of the shim's socket. It is outside the folder when that path is too long for a socket.
	Socket string `json:"socket"`
	// StartedAt is in ms.
	StartedAt int64 `json:"startedAt"`
	// Note is the value that the attached server stored for the next one.
	Note json.RawMessage `json:"note,omitempty"`
	// Exit is set when the runtime is gone.
	Exit *runtime.Exit `json:"exit,omitempty"`
	// Calls are the open ones, oldest first. Only in answers, and in the folder once Exit is set.
	Calls []Call `json:"calls,omitempty"`

	// Attached reports whether a server is attached. Oldest and End are the offsets in the spool, Acked the
	// acknowledged one. Only in answers.
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
	// ErrGone: the shim process has exited.
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

// writeJSON writes a value into a file. A reader never sees an incomplete file, even after a power loss.
func writeJSON(path string, value any) error {
	content, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return durable.Write(path, content)
}

// replaceJSON is writeJSON for values that are void after a power loss.
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
