package manager

import (
	"context"
	"encoding/json"
	"fmt"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/internal/services/session"
)

const (
	// NativeOff keeps none.
	NativeOff = "off"
)

// eventRuntimeNative is a line as an agent wrote it.
const eventRuntimeNative = "runtime.native"

// nativeOf is the session a native line is kept with: the one its signals name, else the one its process is for, else
// the one its adapter says; "" when that is not known. ours tells which of the signals are about sessions of this
// runtime. Service.order is held.
func (s *Service) nativeOf(batch runtime.Batch, ours []bool) (sessionID string) {
	for i, signal := range batch.Signals {
		switch {
		case !ours[i]:
			continue
		case signal.Kind == runtime.SignalStarted && signal.Serves != "":
			s.serving[batch.Generation] = signal.Serves
		case signal.Kind == runtime.SignalExited:
			delete(s.serving, batch.Generation)
		}
		if sessionID == "" {
			sessionID = signal.ThreadID
		}
	}
	if sessionID == "" {
		sessionID = s.serving[batch.Generation]
	}
	if sessionID == "" && batch.About != "" {
		if _, known := s.view.peek(batch.About); known {
			sessionID = batch.About
		}
	}
	return sessionID
}

// keepNative keeps the line of a batch in the ring of its session.
func (s *Service) keepNative(sessionID string, line json.RawMessage) {
	if s.opts.KeepNative != session.NativeRing || s.opts.NativeLines == nil || line == nil || sessionID == "" {
		return
	}
	err := s.opts.NativeLines.Append(sessionID, line, func() bool {
		known, ok := s.view.peek(sessionID)
		return ok && known.deleted
	})
	// Once for an outage: the next line has the same trouble.
	if failed := err != nil; s.nativeFailed.Swap(failed) != failed && failed {
		s.opts.Logger.Warn().Err(err).Msg("what agents write is not kept (HARNESS_KEEP_NATIVE); sessions go on without it")
	}
}

// nativeEvents are the events that keep the line of a batch, none unless all lines are kept so.
func (s *Service) nativeEvents(runtimeName, sessionID string, line json.RawMessage) []journal.Event {
	if s.opts.KeepNative != session.NativeAll || line == nil {
		return nil
	}
	payload := line
	if !json.Valid(line) {
		payload = encode(string(line))
	}
	return []journal.Event{{SessionID: sessionID, Type: eventRuntimeNative, Time: s.now(), Source: runtimeName,
		Payload: payload}}
}

// NativeLines are the lines of a session's agents that the journal has (NativeAll), oldest first, as they were written.
func NativeLines(ctx context.Context, j *journal.Journal, sessionID string) ([]string, error) {
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
			if records[i].Type != eventRuntimeNative {
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

// dropNative removes the lines of a session that is gone.
func (s *Service) dropNative(sessionID string) {
	if s.opts.NativeLines == nil {
		return
	}
	if err := s.opts.NativeLines.Remove(sessionID); err != nil {
		s.opts.Logger.Warn().Err(err).Str("session", sessionID).
			Msg("what the agent of a deleted session wrote stays until the next start")
	}
}

// sweepNatives removes the lines of sessions that went while nobody listened.
func (s *Service) sweepNatives(ctx context.Context) {
	if s.opts.NativeLines == nil {
		return
	}
	ids, err := s.opts.NativeLines.Sessions()
	if err != nil {
		s.opts.Logger.Warn().Err(err).Msg("native lines of deleted sessions may stay")
	}
	for _, id := range ids {
		if _, err := presence(ctx, s.db.Read(), id); session.Absent(err) {
			s.dropNative(id)
		}
	}
}
