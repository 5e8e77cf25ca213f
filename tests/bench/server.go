package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"harness/internal/platform/database"
	"harness/migrations"
)

// engine is a store with a durability.
type engine struct {
	name string
	// synchronous is the SQLite setting; "" means Postgres.
	synchronous string
}

// engines returns the stores to measure.
func (o *options) engines() []engine {
	all := []engine{{"SQLite FULL", "FULL"}, {"SQLite NORMAL", "NORMAL"}, {"Postgres", ""}}
	return slices.DeleteFunc(all, func(e engine) bool { return !strings.Contains(e.name, o.store) })
}

// store is a new location for one server's state.
type store struct {
	engine engine
	dir    string
	opts   database.Options
}

func newStore(opts *options, e engine) (*store, error) {
	dir, err := os.MkdirTemp(opts.dir, "site-")
	if err != nil {
		return nil, err
	}
	s := &store{engine: e, dir: dir, opts: database.Options{Path: filepath.Join(dir, "harness.db"),
		Synchronous: e.synchronous}}
	if e.synchronous == "" {
		url, err := newDatabase()
		if err != nil {
			return nil, err
		}
		s.opts = database.Options{URL: url}
	}
	return s, nil
}

// open opens the store next to or instead of a server, for seeding and for the bare INSERT.
func (s *store) open() (*database.DB, error) {
	db, err := database.Open(context.Background(), s.opts)
	if err != nil {
		return nil, err
	}
	if _, err := migrations.Up(context.Background(), db, filepath.Join(s.dir, "migrate.lock")); err != nil {
		return nil, err
	}
	return db, nil
}

// cpu returns the CPU time of Postgres so far, 0 for SQLite, which is part of the server.
func (s *store) cpu() time.Duration {
	if s.engine.synchronous != "" {
		return 0
	}
	return postgresCPU()
}

// server is the product on a store, with one session created through its API.
type server struct {
	*child
	store   *store
	session string
}

// serve starts the product on a new store, with its defaults except for a replaying runtime.
func serve(opts *options, e engine, env ...string) (*server, error) {
	s, err := newStore(opts, e)
	if err != nil {
		return nil, err
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	all := append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + s.dir, "CODEX_HOME=" + s.dir, "CODEX_BIN=" + self, "HARNESS_LOG_FORMAT=json",
		"HARNESS_TRUST_LOCAL=true",             // a comparison runs two servers on this machine
		"HARNESS_LIMITS=streams-per-address=0", // all sockets of a benchmark come from one address
		fmt.Sprintf("PORT=%d", port), "DATA_DIR=" + s.dir, "DATABASE_URL=" + s.opts.URL,
	}, env...)
	if s.engine.synchronous != "" {
		all = append(all, "HARNESS_SQLITE_SYNCHRONOUS="+s.engine.synchronous)
	}
	c, err := startChild(s.dir, "server", all, fmt.Sprintf("http://127.0.0.1:%d", port), opts.binary, "serve")
	if err != nil {
		return nil, err
	}
	made := &server{child: c, store: s}
	if made.session, err = made.newSession(); err != nil {
		made.stop()
		return nil, err
	}
	return made, nil
}

func (s *server) newSession() (string, error) {
	answer, err := http.Post(s.url+"/api/sessions", "application/json", strings.NewReader("{}"))
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	var body struct {
		Session struct{ SessionID string }
		Message string
	}
	if err := json.NewDecoder(answer.Body).Decode(&body); err != nil || body.Session.SessionID == "" {
		text, _ := os.ReadFile(s.log)
		return "", fmt.Errorf("POST /api/sessions: %s %s %v\n%s", answer.Status, body.Message, err, tail(text))
	}
	return body.Session.SessionID, nil
}

// upsert returns a whole request. content has a fixed length, so that all frames have the same length.
func (s *server) upsert(message string, content string) []byte {
	return request("POST", "/api/sessions/"+s.session+"/transcript/upsert", entry(message, content))
}

// upserts returns a whole request with many entries.
func (s *server) upserts(messages []string, content string) []byte {
	entries := make([]string, len(messages))
	for i, message := range messages {
		entries[i] = entry(message, content)
	}
	return request("POST", "/api/sessions/"+s.session+"/transcript/upserts",
		`{"entries":[`+strings.Join(entries, ",")+`]}`)
}

func entry(message, content string) string {
	return `{"messageId":"` + message + `","turnId":"bench","role":"assistant","type":"agentMessage","content":"` +
		content + `","status":"complete"}`
}

// metric reads one value of GET /metrics.
func (s *server) metric(name string) (float64, error) {
	answer, err := http.Get(s.url + "/metrics")
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			return strconv.ParseFloat(strings.TrimSpace(value), 64)
		}
	}
	return 0, fmt.Errorf("there is no metric %s", name)
}
