package manager

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"harness/internal/lib/ids"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/stream"
)

// speaker emits text deltas like a runtime process with a spool.
type speaker struct {
	*fake
	offset int64
	mu     sync.Mutex
	stored int64 // the highest offset reported as stored
}

func (p *speaker) say(threadID, turnID, itemID, key, text string) {
	p.emitAt(p.delta(threadID, turnID, itemID, key, text))
}

func (p *speaker) delta(threadID, turnID, itemID, key, text string) runtime.Signal {
	quoted := string(encode(text))
	line := fmt.Sprintf(
		`{"method":"item/agentMessage/delta","params":{"threadId":%q,"turnId":%q,"itemId":%q,"delta":%s,"key":%q}}`,
		threadID, turnID, itemID, quoted, key)
	start := strings.Index(line, `"delta":`) + len(`"delta":`)
	return runtime.Signal{Kind: runtime.SignalNotification, Method: "item/agentMessage/delta", ThreadID: threadID,
		TurnID: turnID, ItemID: itemID, Raw: json.RawMessage(line),
		Change: runtime.TextDelta{Key: key, Start: start, End: start + len(quoted),
			Into: into[key], Outlives: key == "output"}}
}

// into maps the speaker's texts to the fields that show them.
var into = map[string]string{"text": runtime.TextContent, "output": runtime.TextDetails + "aggregatedOutput",
	"summary": runtime.TextDetails + "summary/1"}

// emitAt is emit with the position in the spool.
func (p *speaker) emitAt(signals ...runtime.Signal) { p.emitState(nil, signals...) }

// emitState is emitAt with the state after it.
func (p *speaker) emitState(state json.RawMessage, signals ...runtime.Signal) {
	p.offset += 100
	at := p.offset
	p.emitBatch(runtime.Batch{Offset: at, Signals: signals, State: state, Stored: func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.stored = max(p.stored, at)
	}})
}

func (p *speaker) lastStored() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stored
}

// delta is a stored or published part of a text.
type delta struct {
	item, key, text string
	ref             stream.TextRef
}

func deltaOf(t *testing.T, event journal.Event) (delta, bool) {
	t.Helper()
	var line struct {
		Method string
		Params struct{ ItemID, Key, Delta string }
	}
	if json.Unmarshal(event.Payload, &line) != nil || line.Method != "item/agentMessage/delta" {
		return delta{}, false
	}
	meta, err := stream.MetaOf(&event)
	if err != nil || meta.Text == nil {
		t.Errorf("meta of a delta: %s %+v, %v", event.Meta, event.Known, err)
		return delta{}, false
	}
	if event.Payload[meta.Text.At] != '"' {
		t.Errorf("no text at %d of %s", meta.Text.At, event.Payload)
	}
	return delta{item: line.Params.ItemID, key: line.Params.Key, text: line.Params.Delta, ref: *meta.Text}, true
}

func (k *kit) deltas() []delta {
	k.t.Helper()
	var all []delta
	for _, record := range k.events(stream.EventNotification) {
		if d, ok := deltaOf(k.t, record.Event); ok {
			all = append(all, d)
		}
	}
	return all
}

// textsOf folds deltas by the clients' rule; every delta must start where the text ends.
func textsOf(t *testing.T, all []delta) map[string]string {
	t.Helper()
	texts := map[string]string{}
	for _, d := range all {
		name := d.item + "/" + d.key
		if int(d.ref.Offset) != units(texts[name]) || int(d.ref.Length) != units(d.text) {
			t.Errorf("%s: %d units after %d, got %+v", name, units(d.text), units(texts[name]), d.ref)
		}
		texts[name] += d.text
	}
	return texts
}

func units(text string) (n int) {
	for _, r := range text {
		n++
		if r > 0xffff {
			n++
		}
	}
	return n
}

// listen collects the deltas that are published.
func (k *kit) listen() func() []delta {
	var (
		mu        sync.Mutex
		published []delta
	)
	cancel := k.log.SubscribeEphemeral(func(events []journal.Event) {
		mu.Lock()
		defer mu.Unlock()
		for _, event := range events {
			if d, ok := deltaOf(k.t, event); ok {
				published = append(published, d)
			}
		}
	})
	k.t.Cleanup(cancel)
	return func() []delta {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(published)
	}
}

// Deltas are published one by one. Before the next signal of their process, they are stored as one event per text and
// group.
func TestTextsArePublishedAtOnceAndStoredJoined(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		p, published := &speaker{fake: k.fake}, k.listen()
		s := k.create()
		turn := k.send(s.ID)
		words := []string{"a", "é", "😀 \"quoted\" \\ \x00", "", "\u2028<&>", "end"}
		k.fake.item(s.ID, turn, runtime.Item{ID: "m", Role: "assistant", Type: "agentMessage"}, false)
		for _, word := range words {
			p.say(s.ID, turn, "m", "text", word)
			p.say(s.ID, turn, "m", "other", word+word)
		}
		k.fake.item(s.ID, turn, runtime.Item{ID: "m", Role: "assistant", Type: "agentMessage", Content: "whole"}, true)

		stored := k.deltas()
		want := map[string]string{"m/text": strings.Join(words, ""), "m/other": ""}
		for _, word := range words {
			want["m/other"] += word + word
		}
		for what, got := range map[string][]delta{"stored": stored, "published": published()} {
			if texts := textsOf(t, got); fmt.Sprint(texts) != fmt.Sprint(want) {
				t.Errorf("%s %q, want %q", what, texts, want)
			}
		}
		if deltas := len(published()); deltas != 2*len(words) || len(stored) >= deltas {
			t.Errorf("%d deltas published, %d events stored", deltas, len(stored))
		}
		groups := map[int64]int64{}
		for _, d := range published() {
			if first := groups[d.ref.Group] == 0; first != d.ref.First {
				t.Errorf("the first delta of its group: %v, says %+v", first, d.ref)
			}
			groups[d.ref.Group] = d.ref.Offset + d.ref.Length + 1
		}
		for _, d := range stored {
			if groups[d.ref.Group] != d.ref.Offset+d.ref.Length+1 {
				t.Errorf("stored %+v, its deltas end at %d", d.ref, groups[d.ref.Group]-1)
			}
		}
		records := k.records()
		if last := records[len(records)-1]; last.ItemID != "" || !strings.Contains(string(last.Payload), "item/completed") {
			t.Errorf("last stored: %s", last.Payload)
		}

		// The same item starting again is a new text.
		k.fake.item(s.ID, turn, runtime.Item{ID: "m", Role: "assistant", Type: "agentMessage"}, false)
		p.say(s.ID, turn, "m", "text", "again")
		k.fake.end(s.ID, turn, runtime.TurnDone)
		if last := k.deltas()[len(stored):]; len(last) != 1 || last[0].ref.Offset != 0 || last[0].text != "again" {
			t.Errorf("after the restart of the item: %+v", last)
		}
	})
}

// Text that nothing else flushes is stored in time; a large text is stored earlier.
func TestTextsAreStoredInTime(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		p := &speaker{fake: k.fake}
		s := k.create()
		turn := k.send(s.ID)
		p.say(s.ID, turn, "m", "text", "lonely")
		k.eventually("the store of a single delta", func() bool { return p.lastStored() == p.offset })

		for range 2 * textBatches {
			p.say(s.ID, turn, "m", "text", "x")
			if n := k.unqueued(); n >= textBatches {
				t.Fatalf("%d deltas wait", n)
			}
		}
		p.say(s.ID, turn, "m", "text", strings.Repeat("y", textBytes))
		if n := k.unqueued(); n != 0 {
			t.Errorf("%d large deltas wait", n)
		}
	})
}

// unqueued returns how many lines with deltas the running process has emitted that are not queued for the store.
func (k *kit) unqueued() int {
	k.order.Lock()
	defer k.order.Unlock()
	return k.textBuffer("codex", k.fake.generation).batches
}

// The end of a process, and the end of the server, come after all text that was received.
func TestTextsEndWithTheirProcess(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		p := &speaker{fake: k.fake}
		s := k.create()
		turn := k.send(s.ID)
		p.say(s.ID, turn, "m", "text", "last words")
		k.fake.exited()
		records := k.records()
		n := slices.IndexFunc(records, func(r journal.Record) bool { _, is := deltaOf(t, r.Event); return is })
		if n < 0 || !slices.ContainsFunc(records[n:], func(r journal.Record) bool { return r.Type == eventRuntimeExited }) {
			t.Error("the text was not stored before the news of the end")
		}
		k.order.Lock()
		if len(k.texts.buffers) != 0 {
			t.Errorf("%d buffers of dead processes are kept", len(k.texts.buffers))
		}
		k.order.Unlock()
		k.fake.started(ids.New())
		turn = k.send(s.ID)
		p.say(s.ID, turn, "n", "text", "unknown")
		again := k.reopen()
		if got := again.deltas(); len(got) != 2 || got[1].text != "unknown" {
			t.Errorf("stored %+v", got)
		}
	})
}

// A killed server has stored neither the text nor its position in the spool. The next server receives the text again,
// and knows its earlier length.
func TestTextsSurviveTheirServer(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		p := &speaker{fake: k.fake}
		s := k.create()
		turn := k.send(s.ID)
		p.say(s.ID, turn, "m", "text", "one 😀")
		p.say(s.ID, turn, "o", "output", "of a command")
		p.say(s.ID, turn, "gone", "text", "never completed")
		p.emitAt(runtime.Signal{Kind: runtime.SignalNotification, Method: "some/thing",
			Raw: json.RawMessage(`{"method":"some/thing"}`)})
		k.flush()
		kept := p.offset
		p.say(s.ID, turn, "m", "text", " two")
		// Killed: the server cannot write what it still holds.
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		k.order.Lock()
		_ = k.log.Stop(ctx)
		k.order.Unlock()
		if stored := p.lastStored(); stored != kept {
			t.Fatalf("stored up to %d, killed at %d", stored, kept)
		}

		generation := k.fake.generation
		again := open(t, k.db, k.opts.NodeID, generation)
		from, err := again.Resumption(t.Context(), generation)
		if err != nil || from.Offset != kept {
			t.Fatalf("resume from %d, %v", from.Offset, err)
		}
		q := &speaker{fake: again.fake, offset: kept}
		q.say(s.ID, turn, "m", "text", " two")
		q.say(s.ID, turn, "m", "text", " three")
		q.offset -= 100
		q.say(s.ID, turn, "m", "text", " three") // read again
		again.fake.end(s.ID, turn, runtime.TurnDone)
		q.say(s.ID, turn, "o", "output", ", late")
		q.say(s.ID, turn, "gone", "text", "of another turn")
		got := again.deltas()
		last := got[len(got)-1]
		if last.ref.Offset != 0 || last.item != "gone" {
			t.Errorf("a text that ended with its turn goes on: %+v", last)
		}
		want := map[string]string{"m/text": "one 😀 two three", "o/output": "of a command, late",
			"gone/text": "never completed"}
		if texts := textsOf(t, got[:len(got)-1]); fmt.Sprint(texts) != fmt.Sprint(want) {
			t.Errorf("stored %q, want %q", texts, want)
		}
	})
}

// An unknown conversation is stored with its text. None of it is published before the server knows who may see it.
func TestTextOfAnUnknownConversation(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		p, published := &speaker{fake: k.fake}, k.listen()
		p.say("unknown", "u", "m", "text", "hello")
		if got := k.deltas(); len(got) != 1 || got[0].text != "hello" {
			t.Errorf("stored %+v", got)
		}
		if len(published()) != 0 {
			t.Errorf("published %+v", published())
		}
		if _, err := k.Lookup(t.Context(), "unknown"); err != nil {
			t.Error(err)
		}
	})
}
