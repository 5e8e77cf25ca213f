package nativelog

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"

	"github.com/rs/zerolog"

	"harness/internal/lib/javascript"
	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/internal/services/session/live"
	"harness/internal/services/session/store"
)

// Off keeps no lines.
const Off = "off"

// EventNative is an agent's native line.
const EventNative = "runtime.native"

// Options configure Recorder.
type Options struct {
	DB    *database.DB
	Index *live.Index
	// Keep selects the stored lines of agents with translated output: session.NativeRing (in Ring), session.NativeAll
	// or Off.
	Keep   string
	Ring   *Ring
	Logger zerolog.Logger
	// Now returns the time in ms.
	Now func() int64
}

// Recorder stores the lines of agents, in the ring or as events of the journal.
type Recorder struct {
	options Options
	// serving maps each process with only one session to that session; it changes in commit order. failed reports that
	// the last line was not stored.
	serving map[string]string
	failed  atomic.Bool
}

// NewRecorder builds a Recorder.
func NewRecorder(o Options) *Recorder { return &Recorder{options: o, serving: map[string]string{}} }

// SessionOf returns the session to store a native line with, "" if unknown. It tries the session that its signals
// name, then the session of its process, then that of its adapter. ours marks the signals about sessions of this
// runtime. The caller holds the commit order.
func (r *Recorder) SessionOf(batch runtime.Batch, ours []bool) (sessionID string) {
	for i, signal := range batch.Signals {
		switch {
		case !ours[i]:
			continue
		case signal.Kind == runtime.SignalStarted && signal.Serves != "":
			r.serving[batch.Generation] = signal.Serves
		case signal.Kind == runtime.SignalExited:
			delete(r.serving, batch.Generation)
		}
		if sessionID == "" {
			sessionID = signal.ThreadID
		}
	}
	if sessionID == "" {
		sessionID = r.serving[batch.Generation]
	}
	if sessionID == "" && batch.About != "" {
		if _, known := r.options.Index.Peek(batch.About); known {
			sessionID = batch.About
		}
	}
	return sessionID
}

// Record stores the line of a batch in its session's ring.
func (r *Recorder) Record(sessionID string, line json.RawMessage) {
	if r.options.Keep != session.NativeRing || r.options.Ring == nil || line == nil || sessionID == "" {
		return
	}
	err := r.options.Ring.Append(sessionID, line, func() bool {
		known, ok := r.options.Index.Peek(sessionID)
		return ok && known.Deleted
	})
	// Log once per outage: the next line fails in the same way.
	if failed := err != nil; r.failed.Swap(failed) != failed && failed {
		r.options.Logger.Warn().Err(err).Msg("native logs of agents are not stored (HARNESS_KEEP_NATIVE); sessions continue without them")
	}
}

// Events returns the events for a batch's line, none unless the setting stores all lines as events.
func (r *Recorder) Events(runtimeName, sessionID string, line json.RawMessage) []journal.Event {
	if r.options.Keep != session.NativeAll || line == nil {
		return nil
	}
	payload := line
	if !json.Valid(line) {
		payload = javascript.MustEncode(string(line))
	}
	return []journal.Event{{SessionID: sessionID, Type: EventNative, Time: r.options.Now(), Source: runtimeName,
		Payload: payload}}
}

// Stored returns the lines of a session's agents from the journal (NativeAll), oldest first, unchanged.
func Stored(ctx context.Context, j *journal.Journal, sessionID string) ([]string, error) {
	var lines []string
	for after := int64(0); ; {
		records, err := j.ReadSession(ctx, database.EncodeText(sessionID), after, 0)
		if err != nil {
			return nil, fmt.Errorf("read what the agent of session %s wrote: %w", sessionID, err)
		}
		if len(records) == 0 {
			return lines, nil
		}
		for i := range records {
			after = records[i].Seq
			if records[i].Type != EventNative {
				continue
			}
			line := string(records[i].Payload)
			var text string
			if json.Unmarshal(records[i].Payload, &text) == nil { // it was not JSON
				line = text
			}
			lines = append(lines, line)
		}
	}
}

// Drop removes the lines of a deleted session.
func (r *Recorder) Drop(sessionID string) {
	if r.options.Ring == nil {
		return
	}
	if err := r.options.Ring.Remove(sessionID); err != nil {
		r.options.Logger.Warn().Err(err).Str("session", sessionID).
			Msg("native log of a deleted session is kept until the next start")
	}
}

// Sweep removes the lines of sessions that were deleted while this server was down.
func (r *Recorder) Sweep(ctx context.Context) {
	if r.options.Ring == nil {
		return
	}
	ids, err := r.options.Ring.Sessions()
	if err != nil {
		r.options.Logger.Warn().Err(err).Msg("native lines of deleted sessions may stay")
	}
	for _, id := range ids {
		if _, err := store.IsSystemOwned(ctx, r.options.DB.Read(), id); session.Absent(err) {
			r.Drop(id)
		}
	}
}
