package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"harness/internal/platform/database"
)

// group commits the inserts of many callers together, as the journal does, and nothing else.
type group struct {
	db *database.DB
	// both writes the same rows as the product for an upsert, with multi-row statements: the entry, its event, and the
	// counters. It shows how much of the difference is due to the second row.
	both  bool
	queue chan *pending
	done  chan struct{}
	next  int64
}

type pending struct {
	message, content string
	result           chan error
}

func newGroup(db *database.DB, both bool) *group {
	g := &group{db: db, both: both, queue: make(chan *pending, 1024), done: make(chan struct{}),
		next: rand.Int64N(1 << 40)}
	go g.run()
	return g
}

func (g *group) stop() {
	close(g.queue)
	<-g.done
}

func (g *group) insert(message, content string) error {
	p := &pending{message, content, make(chan error, 1)}
	g.queue <- p
	return <-p.result
}

const bareInsert = `insert into transcript_entries
	(session_id, message_id, turn_id, role, type, content, details, status, started_at, completed_at, ordinal)
	values ('bare', $1, 'bench', 'assistant', 'agentMessage', $2, null, 'complete', null, null, $3)`

func (g *group) run() {
	defer close(g.done)
	for first := range g.queue {
		batch := []*pending{first}
		// As in the journal, wait for more writers only if there are any.
		if timeout := time.After(2 * time.Millisecond); len(g.queue) > 0 {
		gather:
			for len(batch) < 64 && len(g.queue) > 0 {
				select {
				case p := <-g.queue:
					batch = append(batch, p)
				case <-timeout:
					break gather
				}
			}
		}
		err := g.db.Update(context.Background(), func(tx database.Tx) error {
			if g.both {
				return g.insertBoth(tx, batch)
			}
			for _, p := range batch {
				g.next++
				if _, err := tx.ExecContext(context.Background(), bareInsert, p.message, p.content, g.next); err != nil {
					return err
				}
			}
			return nil
		})
		for _, p := range batch {
			p.result <- err
		}
	}
}

var (
	bothEntries = database.NewBulk(`insert into transcript_entries
		(session_id, message_id, turn_id, role, type, content, details, status, started_at, completed_at, ordinal) {rows}`,
		database.Text, database.Text, database.Text, database.Text, database.Text, database.Text, database.Text,
		database.Text, database.Int, database.Int, database.Int)
	bothEvents = database.NewBulk(`insert into journal_events
		(pos, seq, schema_version, session_id, turn_id, item_id, type, time, source, actor, broadcast, trace_id, span_id, meta, payload) {rows}`,
		database.Int, database.Int, database.Int, database.Text, database.Text, database.Text, database.Text, database.Int,
		database.Text, database.Text, database.Int, database.Text, database.Text, database.Text, database.Text)
)

func (g *group) insertBoth(tx database.Tx, batch []*pending) error {
	ctx := context.Background()
	var entries, events []any
	for _, p := range batch {
		g.next++
		payload := `{"threadId":"bare","turnId":"bench","messageId":"` + p.message +
			`","type":"agentMessage","entry":{"messageId":"` + p.message +
			`","turnId":"bench","role":"assistant","type":"agentMessage","content":"` + p.content + `","status":"complete"}}`
		entries = append(entries, "bare", p.message, "bench", "assistant", "agentMessage", p.content, sql.NullString{},
			"complete", sql.NullInt64{}, sql.NullInt64{}, g.next)
		events = append(events, g.next, g.next, int64(1), "bare", "bench", p.message, "transcript_updated", g.next, "harness",
			"", int64(0), "", "", "{}", payload)
	}
	if err := bothEntries.Exec(ctx, tx, entries); err != nil {
		return err
	}
	if err := bothEvents.Exec(ctx, tx, events); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx,
		`insert into journal_sequences (session_id, seq) values ('bare', $1) on conflict (session_id) do update set seq = excluded.seq`,
		g.next)
	return err
}

// serveInserts is `bench inserts <port> <one|both>`: the bare INSERT behind net/http. It shows the cost of a server
// that only inserts for the same clients. The environment selects the store.
func serveInserts(args []string) error {
	if len(args) != 2 {
		return errors.New("usage: bench inserts <port> one|both")
	}
	db, err := database.Open(context.Background(),
		database.Options{URL: os.Getenv("DATABASE_URL"), Path: os.Getenv("BENCH_PATH"),
			Synchronous: os.Getenv("BENCH_SYNCHRONOUS")})
	if err != nil {
		return err
	}
	grouped := newGroup(db, args[1] == "both")
	mux := http.NewServeMux()
	mux.HandleFunc("/api/ready", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") })
	mux.HandleFunc("/insert", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil {
			message, content, _ := strings.Cut(string(body), ",")
			err = grouped.insert(message, content)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		_, _ = w.Write(body)
	})
	return http.ListenAndServe("127.0.0.1:"+args[0], mux)
}

// bareLoad inserts rows in this process. It measures the store without any other work.
func bareLoad(grouped *group, clients int, length time.Duration) (rate, error) {
	return drive(clients, length, noCPU, func(client int) (func(int) error, func(), error) {
		run := rand.Uint32()
		return func(i int) error {
			return grouped.insert(fmt.Sprintf("new-%08x-%02d-%08d", run, client, i), oneKiB)
		}, func() {}, nil
	})
}

// startInserts starts a server that only inserts rows.
func startInserts(s *store, rows string) (*child, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return startChild(s.dir, "inserts", []string{"DATABASE_URL=" + s.opts.URL, "BENCH_PATH=" + s.opts.Path,
		"BENCH_SYNCHRONOUS=" + s.opts.Synchronous},
		fmt.Sprintf("http://127.0.0.1:%d", port), self, "inserts", strconv.Itoa(port), rows)
}

// bareHTTPLoad is bareLoad through a server in a separate process.
func bareHTTPLoad(s *store, c *child, clients int, length time.Duration) (rate, error) {
	made := newTemplate(request("POST", "/insert", anyName+","+oneKiB))
	run := uint64(rand.Uint32N(100_000_000))
	g, err := newGenerator(c.url, clients, func(client, i int) []byte {
		return made.fill("new-", run, uint64(client), uint64(i))
	})
	if err != nil {
		return rate{}, err
	}
	return g.run(length, c.cpu, s.cpu)
}
