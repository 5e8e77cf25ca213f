package streams

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"harness/tests/programtest"
)

// The allowed cost of connections while agents run.
const (
	newBudget     = 8                      // times a request on a kept connection, at the median
	socketsBudget = time.Second            // for socketsDialed
	worstBudget   = 250 * time.Millisecond // for any of busyRequests
	socketsDialed = 200
	busyRequests  = 3000
)

// A new connection costs only what a socket costs, even while processes start and end on the machine, because the
// server does not look up its process. The machine is shared: the best of several rounds counts, and a stall that a
// bare server in this process also has does not count.
func TestANewConnectionCostsWhatASocketCosts(t *testing.T) {
	s := programtest.New(t)
	server := s.Start()
	server.WaitRuntime()
	server.CreateSession(programtest.Object{})
	bare := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer bare.Close()

	t.Run("beside a kept one", func(t *testing.T) {
		best := 1000.0
		for range 5 {
			best = min(best, newBesideKept(t, server.URL+"/healthz"))
			if best <= newBudget {
				return
			}
		}
		t.Errorf("a request on a new connection takes %.1f times one on a kept connection, want at most %d", best, newBudget)
	})
	stop := churn(t)
	defer stop()
	t.Run("200 sockets", func(t *testing.T) {
		best := time.Hour
		for range 5 {
			if best = min(best, dialAll(t, server.URL)); best <= socketsBudget {
				return
			}
		}
		t.Errorf("%d sockets were open after %v, want %v", socketsDialed, best, socketsBudget)
	})
	t.Run("beside processes that come and go", func(t *testing.T) {
		for range 3 {
			var worst, baseline time.Duration
			for range busyRequests {
				worst = max(worst, fresh(t, server.URL+"/api/sessions?limit=1"))
				baseline = max(baseline, fresh(t, bare.URL))
			}
			t.Logf("the slowest of %d requests on new connections took %v, %v at a bare server", busyRequests, worst, baseline)
			if worst <= max(worstBudget, 2*baseline) {
				return
			}
		}
		t.Errorf("in each of three rounds one of %d requests took more than %v, and more than twice the slowest at a bare server",
			busyRequests, worstBudget)
	})
	server.Stop()
}

// newBesideKept returns the median ratio of a request on a new connection to one on a kept connection.
func newBesideKept(t *testing.T, url string) float64 {
	t.Helper()
	kept := &http.Client{Transport: &http.Transport{}}
	defer kept.CloseIdleConnections()
	const rounds = 300
	var news, keeps []time.Duration
	for range rounds {
		news = append(news, fresh(t, url))
		began := time.Now()
		fetch(t, kept, url)
		keeps = append(keeps, time.Since(began))
	}
	slices.Sort(news)
	slices.Sort(keeps)
	t.Logf("at the median: %v on a new connection, %v on a kept one", news[rounds/2], keeps[rounds/2])
	return float64(news[rounds/2]) / float64(keeps[rounds/2])
}

// fresh returns the time of a request on a new connection.
func fresh(t *testing.T, url string) time.Duration {
	t.Helper()
	began := time.Now()
	fetch(t, &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}, url)
	return time.Since(began)
}

func fetch(t *testing.T, client *http.Client, url string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.Copy(io.Discard, answer.Body)
	_ = answer.Body.Close()
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d %v", url, answer.StatusCode, err)
	}
}

// dialAll returns the time until all sockets are open.
func dialAll(t *testing.T, base string) time.Duration {
	t.Helper()
	address := "ws" + strings.TrimPrefix(base, "http") + "/api/stream"
	began := time.Now()
	sockets := make(chan *websocket.Conn, socketsDialed)
	var dialing sync.WaitGroup
	for range socketsDialed {
		dialing.Go(func() {
			socket, _, err := websocket.Dial(t.Context(), address, nil)
			if err != nil {
				t.Error(err)
				return
			}
			sockets <- socket
		})
	}
	dialing.Wait()
	took := time.Since(began)
	t.Logf("%d sockets were open after %v", socketsDialed, took)
	close(sockets)
	for socket := range sockets {
		_ = socket.CloseNow()
	}
	return took
}

// churn starts short-lived processes sequentially until it is stopped.
func churn(t *testing.T) (stop func()) {
	t.Helper()
	ended := make(chan struct{})
	var running sync.WaitGroup
	for range 2 {
		running.Go(func() {
			for {
				select {
				case <-ended:
					return
				default:
				}
				if err := exec.Command("true").Run(); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	return func() {
		close(ended)
		running.Wait()
	}
}
