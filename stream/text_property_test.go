package stream

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"harness/internal/platform/journal"
)

// While texts grow, a client may read slowly, lose the connection, resume, or join in the middle of a group. It always
// ends with the text that the runtime sent, and no connection gets a part of it twice.
func TestTextProperty(t *testing.T) {
	t.Parallel()
	for seed := range uint64(400) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			runTexts(t, seed)
		})
	}
}

// talker produces texts as package session does: deltas published at once, stored joined.
type talker struct {
	t       *testing.T
	random  *rand.Rand
	journal *memoryJournal
	texts   map[[2]string]string // by thread and item
	open    []*growingText
	group   int64
	words   int
}

// growingText is a group.
type growingText struct {
	thread, item, text string
	ref                TextRef
}

func (w *talker) event(thread, item, text string, ref TextRef) journal.Event {
	quoted, _ := json.Marshal(text)
	head := fmt.Sprintf(`{"method":"item/agentMessage/delta","params":{"threadId":%q,"itemId":%q,"delta":`, thread, item)
	ref.At, ref.Into = len(head), "content"
	return Upcast(1, journal.Event{
		Type: EventNotification, SessionID: thread, ItemID: item, Payload: json.RawMessage(head + string(quoted) + `}}`),
		Meta: EncodeMeta(Meta{ReceivedAt: 1, SystemOwned: thread == "S", Text: &ref}),
	})
}

func utf16Of(text string) []uint16 { return utf16.Encode([]rune(text)) }

func (w *talker) publish() {
	thread, item := []string{"A", "A", "B", "S"}[w.random.IntN(4)], []string{"m", "n"}[w.random.IntN(2)]
	w.words++
	text := []string{"", fmt.Sprintf("%d,", w.words), fmt.Sprintf("😀\\\"é%d,", w.words),
		fmt.Sprintf("\n漢%d,", w.words)}[w.random.IntN(4)]
	before := w.texts[[2]string{thread, item}]
	delta := TextRef{Offset: int64(len(utf16Of(before))), Length: int64(len(utf16Of(text)))}
	at := slices.IndexFunc(w.open, func(g *growingText) bool { return g.thread == thread && g.item == item })
	if at < 0 {
		w.group++
		at, delta.First = len(w.open), true
		w.open = append(w.open, &growingText{thread: thread, item: item, ref: TextRef{Group: w.group, Offset: delta.Offset}})
	}
	g := w.open[at]
	g.text += text
	g.ref.Length += delta.Length
	delta.Group = g.ref.Group
	w.texts[[2]string{thread, item}] = before + text
	if w.random.IntN(20) > 0 { // occasionally a journal that cannot read others' events loses one
		w.journal.PublishEphemeral(w.event(thread, item, text, delta))
	}
}

func (w *talker) flush() {
	var events []journal.Event
	for _, g := range w.open {
		events = append(events, w.event(g.thread, g.item, g.text, g.ref))
	}
	if w.open = nil; len(events) > 0 {
		appendAll(w.t, w.journal, events...)
	}
}

// reader is a client, and the state it builds from its frames.
type reader struct {
	t       *testing.T
	hub     *Hub
	filter  string
	plain   bool // no positions
	mixed   bool // changes its filter
	client  *client
	conn    *fakeConn
	seen    int // frames of this connection
	last    int64
	ends    map[string]int      // the ends of this session's texts
	texts   map[string][]uint16 // by frame type, thread and item
	others  []string            // frames of other events
	gaps    bool
	resumes int
	await   string // the resume status of a resume; frames before it are dropped
}

func (r *reader) connect() {
	var at *resumeStatus
	if !r.plain {
		status, err := r.hub.compare(r.t.Context(), cursor{after: r.last})
		if err != nil {
			r.t.Fatal(err)
		}
		at = &status
	}
	r.conn, r.seen, r.ends, r.await = newFakeConn(), 0, map[string]int{}, ""
	c, err := r.hub.attach(r.conn, r.filter, textMessage(`{"type":"ready"}`), at, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	go func() {
		<-c.done
		r.hub.detach(c)
	}()
	r.client = c
}

// read reads the arrived frames.
func (r *reader) read() {
	r.t.Helper()
	all := r.conn.texts()
	for _, text := range all[r.seen:] {
		switch r.await {
		case "":
			r.add(text)
		case text:
			r.await, r.ends = "", map[string]int{}
		}
	}
	r.seen = len(all)
}

func (r *reader) add(text string) {
	r.t.Helper()
	var frame struct {
		Type, ThreadID string
		Payload        struct {
			Params struct{ ItemID, Delta string }
		}
		Pos, Offset *int64
	}
	if strings.Contains(text, `"transcript_updated"`) { // its payload is a string
		r.other(text)
		return
	}
	if err := json.Unmarshal([]byte(text), &frame); err != nil {
		r.t.Fatalf("%s: %v", text, err)
	}
	switch {
	case frame.Type == "resumed":
		r.ends = map[string]int{}
		return
	case frame.Type == "gap":
		r.gaps = true
		return
	case frame.Payload.Params.ItemID == "":
		return
	}
	if frame.Pos != nil {
		if *frame.Pos <= r.last {
			r.t.Fatalf("position %d after %d", *frame.Pos, r.last)
		}
		r.last = *frame.Pos
	}
	name := frame.Type + " " + frame.ThreadID + "/" + frame.Payload.Params.ItemID
	delta := utf16Of(frame.Payload.Params.Delta)
	if r.plain {
		if frame.Offset != nil || frame.Pos != nil {
			r.t.Fatalf("a client without positions gets %s", text)
		}
		r.texts[name] = append(r.texts[name], delta...)
		return
	}
	if frame.Offset == nil {
		r.t.Fatalf("no offset in %s", text)
	}
	offset := int(*frame.Offset)
	end, known := r.ends[name]
	switch {
	case known && offset < end, known && offset > end && !r.mixed:
		r.t.Fatalf("%s goes on at %d, this connection has it up to %d", name, offset, end)
	case offset > len(r.texts[name]) && !r.mixed:
		r.t.Fatalf("%s goes on at %d, the client has %d", name, offset, len(r.texts[name]))
	}
	r.ends[name] = offset + len(delta)
	r.texts[name] = append(slices.Clone(r.texts[name][:min(offset, len(r.texts[name]))]), delta...)
}

func (r *reader) other(text string) {
	if !r.plain {
		pos := positionOf(r.t, text)
		if pos <= r.last {
			r.t.Fatalf("position %d after %d", pos, r.last)
		}
		r.last = pos
	}
	r.others = append(r.others, text)
}

// step changes something about the connection.
func (r *reader) step(random *rand.Rand) {
	switch what := random.IntN(12); {
	case what < 2:
		r.conn.set(func() { r.conn.blocked = true })
	case what < 5:
		r.conn.set(func() { r.conn.blocked = false })
	case what == 5 && !r.plain:
		r.conn.set(func() { r.conn.room, r.conn.blocked = 0, false })
		r.client.end(0, "")
		<-r.client.done
		r.read()
		r.connect()
	case what == 6 && !r.plain:
		r.read()
		at, err := r.hub.compare(r.t.Context(), cursor{after: r.last})
		if err != nil {
			r.t.Fatal(err)
		}
		r.resumes++
		r.await = fmt.Sprintf(`{"type":"resumed","n":%d}`, r.resumes)
		at.message = textMessage(r.await)
		r.client.resume(r.filter, at)
	case what == 7 && r.mixed:
		r.filter = randomFilter(random)
		r.client.setFilter(r.filter)
	}
}

func runTexts(t *testing.T, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 11)) //nolint:gosec // reproducible on purpose
	j := newMemoryJournal()
	hub := startHub(t, j, Options{RingFrames: 1 + random.IntN(30), CatchUpPage: 1 + random.IntN(4), CatchUpReads: 1,
		Shards: 1 + random.IntN(2)})
	w := &talker{t: t, random: random, journal: j, texts: map[[2]string]string{}}
	var readers []*reader
	join := func(plain, mixed bool) *reader {
		r := &reader{t: t, hub: hub, filter: randomFilter(random), plain: plain, mixed: mixed, texts: map[string][]uint16{}}
		r.connect()
		readers = append(readers, r)
		return r
	}
	early := join(true, false)
	join(false, false)
	join(false, false)
	join(false, true)
	for step := range 120 {
		switch what := random.IntN(20); {
		case what < 12:
			w.publish()
		case what < 15:
			w.flush()
		case what < 17:
			appendAll(t, j, plainEvent([]string{"A", "B", ""}[random.IntN(3)], eventName(seed, step)))
		case what == 17 && len(readers) < 8:
			join(random.IntN(2) == 0, false)
		default:
			readers[random.IntN(len(readers))].step(random)
		}
	}
	w.flush()
	appendAll(t, j, broadcastEvent("B", "the end"), systemOwned(plainEvent("S", "the end of S")))
	for _, r := range readers {
		r.conn.set(func() { r.conn.blocked = false })
		end := `"the end"`
		if r.filter == "S" {
			end = `"the end of S"`
		}
		r.conn.wait(t, end, func() bool {
			return slices.ContainsFunc(r.conn.received, func(s string) bool { return strings.Contains(s, end) })
		})
		r.read()
		if r.mixed {
			continue // the only requirement is that it got nothing twice
		}
		r.check(w, j, r == early)
	}
}

// check compares a reader's texts with the sent ones.
func (r *reader) check(w *talker, j *memoryJournal, complete bool) {
	r.t.Helper()
	for key, said := range w.texts {
		types := []string{"app_server.item.agent_message.delta", "notification"}
		if key[0] == "S" {
			types = types[1:]
		}
		for _, kind := range types {
			name := kind + " " + key[0] + "/" + key[1]
			frame := Frame{ThreadID: key[0], SystemOwned: key[0] == "S"}
			got := string(utf16.Decode(r.texts[name]))
			want := said
			switch {
			case !frame.visible(r.filter):
				want = ""
			case r.plain && (r.gaps || !complete):
				// It skipped frames, or joined late: its text consists of sent parts, in order and once each.
				if !ordered(got) || r.gaps == false && !strings.HasSuffix(said, got) {
					r.t.Errorf("filter %q: %s is %q of %q", r.filter, name, got, said)
				}
				continue
			}
			if got != want {
				r.t.Errorf("filter %q plain %v: %s is\n%q, said was\n%q", r.filter, r.plain, name, got, want)
			}
		}
	}
	if r.plain {
		return
	}
	var others []string
	for _, rec := range j.records {
		frames, err := Frames(rec)
		if err != nil {
			r.t.Fatal(err)
		}
		for i := range frames {
			if frames[i].Type == "transcript_updated" && frames[i].visible(r.filter) {
				others = append(others, string(frames[i].AppendJSON(nil, true)))
			}
		}
	}
	requireEqual(r.t, "other frames", r.others, others)
}

// ordered reports whether the numbers in a text increase.
func ordered(text string) bool {
	last := 0
	for word := range strings.SplitSeq(text, ",") {
		n := 0
		digits := strings.TrimLeft(word, "😀\\\"é\n漢")
		if digits == "" {
			continue
		}
		if _, err := fmt.Sscan(digits, &n); err != nil || n <= last {
			return false
		}
		last = n
	}
	return true
}
