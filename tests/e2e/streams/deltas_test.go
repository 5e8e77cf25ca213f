package streams

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"harness/tests/dbtest"
	"harness/tests/programtest"
)

const (
	manyWords = "MOCK_SLOW[600,1]"
	killWords = "MOCK_SLOW[1000,2]"
	// gatherTime is how long the server collects deltas of a text before it stores them as one event.
	gatherTime = 50 * time.Millisecond
)

// A model streams hundreds of words per second. A reader gets each delta once and before it is stored, and the
// journal has a few joined events. Readers that disconnect at random moments, or connect late, get the same text in
// the end.
func TestDeltasComeAtOnceAndAreStoredJoined(t *testing.T) {
	t.Parallel()
	for _, engine := range dbtest.Engines() {
		t.Run(string(engine), func(t *testing.T) {
			t.Parallel()
			r := newResumeRun(t, programtest.New(t, programtest.WithEngine(engine)))
			r.server = r.Start()
			session := r.server.CreateSession(nil)
			r.sessions = []string{session}
			positioned, plain := r.server.Follow("after=latest"), r.server.Follow("threadId="+session)
			var (
				clients sync.WaitGroup
				flaky   [2][]programtest.Frame
			)
			for n := range flaky {
				clients.Go(func() { flaky[n] = r.beFlakyUntil(n, 40, turnEnds) })
			}
			began := time.Now()
			turn := r.server.Send(session, manyWords)
			if status := positioned.WaitTurn(turn); status != "completed" {
				t.Fatalf("the turn ended %s", status)
			}
			took := time.Since(began)
			plain.WaitTurn(turn)
			clients.Wait()
			item, want := completedText(t, positioned.All())

			deltas, whole := 0, ""
			for _, f := range positioned.All() {
				if f.Type != "notification" || f.Offset == nil {
					continue
				}
				if f.Pos != 0 {
					t.Errorf("a client that was there from the start got a stored delta: %s", f.Raw)
				}
				_, delta := delta(f)
				deltas, whole = deltas+1, whole+delta
			}
			stored, events := storedDeltas(r.Site, session)
			t.Logf("%d pieces of text in %v, stored as %d events", deltas, took, events)
			if whole != want || stored[item] != want {
				t.Errorf("live text %q, stored %q, want %q", whole, stored[item], want)
			}
			// The number of events depends on the text's duration, not on its length.
			if events == 0 || events > int(took/gatherTime)+3 {
				t.Errorf("%d pieces stored as %d events", deltas, events)
			}
			whole = ""
			for _, f := range plain.All() {
				if f.Offset != nil || f.Pos != 0 {
					t.Errorf("a client without a cursor got %s", f.Raw)
				}
				if f.Type == "notification" && programtest.Text(f.Decoded(), "method") == programtest.AgentDelta {
					_, delta := delta(f)
					whole += delta
				}
			}
			if whole != want {
				t.Errorf("a client without a cursor has %q, want %q", whole, want)
			}
			late := r.server.Follow("after=0")
			late.WaitTurn(turn)
			for name, frames := range map[string][]programtest.Frame{"flaky": flaky[0], "flaky, no filter": flaky[1], "late": late.All(),
				"steady": positioned.All()} {
				texts, _ := grown(t, frames)
				for _, kind := range []string{"notification ", "app_server.item.agent_message.delta "} {
					if got := texts[kind+programtest.AgentDelta+" "+item]; got != want {
						t.Errorf("%s: %s%q, want %q", name, kind, got, want)
					}
				}
			}
			r.server.Stop()
		})
	}
}

// The server is killed in the middle of a text and resumes with the same codex. Clients that resume have the text
// once, and so does the journal.
func TestDeltasSurviveKills(t *testing.T) {
	t.Parallel()
	for n, engine := range dbtest.Engines() {
		t.Run(string(engine), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(17, uint64(n)))
			r := newResumeRun(t, programtest.New(t, programtest.WithEngine(engine)))
			r.server = r.Start()
			session := r.server.CreateSession(nil)
			r.sessions = []string{session}
			var (
				clients   sync.WaitGroup
				collected [3][]programtest.Frame
			)
			for c := range collected {
				count := 60
				if c == 2 {
					count = 1 << 30 // it disconnects only when the server does
				}
				clients.Go(func() { collected[c] = r.beFlakyUntil(c, count, turnEnds) })
			}
			r.server.Send(session, killWords)
			for range 3 {
				<-time.After(time.Duration(200+random.IntN(300)) * time.Millisecond)
				r.restart(true)
			}
			clients.Wait()
			item, want := completedText(t, collected[2])
			stored, events := storedDeltas(r.Site, session)
			if t.Logf("stored as %d events", events); stored[item] != want {
				t.Errorf("stored %q, want %q", stored[item], want)
			}
			for c, frames := range collected {
				texts, _ := grown(t, frames)
				for _, kind := range []string{"notification ", "app_server.item.agent_message.delta "} {
					if got := texts[kind+programtest.AgentDelta+" "+item]; got != want {
						t.Errorf("client %d: %s%q, want %q", c, kind, got, want)
					}
				}
			}
			r.current().Stop()
		})
	}
}

func turnEnds(f programtest.Frame) bool {
	return f.Type == "notification" && programtest.Text(f.Decoded(), "method") == "turn/completed"
}

// beFlakyUntil repeatedly connects, reads some frames and disconnects, until a certain frame arrives.
func (r *resumeRun) beFlakyUntil(client, count int, last func(programtest.Frame) bool) []programtest.Frame {
	random := rand.New(rand.NewPCG(uint64(client), 43))
	var got []programtest.Frame
	for !slices.ContainsFunc(got, last) {
		if conn, ok := r.dial(client, got, random.IntN(2) == 0); ok {
			got = r.readUntil(conn, got, 1+random.IntN(count), last)
			_ = conn.CloseNow()
		}
	}
	return got
}

// completedText returns the only message that ended a turn.
func completedText(t *testing.T, frames []programtest.Frame) (item, whole string) {
	t.Helper()
	for _, f := range frames {
		payload := f.Decoded()
		if f.Type == "notification" && programtest.Text(payload, "method") == "item/completed" &&
			programtest.Text(payload, "params", "item", "type") == "agentMessage" {
			return programtest.Text(payload, "params", "item", "id"), programtest.Text(payload, "params", "item", "text")
		}
	}
	t.Fatal("no message was completed")
	return "", ""
}
