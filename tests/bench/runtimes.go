package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"
)

// kinds returns the agent protocols to compare with codex's.
func kinds() []string { return []string{"codex", "claude", "acp:bench", "opencode"} }

// lines makes agents of this program write the time, and measures when it arrives in a frame. The kinds run in turn
// on one server, each with a session.
func lines(opts *options) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	t := newTable("From an agent's line to its frame, 400 lines a turn, one each 5 ms, and CPU per line of 3,000 "+
		"without a pause; kinds in turns, "+
		"medians of the rounds", "store", "runtime", "p50 ms", "p99 ms", "p50 over codex's, ms", "lowest", "highest",
		"server CPU µs per line", "to codex's")
	for _, e := range opts.engines() {
		if e.synchronous == "NORMAL" {
			continue
		}
		running, err := serve(opts, e, "HARNESS_RUNTIMES="+strings.Join(kinds(), ","), "CLAUDE_BIN="+self, "OPENCODE_BIN="+self,
			`HARNESS_ACP_AGENTS={"bench":"`+self+` acp-agent"}`, "DEFAULT_NETWORK_ACCESS=enabled",
			"DEFAULT_SANDBOX_MODE=danger-full-access", "DEFAULT_APPROVAL_POLICY=on-request")
		if err != nil {
			return err
		}
		p50, p99, cpu := map[string][]float64{}, map[string][]float64{}, map[string][]float64{}
		ends, err := newEnds(running.url)
		if err != nil {
			return err
		}
		sessions := map[string]string{}
		for _, kind := range kinds() {
			if sessions[kind], err = running.open(kind); err != nil {
				return err
			}
		}
		for round := range pairRounds {
			for i := range kinds() {
				kind := kinds()[(i+round)%len(kinds())]
				delays, err := running.stamp(ends, sessions[kind], "stamp:400:5", 400)
				if err != nil {
					return fmt.Errorf("%s: %w", kind, err)
				}
				p50[kind], p99[kind] = append(p50[kind], quantile(delays, 0.5)), append(p99[kind], quantile(delays, 0.99))
				used := running.cpu()
				if _, err := running.stamp(ends, sessions[kind], "stamp:3000:0", 0); err != nil {
					return fmt.Errorf("%s: %w", kind, err)
				}
				cpu[kind] = append(cpu[kind], float64((running.cpu()-used).Microseconds())/3000)
			}
		}
		ends.close()
		running.stop()
		for _, kind := range kinds() {
			var over, share []float64
			lowest, highest := p50[kind][0]-p50["codex"][0], p50[kind][0]-p50["codex"][0]
			for i := range p50[kind] {
				difference := p50[kind][i] - p50["codex"][i]
				over, share = append(over, difference), append(share, cpu[kind][i]/cpu["codex"][i])
				lowest, highest = min(lowest, difference), max(highest, difference)
			}
			t.add(e.name, kind, middle(p50[kind]), middle(p99[kind]), middle(over), lowest, highest, middle(cpu[kind]),
				middle(share))
		}
	}
	t.print()
	return nil
}

// open creates a session of a runtime.
func (s *server) open(runtime string) (string, error) {
	body := fmt.Sprintf(
		`{"runtime":%q,"filesystemSandbox":"danger-full-access","networkAccess":"enabled","approvalPolicy":"on-request"}`,
		runtime)
	answer, err := http.Post(s.url+"/api/sessions", "application/json", strings.NewReader(body))
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	var made struct {
		Session struct{ SessionID string }
		Message string
	}
	if err := json.NewDecoder(answer.Body).Decode(&made); err != nil || made.Session.SessionID == "" {
		return "", fmt.Errorf("POST /api/sessions for %s: %s %s %w", runtime, answer.Status, made.Message, err)
	}
	return made.Session.SessionID, nil
}

// say sends a message and waits for the end of its turn.
func (s *server) say(ends *ends, session, text string) error {
	body, err := json.Marshal(map[string]string{"text": text})
	if err != nil {
		return err
	}
	answer, err := http.Post(s.url+"/api/sessions/"+session+"/messages", "application/json",
		strings.NewReader(string(body)))
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	var started struct{ TurnID, Message string }
	if err := json.NewDecoder(answer.Body).Decode(&started); err != nil || started.TurnID == "" {
		return fmt.Errorf("a message: %s %s %w", answer.Status, started.Message, err)
	}
	return ends.wait(started.TurnID)
}

// stamp makes an agent write times, and returns their ages on arrival in frames, for at least a number of them.
func (s *server) stamp(ends *ends, session, text string, atLeast int) ([]time.Duration, error) {
	ends.forget()
	if err := s.say(ends, session, text); err != nil {
		return nil, err
	}
	delays := ends.delays()
	if len(delays) < atLeast {
		return nil, fmt.Errorf("%d of %d pieces came", len(delays), atLeast)
	}
	return delays, nil
}

// ends is a socket that records the ends of turns, and the ages of the times in answer deltas.
type ends struct {
	conn   *websocket.Conn
	cancel context.CancelFunc
	done   chan struct{}

	mu    sync.Mutex
	ended map[string]bool
	old   []time.Duration
	news  chan struct{} // replaced at every end
}

var (
	timeInDelta = regexp.MustCompile(`^\{"type":"notification".*"item/agentMessage/delta".*"delta":"(\d{19}) `)
	endOfTurn   = regexp.MustCompile(`^\{"type":"notification".*"turn/completed".*"turn":\{"id":"([^"]+)"`)
)

func newEnds(base string) (*ends, error) {
	ctx, cancel := context.WithCancel(context.Background())
	conn, _, err := websocket.Dial(ctx, "ws"+strings.TrimPrefix(base, "http")+"/api/stream", nil)
	if err != nil {
		cancel()
		return nil, err
	}
	conn.SetReadLimit(-1)
	e := &ends{conn: conn, cancel: cancel, done: make(chan struct{}), ended: map[string]bool{}, news: make(chan struct{})}
	go func() {
		defer close(e.done)
		for {
			_, data, err := conn.Read(ctx)
			if err != nil {
				return
			}
			e.take(data, time.Now())
		}
	}()
	return e, nil
}

func (e *ends) take(data []byte, now time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if found := timeInDelta.FindSubmatch(data); found != nil {
		if at, err := strconv.ParseInt(string(found[1]), 10, 64); err == nil {
			e.old = append(e.old, now.Sub(time.Unix(0, at)))
		}
	} else if found := endOfTurn.FindSubmatch(data); found != nil {
		e.ended[string(found[1])] = true
		close(e.news)
		e.news = make(chan struct{})
	}
}

func (e *ends) forget() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.old = nil
}

func (e *ends) delays() []time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.old
}

func (e *ends) wait(turn string) error {
	for late := time.After(3 * time.Minute); ; {
		e.mu.Lock()
		over, news := e.ended[turn], e.news
		e.mu.Unlock()
		if over {
			return nil
		}
		select {
		case <-news:
		case <-e.done:
			return fmt.Errorf("the stream ended before turn %s", turn)
		case <-late:
			return fmt.Errorf("turn %s did not end", turn)
		}
	}
}

func (e *ends) close() {
	e.cancel()
	<-e.done
	_ = e.conn.CloseNow()
}
