package transcripts

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"harness/internal/platform/database"
	"harness/tests/dbtest"
	"harness/tests/programtest"
)

// Concurrent requests of 1,000 upserts each have more entries in total than the stream keeps for its readers. Each
// reader gets one frame per entry. The frames of a request are in its order and consecutive. A reader that starts in
// the middle of a request gets the rest of it.
func TestManyUpsertsReachEveryReader(t *testing.T) {
	t.Parallel()
	for _, engine := range dbtest.Engines() {
		t.Run(string(engine), func(t *testing.T) {
			t.Parallel()
			const requests = 6
			entries := 1000
			if programtest.UnderRace {
				entries = 100 // the stream keeps all of these
			}
			server := programtest.New(t, programtest.WithEngine(engine), programtest.WithRaceDetector(database.SQLite)).Start()
			session := server.CreateSession(nil)
			path := "/api/sessions/" + session + "/transcript/upsert"
			readers := []*programtest.Follower{follower(server, session, ""), follower(server, session, "&after=0")}
			var group sync.WaitGroup
			for r := range requests {
				group.Go(func() {
					var all []programtest.Object
					for i := range entries {
						all = append(all, manyEntry(r, i%(entries-1))) // one message twice
					}
					status, answer, err := server.Try(http.MethodPost, path+"s", programtest.Object{"entries": all})
					if err != nil || status != http.StatusOK || strings.Count(string(answer), `"messageId"`) != entries {
						t.Errorf("%d %.200s %v", status, answer, err)
					}
				})
			}
			group.Wait()
			server.Want(http.StatusOK, http.MethodPost, path, manyEntry(requests, 0))
			ends := func(f programtest.Frame) bool {
				return programtest.Text(f.Decoded(), "messageId") == messageName(requests, 0)
			}
			for _, reader := range readers {
				reader.Wait("the last upsert", ends)
				requireWholeRequests(t, updates(reader.All()), requests, entries)
			}
			seen := updates(readers[1].All())
			middle := requests*entries/2 - entries/2
			late := follower(server, session, fmt.Sprintf("&after=%d", seen[middle].Pos))
			late.Wait("the last upsert", ends)
			if got := updates(late.All()); len(got) != len(seen)-middle-1 || got[0].Raw != seen[middle+1].Raw ||
				got[len(got)-1].Raw != seen[len(seen)-1].Raw {
				t.Errorf("%d frames after the one at %d of %d", len(got), middle, len(seen))
			}
			if stored := server.Transcript(session); len(stored) != requests*(entries-1)+1 {
				t.Errorf("%d entries stored", len(stored))
			}
			for _, reader := range append(readers, late) {
				reader.Close()
			}
			server.Stop()
		})
	}
}

func follower(i *programtest.Server, session, query string) *programtest.Follower {
	i.T.Helper()
	return i.Follow("threadId=" + session + query)
}

func messageName(request, i int) string { return fmt.Sprintf("r%d-%d", request, i) }

func manyEntry(request, i int) programtest.Object {
	return programtest.Object{"messageId": messageName(request, i), "turnId": "ci", "role": "system", "type": "ci.log",
		"content": fmt.Sprint(i), "status": "complete"}
}

func updates(frames []programtest.Frame) []programtest.Frame {
	return slices.DeleteFunc(frames, func(f programtest.Frame) bool { return f.Type != "transcript_updated" })
}

func requireWholeRequests(t *testing.T, frames []programtest.Frame, requests, entries int) {
	t.Helper()
	if len(frames) != requests*entries+1 {
		t.Fatalf("%d frames, want %d", len(frames), requests*entries+1)
	}
	seen := map[string]bool{}
	for at := 0; at < requests*entries; at += entries {
		request, _, _ := strings.Cut(programtest.Text(frames[at].Decoded(), "messageId"), "-")
		if seen[request] {
			t.Errorf("request %s comes twice", request)
		}
		seen[request] = true
		for i, f := range frames[at : at+entries] {
			var number int
			if _, err := fmt.Sscanf(request, "r%d", &number); err != nil {
				t.Fatal(err)
			}
			if payload := f.Decoded(); programtest.Text(payload, "messageId") != messageName(number, i%(entries-1)) {
				t.Fatalf("frame %d of request %s is %.300s", i, request, f.Raw)
			}
			if f.Seq != 0 && (f.Seq != frames[0].Seq+int64(at+i) || f.Pos <= frames[max(at+i-1, 0)].Pos && at+i > 0) {
				t.Fatalf("frame %d of request %s has pos %d, seq %d", i, request, f.Pos, f.Seq)
			}
		}
	}
}
