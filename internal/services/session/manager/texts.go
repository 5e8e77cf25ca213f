package manager

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"harness/internal/lib/wake"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
)

// Limits of received texts that are not queued for the store: their age and their size.
const (
	textWait    = 50 * time.Millisecond
	textBatches = 512
	textBytes   = 64 << 10
)

// texts holds the unfinished texts of runtimes. Each delta is published immediately; the deltas of one text are stored
// together.
type texts struct {
	buffers   map[string]*textBuffer // by generation
	lastGroup int64
	wake      wake.Signal // a buffer has deltas to store again
}

// newTexts numbers groups from the current time, so that two servers on one store never use the same number.
func newTexts(now time.Time) texts {
	return texts{buffers: map[string]*textBuffer{}, lastGroup: now.UnixNano(), wake: wake.New()}
}

// textBuffer holds the unfinished texts of one runtime process. All its deltas are stored together, because the
// process's output has one position.
type textBuffer struct {
	runtime string
	// known holds the texts that may continue; changed reports that their stored state is out of date.
	known   map[textKey]*knownText
	changed bool
	open    []*textGroup    // with deltas not yet queued, in the order of their first ones
	natives []journal.Event // not yet queued
	batches int             // not yet queued
	bytes   int             // of text in them
	since   time.Time       // when the first of them arrived
	// last is the last of those batches, without its signals but with the state after it.
	last   runtime.Batch
	readTo int64 // the offset up to which the process was read
}

// textKey identifies a text.
type textKey struct{ session, item, key string }

// knownText is the received part of a text; length is in UTF-16 code units.
type knownText struct {
	turn     string
	length   int64
	outlives bool
	group    *textGroup // nil when none is open
}

// textGroup holds deltas of a text that are stored as one event: the first delta with the text of all.
type textGroup struct {
	of         *knownText
	first      arrival
	start, end int    // of the text in the first delta's line, without the quotes
	text       []byte // JSON, without the quotes
}

func (s *Service) textBuffer(runtimeName, generation string) *textBuffer {
	known := s.texts.buffers[generation]
	if known == nil {
		known = &textBuffer{known: map[textKey]*knownText{}}
		s.texts.buffers[generation] = known
	}
	known.runtime = cmp.Or(known.runtime, runtimeName)
	return known
}

// end drops finished texts.
func (p *textBuffer) end(over func(textKey, *knownText) bool) {
	for key, text := range p.known {
		if over(key, text) {
			delete(p.known, key)
			p.changed = true
		}
	}
}

// storedText is a known text in the store.
type storedText struct {
	Session  string `json:"session"`
	Item     string `json:"item"`
	Key      string `json:"key"`
	Turn     string `json:"turn,omitempty"`
	Length   int64  `json:"length"`
	Outlives bool   `json:"outlives,omitempty"`
}

// changedTexts encodes the known texts for the store, "" if unchanged.
func (p *textBuffer) changedTexts() string {
	if !p.changed {
		return ""
	}
	p.changed = false
	stored := make([]storedText, 0, len(p.known))
	for key, text := range p.known {
		stored = append(stored, storedText{key.session, key.item, key.key, text.turn, text.length, text.outlives})
	}
	slices.SortFunc(stored, func(a, b storedText) int {
		return cmp.Or(cmp.Compare(a.Session, b.Session), cmp.Compare(a.Item, b.Item), cmp.Compare(a.Key, b.Key))
	})
	return string(encode(stored))
}

// resumeTexts restores the unfinished texts of a surviving process whose output was read up to an offset. If the
// process already has a buffer, that is newer.
func (s *Service) resumeTexts(generation string, readTo int64, stored string) error {
	if readTo == 0 {
		return nil
	}
	var all []storedText
	if stored != "" {
		if err := json.Unmarshal([]byte(stored), &all); err != nil {
			return fmt.Errorf("read the texts of runtime process %s: %w", generation, err)
		}
	}
	s.order.Lock()
	defer s.order.Unlock()
	if s.texts.buffers[generation] != nil {
		return nil
	}
	p := s.textBuffer("", generation)
	p.readTo = readTo
	for _, t := range all {
		p.known[textKey{t.Session, t.Item, t.Key}] = &knownText{turn: t.Turn, length: t.Length, outlives: t.Outlives}
	}
	return nil
}
