package stream

import (
	"encoding/json"
	"net/http"
	"slices"
	"testing"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/tests/dbtest"
)

// requestEvent returns a runtime's request that waits for a person: an event with two frames.
func requestEvent(thread string) journal.Event {
	return Upcast(1, journal.Event{Type: EventRequest, SessionID: thread,
		Meta:    EncodeMeta(Meta{ReceivedAt: 1, Request: &RequestRef{ID: "r", Kind: "approval", ThreadID: thread}}),
		Payload: json.RawMessage(`{"method":"item/fileChange/requestApproval","id":1,"params":{}}`)})
}

// manyKinds returns events of every kind of frame.
func manyKinds() []journal.Event {
	text := func(thread string, group, offset int64) journal.Event {
		return textEvent(thread, "some text ", TextRef{Group: group, Offset: offset})
	}
	return []journal.Event{
		plainEvent("A", "1"), tokenEvent("A", "2"), text("A", 1, 0), text("B", 2, 0), tokenEvent("B", "3"), accountEvent("4"),
		requestEvent("A"), requestEvent("B"), broadcastEvent("C", "5"), systemOwned(plainEvent("W", "6")),
		text("A", 1, 10), text("B", 2, 10), plainEvent("B", "the end"),
	}
}

// seen is a frame that has a position.
type seen struct {
	Type, ThreadID string
	Payload        struct{ Method string }
	Pos            int64
}

// until reads frames up to the last of manyKinds, and returns them and their size in bytes.
func (p *peer) until(t *testing.T) (frames []seen, bytes int) {
	t.Helper()
	for {
		text := p.read()
		var got struct {
			seen
			Payload json.RawMessage
		}
		if err := json.Unmarshal([]byte(text), &got); err != nil {
			t.Fatal(err)
		}
		if got.Pos == 0 {
			continue // ready, and the resume status
		}
		if got.Type == "notification" {
			if err := json.Unmarshal(got.Payload, &got.seen.Payload); err != nil {
				t.Fatal(err)
			}
		}
		frames, bytes = append(frames, got.seen), bytes+len(text)
		if string(got.Payload) == `"the end"` {
			return frames, bytes
		}
	}
}

// The console's view has each event that all clients may see as one frame, its last one, live and on replay. It has
// text deltas only of the named threads, and workers' threads only if they are named.
func TestTheViewOfTheConsole(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		j := startJournal(t, db)
		_, server := serve(t, j, Options{}, HandlerOptions{})
		live := []*peer{dial(t, server, "?after=latest"), dial(t, server, "?after=latest&view=console"),
			dial(t, server, "?after=latest&view=console&threadIds=A&threadIds=W")}
		for _, one := range live {
			one.want(readyNull, `{"type":"resumed","from":0,"to":0}`)
		}
		appendAll(t, j, manyKinds()...)
		replayed := []*peer{dial(t, server, "?after=0"), dial(t, server, "?after=0&view=console"),
			dial(t, server, "?after=0&view=console&threadIds=A&threadIds=W")}
		for name, peers := range map[string][]*peer{"live": live, "replayed": replayed} {
			all, allBytes := peers[0].until(t)
			var want []seen // the last frame of each event
			for i, frame := range all {
				if i+1 == len(all) || eventOf(all[i+1].Pos) != eventOf(frame.Pos) {
					want = append(want, frame)
				}
			}
			without := slices.DeleteFunc(slices.Clone(want), func(f seen) bool { return f.Payload.Method == "item/agentMessage/delta" })
			got, bytes := peers[1].until(t)
			if !slices.Equal(got, without) {
				t.Errorf("%s, no thread named: %v, want %v", name, got, without)
			}
			if bytes*2 > allBytes {
				t.Errorf("%s: %d bytes of %d are not half as many", name, bytes, allBytes)
			}
			named, _ := peers[2].until(t)
			workers := 0
			got = nil
			for _, frame := range named {
				if frame.ThreadID == "W" {
					workers++
				} else {
					got = append(got, frame)
				}
			}
			ofA := slices.DeleteFunc(want, func(f seen) bool { return f.Payload.Method == "item/agentMessage/delta" && f.ThreadID != "A" })
			if !slices.Equal(got, ofA) || workers != 1 {
				t.Errorf("%s, A and W named: %v and %d of W, want %v and 1", name, got, workers, ofA)
			}
		}
	})
}

// After the answer to a subscription, the client gets texts of these threads and of no others. A connection resumed
// with the same names continues at the same position.
func TestTheConsoleNamesOtherThreads(t *testing.T) {
	t.Parallel()
	j := newMemoryJournal()
	_, server := serve(t, j, Options{}, HandlerOptions{})
	delta := func(thread string, group int64) journal.Event {
		return textEvent(thread, "x", TextRef{Group: group, Offset: group})
	}
	frame := func(thread, rest string) string {
		return `{"type":"notification","threadId":"` + thread +
			`","payload":{"method":"item/agentMessage/delta","params":{"itemId":"m","delta":"x"}},` + rest + `}`
	}
	page := dial(t, server, "?view=console&after=latest&threadIds=A")
	page.want(readyNull, `{"type":"resumed","from":0,"to":0}`)
	appendAll(t, j, delta("A", 1), delta("B", 2))
	page.want(frame("A", `"pos":17,"seq":1,"offset":1`))
	page.send(`{"type":"subscribe","threadIds":["B","C"]}`)
	page.want(`{"type":"subscribed"}`)
	appendAll(t, j, delta("A", 3), delta("B", 4))
	page.want(frame("B", `"pos":65,"seq":2,"offset":4`))
	resumed := dial(t, server, "?view=console&after=17&threadIds=B&threadIds=C")
	resumed.want(readyNull, `{"type":"resumed","from":17,"to":79}`, frame("B", `"pos":33,"seq":1,"offset":2`),
		frame("B", `"pos":65,"seq":2,"offset":4`))
	page.send(`{"type":"subscribe","threadIds":[]}`)
	page.want(`{"type":"subscribed"}`)
	appendAll(t, j, delta("B", 5), plainEvent("B", "shown"))
	page.want(`{"type":"transcript_updated","threadId":"B","payload":"shown","pos":96,"seq":4}`)

	for _, wrong := range []string{`{"type":"subscribe"}`, `{"type":"subscribe","threadId":"A"}`, `{"type":"unsubscribe"}`,
		`{"type":"subscribe","threadIds":[""]}`, `no JSON`} {
		page.send(wrong)
		page.want(errorText)
	}
	page.sync()
	for _, query := range []string{"?view=", "?view=other", "?view=console&view=console", "?view=console&threadIds="} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/api/stream"+query, nil)
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range map[string]string{"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
			"Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA=="} {
			request.Header.Set(name, value)
		}
		answer, err := server.Client().Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if answer.StatusCode != http.StatusBadRequest {
			t.Errorf("%s is answered %d, want 400", query, answer.StatusCode)
		}
	}
}

// Only the console's view has the server's own facts: clients of codex-manager know no such frames. (TI-03)
func TestFactsReachOnlyTheConsole(t *testing.T) {
	t.Parallel()
	j := newMemoryJournal()
	_, server := serve(t, j, Options{}, HandlerOptions{})
	peers := []*peer{dial(t, server, "?after=latest"), dial(t, server, "?after=latest&threadId=A"), dial(t, server, "?after=latest&view=console")}
	peers[0].want(readyNull, `{"type":"resumed","from":0,"to":0}`)
	peers[1].want(`{"type":"ready","threadId":"A"}`, `{"type":"resumed","from":0,"to":0}`)
	peers[2].want(readyNull, `{"type":"resumed","from":0,"to":0}`)
	appendAll(t, j, journal.Event{Type: ConsoleEvents + "session_titled", SessionID: "A", Payload: json.RawMessage(`{"title":"x"}`)},
		plainEvent("A", "1"))
	plain := `{"type":"transcript_updated","threadId":"A","payload":"1","pos":32,"seq":2}`
	peers = append(peers, dial(t, server, "?after=0"), dial(t, server, "?after=0&view=console"))
	peers[3].want(readyNull, `{"type":"resumed","from":0,"to":47}`)
	peers[4].want(readyNull, `{"type":"resumed","from":0,"to":47}`)
	for i, one := range peers {
		if i == 2 || i == 4 {
			one.want(`{"type":"session_titled","threadId":"A","payload":{"title":"x"},"pos":16,"seq":1}`)
		}
		one.want(plain)
	}
}
