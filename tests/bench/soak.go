package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"harness/tests/mockmodel"
)

// soakLeast is the shortest useful soak.
const soakLeast = time.Minute

// soak runs all features of the product, with the real codex and a scripted model, and measures growth. The stored
// data is bounded. The soak deletes sessions after use, and the journal keeps the newest events, as an operator would
// configure.
func soak(opts *options) error {
	length := max(opts.length, soakLeast)
	model, err := mockmodel.New()
	if err != nil {
		return err
	}
	defer model.Close()
	binary, home, err := realCodex(opts.dir, model.URL())
	if err != nil {
		return err
	}
	engine := opts.engines()[0]
	running, err := serve(opts, engine, "CODEX_BIN="+binary, "CODEX_HOME="+home, "DEFAULT_APPROVAL_POLICY=never",
		"DEFAULT_SANDBOX_MODE=danger-full-access", fmt.Sprintf("HARNESS_RETENTION=journal-events=%d,records=100", soakEvents),
		fmt.Sprintf("HARNESS_RUNTIME_LIMITS=memory-mb=%d", soakRecycle), "LOG_LEVEL=warn")
	if err != nil {
		return err
	}
	defer running.stop()

	s := &soaking{server: running, model: model}
	ctx, cancel := context.WithTimeout(context.Background(), length)
	defer cancel()
	var drivers sync.WaitGroup
	broken := make(chan error, 16)
	drive := func(pause time.Duration, once func(*caller, int) error) {
		drivers.Go(func() {
			if err := s.repeat(ctx, pause, once); err != nil {
				select {
				case broken <- err:
				default:
				}
				cancel()
			}
		})
	}
	for range 2 {
		drive(200*time.Millisecond, s.conversation)
		drive(300*time.Millisecond, s.visit)
	}
	drive(20*time.Millisecond, s.note)
	drive(100*time.Millisecond, s.read)
	samples, err := s.sample(ctx, length, home)
	cancel()
	drivers.Wait()
	select {
	case failed := <-broken:
		return failed
	default:
	}
	if err != nil {
		return err
	}
	fmt.Printf("\n%s on %s: %d conversations of %d turns and a job each, %d upserts, %d reads, %d stream clients\n",
		length, engine.name, s.conversations.Load(), turnsEach, s.notes.Load(), s.reads.Load(), s.visits.Load())
	return checkGrowth(samples, length)
}

// soaking is a soak in progress.
type soaking struct {
	*server
	model                               *mockmodel.Server
	conversations, notes, reads, visits atomic.Int64
}

// repeat runs an action repeatedly until ctx ends, on one connection.
func (s *soaking) repeat(ctx context.Context, pause time.Duration, once func(*caller, int) error) error {
	c, err := dial(s.url)
	if err != nil {
		return err
	}
	defer c.close()
	for i := 0; ctx.Err() == nil; i++ {
		if err := once(c, i); err != nil {
			return fmt.Errorf("after %d rounds: %w", i, err)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
	return nil
}

// turnsEach is how many turns a conversation has.
const turnsEach = 3

// conversation creates a session and runs turns in it (a text, a command, read over the stream). It requests a
// suggestion, which is a job with a separate worker session, and deletes the session.
func (s *soaking) conversation(c *caller, _ int) error {
	session, err := s.newSession()
	if err != nil {
		return err
	}
	watcher, err := newWatcher(s.url)
	if err != nil {
		return err
	}
	defer watcher.close()
	for i := range turnsEach {
		text := "MOCK_SLOW[40,1]"
		if i == 1 {
			text = "MOCK_CMD[seq 200]"
		}
		body, err := c.body(request("POST", "/api/sessions/"+session+"/messages", `{"text":"`+text+`"}`))
		if err != nil {
			return fmt.Errorf("send a message: %w", err)
		}
		_, rest, _ := strings.Cut(string(body), `"turnId":"`)
		turn, _, _ := strings.Cut(rest, `"`)
		if err := watcher.wait(turn, time.Minute); err != nil {
			return fmt.Errorf("answer %.200s: %w", body, err)
		}
	}
	if err := c.call(request("POST", "/api/sessions/"+session+"/suggested-request", `{"draft":"go on"}`)); err != nil {
		return fmt.Errorf("ask for a suggestion: %w", err)
	}
	if err := c.call([]byte("DELETE /api/sessions/" + session + " HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")); err != nil {
		return fmt.Errorf("delete a session: %w", err)
	}
	s.model.Forget()
	s.conversations.Add(1)
	return nil
}

// note rewrites one of two hundred entries.
func (s *soaking) note(c *caller, i int) error {
	s.notes.Add(1)
	return c.call(s.upsert(fmt.Sprintf("note-%03d", i%200), oneKiB[:900]+fmt.Sprintf("%08d", i)))
}

// read reads the session with the notes, as a whole and in part, and the list.
func (s *soaking) read(c *caller, i int) error {
	s.reads.Add(1)
	path := []string{"/api/sessions/" + s.session, "/api/sessions/" + s.session + "?limit=50", "/api/sessions",
		"/api/health"}[i%4]
	return c.call(request("GET", path, ""))
}

// visit follows the stream briefly, from now or from an earlier time.
func (s *soaking) visit(*caller, int) error {
	query := ""
	if rand.IntN(2) == 0 {
		query = "?after=0"
	}
	group, err := join(s.url, 1+rand.IntN(10), query)
	if err != nil {
		return err
	}
	time.Sleep(time.Duration(rand.IntN(500)) * time.Millisecond)
	s.visits.Add(int64(len(group.sockets)))
	group.close()
	return group.err
}
