package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"time"

	"harness/database"
)

// group commits inserts of many callers together, as the journal does, and does nothing else.
type group struct {
	db    *database.DB
	queue chan *pending
	done  chan struct{}
	next  int64
}

type pending struct {
	message, content string
	result           chan error
}

func newGroup(db *database.DB) *group {
	g := &group{db: db, queue: make(chan *pending, 1024), done: make(chan struct{}), next: rand.Int64N(1 << 40)}
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
		// As the journal: company is waited for only when there is some.
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

// bareHTTPLoad is bareLoad behind net/http in this process: what a server that only inserts would do for the same clients.
func bareHTTPLoad(db *database.DB, clients int, length time.Duration) (rate, error) {
	grouped := newGroup(db)
	defer grouped.stop()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return rate{}, err
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil {
			message, content, _ := strings.Cut(string(body), ",")
			err = grouped.insert(message, content)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		_, _ = w.Write(body)
	})}
	go func() { _ = server.Serve(listener) }()
	defer server.Close()
	return drive(clients, length, noCPU, func(client int) (func(int) error, func(), error) {
		c, err := dial("http://" + listener.Addr().String())
		if err != nil {
			return nil, nil, err
		}
		run := rand.Uint32()
		return func(i int) error {
			return c.call(request("POST", "/", fmt.Sprintf("new-%08x-%02d-%08d,", run, client, i)+oneKiB))
		}, c.close, nil
	})
}
