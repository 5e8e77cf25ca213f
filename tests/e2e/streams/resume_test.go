package streams

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"harness/internal/platform/database"
	"harness/tests/dbtest"
	"harness/tests/programtest"
)

const (
	flakyClients     = 4
	reconnectsEach   = 50 // 4 x 50 = 200 disconnect/reconnect sequences per engine
	serverRestarts   = 5
	resumeTestMarker = "the end"
)

// Clients disconnect at random moments, even in the middle of an event's frames, while the server itself is sometimes
// killed or stopped. With the cursor of its last frame, each client gets exactly the frames of a client that was
// always connected: none missing, none twice, in order (ST-32).
func TestResumeMissesNothingAndRepeatsNothing(t *testing.T) {
	t.Parallel()
	for _, engine := range dbtest.Engines() {
		t.Run(string(engine), func(t *testing.T) {
			t.Parallel()
			newResumeRun(t, programtest.New(t, programtest.WithEngine(engine), programtest.WithRaceDetector(database.SQLite))).run()
		})
	}
}

type resumeRun struct {
	*programtest.Site
	t        *testing.T
	sessions []string

	mu     sync.Mutex
	server *programtest.Server
}

func newResumeRun(t *testing.T, s *programtest.Site) *resumeRun { return &resumeRun{Site: s, t: t} }

func (r *resumeRun) current() *programtest.Server {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.server
}

func (r *resumeRun) run() {
	r.server = r.Start()
	for range 2 {
		r.sessions = append(r.sessions, r.server.CreateSession(nil))
	}
	var (
		clients, poster sync.WaitGroup
		collected       [flakyClients][]programtest.Frame
		steady          []programtest.Frame
		steadyDone      sync.WaitGroup
	)
	posting, stopPosting := context.WithCancel(r.t.Context())
	defer stopPosting()
	poster.Go(func() { r.post(posting) })
	steadyDone.Go(func() { steady = r.beSteady() })
	for n := range flakyClients {
		clients.Go(func() { collected[n] = r.beFlaky(n) })
	}
	random := rand.New(rand.NewPCG(3, 5))
	for range serverRestarts {
		<-time.After(time.Duration(100+random.IntN(300)) * time.Millisecond)
		r.restart(random.IntN(2) == 0)
	}
	clients.Wait()
	stopPosting()
	poster.Wait()

	// The marker is posted last, so a client that has it has everything. The always-connected client must have received
	// live what a replay of the whole stream shows, and each other client its part of it.
	final := r.current()
	final.Want(http.StatusOK, http.MethodPost, "/api/projects", programtest.Object{"name": resumeTestMarker})
	steadyDone.Wait()
	reference := untilMarker(steady)
	replay := final.Follow("after=0")
	replay.Wait("the end", isMarker)
	requireSame(r.t, -1, untilMarker(replay.All()), reference)
	for n := range flakyClients {
		rest := final.Follow(r.query(n, collected[n]))
		rest.Wait("the end", isMarker)
		got := append(collected[n], untilMarker(rest.All())...)
		requireSame(r.t, n, got, visible(reference, r.filter(n)))
	}
	final.Stop()
}

func (r *resumeRun) restart(hard bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if hard {
		r.server.Kill()
	} else {
		r.server.Stop()
	}
	r.server = r.Start()
}

// post creates events in both sessions and some without a session until ctx ends. It ignores errors of a server that
// is down.
func (r *resumeRun) post(ctx context.Context) {
	ticker := time.NewTicker(2 * time.Millisecond)
	defer ticker.Stop()
	for n := 0; ; n++ {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		server := r.current()
		if n%20 == 0 {
			_, _, _ = server.Try(http.MethodPost, "/api/projects", programtest.Object{"name": fmt.Sprintf("project %d", n)})
		}
		if n%50 == 10 { // a real turn: its events have several frames each
			_, _, _ = server.Try(http.MethodPost, "/api/sessions/"+r.sessions[n%2]+"/messages",
				programtest.Object{"text": "MOCK_SLOW[10,5]"})
		}
		_, _, _ = server.Try(http.MethodPost, "/api/sessions/"+r.sessions[n%2]+"/transcript/upsert", programtest.Object{
			"messageId": fmt.Sprintf("m%d", n), "turnId": "t", "role": "system", "type": "note",
			"content": strings.Repeat("x", n%300), "status": "complete",
		})
	}
}

// filter returns the thread that a client follows, "" for all.
func (r *resumeRun) filter(client int) string {
	if client < len(r.sessions) {
		return r.sessions[client]
	}
	return ""
}

func (r *resumeRun) query(client int, got []programtest.Frame) string {
	cursor := int64(0)
	for _, f := range got {
		cursor = max(cursor, f.Pos)
	}
	query := fmt.Sprintf("after=%d", cursor)
	if thread := r.filter(client); thread != "" {
		query += "&threadId=" + thread
	}
	return query
}

// beSteady stays connected while a server runs, until the marker arrives.
func (r *resumeRun) beSteady() []programtest.Frame {
	const unfiltered = flakyClients
	var got []programtest.Frame
	for !slices.ContainsFunc(got, isMarker) {
		if conn, ok := r.dial(unfiltered, got, true); ok {
			got = r.readSome(conn, got, 1<<30)
			_ = conn.CloseNow()
		}
	}
	return got
}

// beFlaky repeatedly connects, reads some frames and disconnects.
func (r *resumeRun) beFlaky(client int) []programtest.Frame {
	random := rand.New(rand.NewPCG(uint64(client), 42))
	var got []programtest.Frame
	for connected := 0; connected < reconnectsEach; {
		conn, ok := r.dial(client, got, random.IntN(2) == 0)
		if !ok {
			continue
		}
		connected++
		got = r.readSome(conn, got, random.IntN(40))
		_ = conn.CloseNow()
	}
	return got
}

// dial resumes after the client's last frame, by query or by command.
func (r *resumeRun) dial(client int, got []programtest.Frame, byQuery bool) (*websocket.Conn, bool) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	address := "ws" + strings.TrimPrefix(r.current().URL, "http") + "/api/stream"
	query := r.query(client, got)
	if byQuery {
		address += "?" + query
	}
	conn, _, err := websocket.Dial(ctx, address, nil)
	if err != nil {
		return nil, false // the server is down at the moment
	}
	conn.SetReadLimit(-1)
	if !byQuery {
		command := programtest.Object{"type": "subscribe", "threadId": nil,
			"after": json.Number(strings.TrimPrefix(strings.Split(query, "&")[0], "after="))}
		if thread := r.filter(client); thread != "" {
			command["threadId"] = thread
		}
		encoded, err := json.Marshal(command)
		if err != nil {
			r.t.Error(err)
		}
		if conn.Write(ctx, websocket.MessageText, encoded) != nil {
			_ = conn.CloseNow()
			return nil, false
		}
	}
	return conn, true
}

// readSome reads until the verdict and count more frames arrived, or the connection ends.
func (r *resumeRun) readSome(conn *websocket.Conn, got []programtest.Frame, count int) []programtest.Frame {
	return r.readUntil(conn, got, count, isMarker)
}

// readUntil is readSome that also ends with a certain frame.
func (r *resumeRun) readUntil(conn *websocket.Conn, got []programtest.Frame, count int, last func(programtest.Frame) bool) []programtest.Frame {
	ctx, cancel := context.WithTimeout(context.Background(), programtest.Patience)
	defer cancel()
	resumed := false
	for count > 0 {
		_, data, err := conn.Read(ctx)
		if err != nil {
			return got
		}
		var next programtest.Frame
		if err := json.Unmarshal(data, &next); err != nil {
			r.t.Errorf("no JSON: %q", data)
			return got
		}
		next.Raw = string(data)
		switch next.Type {
		case "resumed":
			resumed = true
		case "gap", "ahead", "error":
			r.t.Errorf("verdict %s", data)
		default:
			if resumed { // before the verdict, a socket that resumes by command is an ordinary one
				got = append(got, events([]programtest.Frame{next})...)
				count--
				if last(next) {
					return got
				}
			}
		}
	}
	return got
}

// events removes control frames.
func events(frames []programtest.Frame) []programtest.Frame {
	return slices.DeleteFunc(slices.Clone(frames), func(f programtest.Frame) bool { return f.Pos == 0 && f.Offset == nil })
}

// untilMarker removes the frames after the marker, because a turn may still be running.
func untilMarker(frames []programtest.Frame) []programtest.Frame {
	frames = events(frames)
	return frames[:slices.IndexFunc(frames, isMarker)+1]
}

func isMarker(f programtest.Frame) bool {
	return f.Type == "project_upserted" && programtest.Text(f.Decoded(), "project", "name") == resumeTestMarker
}

// visible returns the frames of the stream that a socket with the thread filter gets.
func visible(all []programtest.Frame, thread string) []programtest.Frame {
	if thread == "" {
		return all
	}
	broadcasts := []string{
		"project_upserted", "project_deleted", "session_project_updated", "session_deleted", "app_list_updated",
		"mcp_oauth_completed", "account_updated", "account_login_completed", "account_rate_limits_updated",
	}
	return slices.DeleteFunc(slices.Clone(all), func(f programtest.Frame) bool {
		return (f.ThreadID == nil || *f.ThreadID != thread) && !slices.Contains(broadcasts, f.Type)
	})
}

// requireSame: the same frames byte for byte. Texts, whose deltas may differ, must be the same as a whole.
func requireSame(t *testing.T, client int, got, want []programtest.Frame) {
	t.Helper()
	requireSameTexts(t, client, got, want)
	_, got = grown(t, got)
	_, want = grown(t, want)
	for k := range min(len(got), len(want)) {
		if got[k].Raw != want[k].Raw {
			t.Fatalf("client %d: frame %d of %d is\n%s\nwant\n%s", client, k, len(want), got[k].Raw, want[k].Raw)
		}
	}
	if len(got) != len(want) {
		t.Fatalf("client %d has %d frames, the always-connected one %d", client, len(got), len(want))
	}
	t.Logf("client %d: %d frames, identical", client, len(got))
}
