package manager

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"harness/internal/lib/ids"
	"harness/internal/platform/database"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/internal/services/session/store"
	"harness/transcript"
)

// line returns three signals of one agent line, which starts a turn, writes text and asks a user.
func line(threadID, turnID, itemID string, nativeID int) []runtime.Signal {
	notification := func(method string, change runtime.Change) runtime.Signal {
		params := encode(map[string]string{"threadId": threadID, "turnId": turnID, "itemId": itemID})
		return runtime.Signal{Kind: runtime.SignalNotification, Method: method, ThreadID: threadID, TurnID: turnID,
			ItemID: itemID, Params: params, Raw: encode(map[string]any{"method": method, "params": params}), Change: change}
	}
	asked := notification("item/commandExecution/requestApproval",
		runtime.InteractiveRequested{Kind: runtime.RequestApproval, Summary: "May I?"})
	asked.Kind, asked.RequestID = runtime.SignalRequest, json.RawMessage(fmt.Sprint(nativeID))
	return []runtime.Signal{
		notification("turn/started", runtime.TurnStarted{TurnID: turnID}),
		notification("item/completed", runtime.ItemChanged{TurnID: turnID, Done: true,
			Item: runtime.Item{ID: itemID, Role: "assistant", Type: "agentMessage", Content: "said " + itemID}}),
		asked,
	}
}

// storedLines returns the stored result of lines: a session's turns, item entries, requests and events.
func (k *kit) storedLines(sessionID string) string {
	k.t.Helper()
	entries := k.stored(sessionID)
	items := 0
	for _, entry := range entries {
		if strings.HasPrefix(entry.Content, "said ") {
			items++
		}
	}
	requests, err := k.Requests(k.t.Context(), sessionID, runtime.RequestApproval)
	k.do(err)
	turns, err := store.ReadTurns(k.t.Context(), k.db.Read(), sessionID)
	k.do(err)
	var methods []string
	for _, record := range k.records() {
		var frame struct{ Method string }
		if record.SessionID == sessionID && json.Unmarshal(record.Payload, &frame) == nil &&
			!strings.HasPrefix(frame.Method, "thread/") &&
			frame.Method != "" {
			methods = append(methods, frame.Method)
		}
	}
	return fmt.Sprintf("%d turns, %d items, %d requests: %s", len(turns), items, len(requests), strings.Join(methods, " "))
}

const (
	lineAbsent = "0 turns, 0 items, 0 requests: "
	lineStored = "1 turns, 1 items, 1 requests: turn/started item/completed item/commandExecution/requestApproval"
)

// The signals of one line are stored in order, with the position and the state after it. If the server is killed in
// between, none are stored, and the next server reads the line again. A line that is already stored changes nothing.
func TestABatchIsStoredAllOrNoneAndOnce(t *testing.T) {
	for name, cut := range map[string]func(t *testing.T, k *kit, say func()){
		"killed before the commit": func(_ *testing.T, k *kit, say func()) {
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			k.order.Lock()
			_ = k.log.Stop(ctx)
			k.order.Unlock()
			say()
		},
		"failed at the third signal": func(_ *testing.T, k *kit, say func()) {
			rename := func(from, to string) {
				k.do(k.db.Update(k.t.Context(), func(tx database.Tx) error {
					_, err := tx.ExecContext(k.t.Context(), "alter table "+from+" rename to "+to)
					return err
				}))
			}
			rename("interactive_requests", "requests_away")
			say()
			k.flush()
			rename("requests_away", "interactive_requests")
		},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, k *kit) {
				s := k.create()
				p := &speaker{fake: k.fake}
				p.emitState(json.RawMessage(`{"at":1}`))
				k.flush()
				kept, generation := p.offset, k.fake.generation
				cut(t, k, func() { p.emitState(json.RawMessage(`{"at":2}`), line(s.ID, "u", "m", 7)...) })
				if stored := p.lastStored(); stored != kept {
					t.Fatalf("reported to be stored up to %d, want %d", stored, kept)
				}
				k.close()

				k = open(t, k.db, k.opts.NodeID, generation)
				k.resumes(generation, kept, `{"at":1}`)
				if lines := k.storedLines(s.ID); lines != lineAbsent {
					t.Fatalf("of a line that was cut in the middle the store has %s", lines)
				}
				p = &speaker{fake: k.fake, offset: kept}
				for range 2 {
					p.offset = kept
					p.emitState(json.RawMessage(`{"at":2}`), line(s.ID, "u", "m", 7)...)
					if lines := k.storedLines(s.ID); lines != lineStored {
						t.Errorf("stored %s", lines)
					}
				}
				if p.lastStored() != p.offset {
					t.Errorf("reported to be stored up to %d, want %d", p.lastStored(), p.offset)
				}
				k.end(s.ID, "u")

				// An adapter that nevertheless reads the line again changes nothing in the store. If the adapter asked
				// where to continue, the turn does not even count as running.
				before := k.storedLines(s.ID)
				for _, asks := range []bool{false, true} {
					k.close()
					k = open(t, k.db, k.opts.NodeID, generation)
					if asks {
						k.resumes(generation, p.offset, `{"at":2}`)
					}
					p = &speaker{fake: k.fake, offset: kept}
					p.emitState(json.RawMessage(`{"at":3}`), line(s.ID, "u", "m", 7)...)
					if lines := k.storedLines(s.ID); lines != before {
						t.Errorf("a line that was read again made of %s: %s", before, lines)
					}
					if known, _ := k.index.Get(s.ID); asks && known.ActiveTurn != "" {
						t.Errorf("turn %s is taken for running", known.ActiveTurn)
					}
				}
				k.resumes(generation, p.offset, `{"at":2}`)
			})
		})
	}
}

// resumes checks what an adapter receives about a process that outlived its server.
func (k *kit) resumes(generation string, offset int64, state string) {
	k.t.Helper()
	got, err := k.Resumption(k.t.Context(), generation)
	k.do(err)
	if got.Offset != offset || string(got.State) != state {
		k.t.Errorf("resume from %d with %s, want %d with %s", got.Offset, got.State, offset, state)
	}
}

// The state after text deltas, and after lines without a meaning, is stored with their position. A line that does not
// change the state leaves it as it is.
func TestTheStateIsStoredWithItsPosition(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		p, generation := &speaker{fake: k.fake}, k.fake.generation
		s := k.create()
		turn := k.send(s.ID)
		if got, err := k.Resumption(t.Context(), generation); err != nil || got.State != nil {
			t.Fatalf("before anything was said: %+v, %v", got, err)
		}
		p.emitState(json.RawMessage(`{"n":1}`), p.delta(s.ID, turn, "m", "text", "one"))
		p.emitState(nil, p.delta(s.ID, turn, "m", "text", " two"))
		if k.unqueued() != 2 {
			t.Errorf("%d lines wait for the store, want them to go together", k.unqueued())
		}
		k.flush()
		k.resumes(generation, p.offset, `{"n":1}`)
		p.emitState(json.RawMessage(`{"n":2}`))
		k.flush()
		k.resumes(generation, p.offset, `{"n":2}`)
		p.emitState(nil)
		k.fake.end(s.ID, turn, runtime.TurnDone)
		k.flush()
		k.resumes(generation, p.offset, `{"n":2}`)
		k.eventually("the store of all that was said", func() bool { return p.lastStored() == p.offset })
	})
}

// Text deltas that share a line with other signals are stored in their position among them. They count toward the text
// that they continue.
func TestTextDeltasKeepTheirPlaceInALine(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		p, published := &speaker{fake: k.fake}, k.listen()
		s := k.create()
		turn := k.send(s.ID)
		item := runtime.Item{ID: "m", Role: "assistant", Type: "agentMessage"}
		started := runtime.Signal{Kind: runtime.SignalNotification, Method: "item/started", ThreadID: s.ID, TurnID: turn,
			ItemID: "m", Raw: json.RawMessage(`{"method":"item/started"}`),
			Change: runtime.ItemChanged{TurnID: turn, Item: item}}
		p.emitAt(started, p.delta(s.ID, turn, "m", "text", "one"), p.delta(s.ID, turn, "m", "text", " two"))
		p.emitAt(p.delta(s.ID, turn, "m", "text", " three"), p.delta(s.ID, turn, "m", "text", " four"))
		p.emitAt(p.delta(s.ID, turn, "m", "text", " five"))
		if k.unqueued() != 2 {
			t.Errorf("%d lines wait for the store, want those of nothing but text", k.unqueued())
		}
		item.Content = "one two three four five"
		completed := started
		completed.Method, completed.Raw, completed.Change = "item/completed", json.RawMessage(`{"method":"item/completed"}`),
			runtime.ItemChanged{TurnID: turn, Item: item, Done: true}
		p.emitAt(p.delta(s.ID, turn, "m", "text", " six"), completed)
		got := k.deltas()
		var texts []string
		for _, d := range got {
			texts = append(texts, d.text)
		}
		if want := []string{"one", " two", " three four five", " six"}; !slices.Equal(texts, want) {
			t.Errorf("stored %q, want %q", texts, want)
		}
		if all := textsOf(t, got); all["m/text"] != "one two three four five six" {
			t.Errorf("the deltas make %q", all)
		}
		early := published()
		if len(early) != 3 {
			t.Errorf("%d deltas were published early, want those of the lines of nothing but text", len(early))
		}
		entries := k.stored(s.ID)
		if last := entries[len(entries)-1]; last.Content != item.Content || last.Status != transcript.Complete {
			t.Errorf("the entry is %+v", last)
		}
	})
}

// When a process ends, the next process of its conversation gets the last state of its translator. That holds even if
// no output is read again, and on the next server. Each conversation, and each runtime, has a separate state.
func TestTheLastStateOfAConversation(t *testing.T) {
	eachPair(t, func(t *testing.T, p pair) {
		last := func(runtimeName, sessionID string) string {
			t.Helper()
			state, err := p.LastState(t.Context(), runtimeName, sessionID)
			p.do(err)
			return string(state)
		}
		one, two := p.session("a"), p.session("b")
		if got := last("other", one.ID) + last("other", ""); got != "" {
			t.Errorf("before anything was said there is %s", got)
		}
		say := func(s session.Session, offset int64, turnID, state string) {
			process := p.other.processes[s.ID]
			signals := line(s.ID, turnID, "item-"+turnID, int(offset)+100)[:2]
			for i := range signals {
				signals[i].Generation = process
			}
			p.other.sink(runtime.Batch{Generation: process, Offset: offset, Signals: signals, State: json.RawMessage(state)})
		}
		say(one, 10, "t1", `{"n":1}`)
		say(one, 20, "t1", `{"n":2}`)
		say(two, 0, "t2", `{"n":3}`) // a process that cannot outlive its server
		if a, b := last("other", one.ID), last("other", two.ID); a != `{"n":2}` || b != `{"n":3}` {
			t.Errorf("the states are %s and %s", a, b)
		}
		p.other.leave(one.ID)
		p.other.leave(two.ID)
		if a, b, other := last("other", one.ID), last("other", two.ID), last("codex", one.ID); a != `{"n":2}` ||
			b != `{"n":3}` || other != "" {
			t.Errorf("after their ends the states are %s and %s, another runtime's %s", a, b, other)
		}
		// A process that ends without output does not hide the state of the one before.
		p.other.serve(one.ID, ids.New())
		p.other.begin(one.ID, "t4")
		p.other.leave(one.ID)
		if a, any := last("other", one.ID), last("other", ""); a != `{"n":2}` || any == "" {
			t.Errorf("the state is %s, the runtime's last %s", a, any)
		}
	})
}
