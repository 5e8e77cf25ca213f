package manager

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"harness/internal/platform/database"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/internal/services/session/nativelog"
	"harness/stream"
	"harness/tests/dbtest"
)

// speakNative emits the output of a translated agent: lines with a meaning, text deltas, and lines without a meaning.
func (p *speaker) speakNative(t *testing.T, sessionID, turnID string) (lines []string) {
	t.Helper()
	say := func(line string, signals ...runtime.Signal) {
		lines = append(lines, line)
		p.offset += 100
		p.emitBatch(runtime.Batch{Offset: p.offset, Native: json.RawMessage(line), Signals: signals})
	}
	say(`{"native":"item"}`, line(sessionID, turnID, "m", 7)...)
	say(`{"native":"one"}`, p.delta(sessionID, turnID, "n", "text", "one"))
	say(`{"native":"nothing"}`)
	say(`{"native":"two"}`, p.delta(sessionID, turnID, "n", "text", " two"))
	say(`no JSON`, p.delta(sessionID, turnID, "n", "text", " three"))
	return lines
}

func eachNative(t *testing.T, keep string, test func(t *testing.T, k *kit, ring *nativelog.Ring)) {
	t.Helper()
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		ring := nativelog.New(filepath.Join(t.TempDir(), "native"))
		test(t, openWith(t, db, "node", func(o *Options) { o.KeepNative, o.NativeLines = keep, ring }), ring)
	})
}

// The lines of a translated agent are stored with the session that they name, or that their process serves. They stay
// until that session is deleted. The lines of an agent whose lines are signals themselves are not stored.
func TestNativeLinesAreKeptInARing(t *testing.T) {
	eachNative(t, session.NativeRing, func(t *testing.T, k *kit, ring *nativelog.Ring) {
		s, own := k.create(), k.create()
		p := &speaker{fake: k.fake}
		said := p.speakNative(t, s.ID, "u")
		// This line belongs to no known session.
		said = slices.DeleteFunc(said, func(line string) bool { return line == `{"native":"nothing"}` })
		if lines, err := ring.Tail(s.ID); err != nil || !slices.Equal(lines, said) {
			t.Errorf("kept %q, %v, want %q", lines, err, said)
		}
		if lines, err := ring.Tail(own.ID); err != nil || len(lines) != 0 {
			t.Errorf("of the other session %q is kept, %v", lines, err)
		}
		if n := len(k.events(nativelog.EventNative)); n != 0 {
			t.Errorf("%d lines are in the journal", n)
		}

		k.fake.emit(runtime.Signal{Kind: runtime.SignalStarted, Serves: own.ID, Generation: "for one"})
		p.emitBatch(runtime.Batch{Generation: "for one", Native: json.RawMessage(`{"native":"whose process is"}`)})
		k.flush()
		if lines, err := ring.Tail(own.ID); err != nil || len(lines) != 1 {
			t.Errorf("of the session with a process of its own %q is kept, %v", lines, err)
		}

		k.fake.end(s.ID, "u", runtime.TurnDone)
		_, err := k.Delete(t.Context(), s.ID)
		k.do(err)
		k.eventually("the end of its lines", func() bool {
			ids, err := ring.Sessions()
			return err == nil && slices.Equal(ids, []string{own.ID})
		})
		p.offset += 100
		p.emitBatch(runtime.Batch{Offset: p.offset, Native: json.RawMessage(`"late"`),
			Signals: line(s.ID, "u", "late", 8)[1:2]})
		if lines, err := ring.Tail(s.ID); err != nil || len(lines) != 0 {
			t.Errorf("of the deleted session %q is kept, %v", lines, err)
		}

		// The next start removes the lines of a session that was deleted while the server was down.
		k.do(ring.Append("gone", []byte("{}"), func() bool { return false }))
		k.close()
		again := openWith(t, k.db, "node", func(o *Options) { o.KeepNative, o.NativeLines = session.NativeRing, ring })
		again.eventually("the removal of the lines without a session", func() bool {
			ids, err := ring.Sessions()
			return err == nil && slices.Equal(ids, []string{own.ID})
		})
	})
}

// All lines are journal events, in order of arrival and only once, and no client sees them.
func TestNativeLinesAreKeptInTheJournal(t *testing.T) {
	eachNative(t, session.NativeAll, func(t *testing.T, k *kit, ring *nativelog.Ring) {
		s := k.create()
		p := &speaker{fake: k.fake}
		said := p.speakNative(t, s.ID, "u")
		k.flush()
		p.offset = 0
		p.speakNative(t, s.ID, "u") // read again
		var kept []string
		for _, record := range k.events(nativelog.EventNative) {
			kept = append(kept, string(record.Payload))
			if frames, err := stream.Frames(record); err != nil || len(frames) != 0 {
				t.Errorf("clients see %+v of it, %v", frames, err)
			}
			if want := s.ID; record.SessionID != want && string(record.Payload) != `{"native":"nothing"}` {
				t.Errorf("%s is kept with session %q", record.Payload, record.SessionID)
			}
		}
		said[len(said)-1] = `"no JSON"`
		if fmt.Sprint(kept) != fmt.Sprint(said) {
			t.Errorf("kept %s, want %s", kept, said)
		}
		if ids, err := ring.Sessions(); err != nil || len(ids) != 0 {
			t.Errorf("files of %v, %v", ids, err)
		}
	})
}

// No lines are stored if storage is off.
func TestNativeLinesAreNotKept(t *testing.T) {
	eachNative(t, nativelog.Off, func(t *testing.T, k *kit, ring *nativelog.Ring) {
		s := k.create()
		(&speaker{fake: k.fake}).speakNative(t, s.ID, "u")
		if ids, err := ring.Sessions(); err != nil || len(ids) != 0 || len(k.events(nativelog.EventNative)) != 0 {
			t.Errorf("kept of %v, %v", ids, err)
		}
	})
}
