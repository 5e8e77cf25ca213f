package streams

import (
	"net/http"
	"sync"
	"testing"
	"time"

	"harness/tests/programtest"
)

// Two thousand sockets start but never finish a header, a handshake or a frame, and send an occasional byte. A new
// request is not slowed, each socket is closed within its documented time (docs/limits.md), and none of their
// resources leak.
func TestSlowlorisSocketsAreReaped(t *testing.T) {
	t.Parallel()
	server := programtest.New(t, programtest.WithEnv("CODEX_BIN=/nonexistent", "HARNESS_LIMITS=streams-per-address=0")).Start()
	const margin = programtest.Slowness * 5 * time.Second
	sockets, within := 2001, 50*time.Millisecond
	if programtest.UnderRace { // all must be open before the first ones time out
		sockets, within = 600, 10*within
	}
	requestTimes(server, t, 20) // warm-up
	before := footprintOf(server)
	kinds := []struct {
		name  string
		open  func() *rawPeer
		limit time.Duration
	}{
		{"header", func() *rawPeer { return rawDial(server, "GET /api/projects HTTP/1.1\r\nHost: 127.0.0.1\r\nX-A: ") },
			5 * time.Second},
		{"handshake", func() *rawPeer { return rawDial(server, rawHandshake+"X-A: ") }, 5 * time.Second},
		{"frame", func() *rawPeer {
			p := rawStream(server)
			if _, err := p.Write(maskedFrame(0x81, string(make([]byte, 1000)))[:500]); err != nil {
				t.Error(err)
			}
			return p
		}, 10*time.Second + 5*time.Second},
	}
	var (
		peers, reaped sync.WaitGroup
		mu            sync.Mutex
		open          []*rawPeer
	)
	for _, kind := range kinds {
		peers.Go(func() {
			for range sockets / len(kinds) {
				began := time.Now()
				p := kind.open()
				mu.Lock()
				open = append(open, p)
				mu.Unlock()
				reaped.Go(func() {
					_ = p.SetReadDeadline(began.Add(kind.limit + margin))
					for chunk := make([]byte, 256); ; {
						if _, err := p.reader.Read(chunk); err != nil {
							break
						}
					}
					if took := time.Since(began); took >= kind.limit+margin {
						t.Errorf("a half %s was still there after %v", kind.name, took)
					}
				})
			}
		})
	}
	peers.Wait()
	stop, trickled := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(trickled)
		pace := time.NewTicker(time.Second)
		defer pace.Stop()
		for {
			select {
			case <-stop:
				return
			case <-pace.C:
			}
			for _, p := range open {
				_, _ = p.Write([]byte("a"))
			}
		}
	}()
	// The machine is shared, so the best of three rounds counts, all during the attack.
	best := time.Hour
	for round := 0; round < 3 && best >= within; round++ {
		got := p99(requestTimes(server, t, 200))
		held := server.Metric("harness_http_connections") + server.Metric("harness_ws_connections")
		t.Logf("p99 of a new request among %v sockets: %v", held, got)
		best = min(best, got)
		if held < float64(sockets*2/3) {
			t.Fatalf("round %d came too late: only %v sockets are left", round, held)
		}
	}
	if best >= within {
		t.Errorf("a new request's p99 is %v, want less than %v", best, within)
	}
	reaped.Wait()
	close(stop)
	<-trickled
	for series, want := range map[string]float64{
		`harness_http_reaped_total{reason="header"}`:   float64(sockets * 2 / 3),
		`harness_ws_closed_total{reason="unfinished"}`: float64(sockets / 3),
	} {
		if got := server.Metric(series); got != want {
			t.Errorf("%s is %v, want %v", series, got, want)
		}
	}
	requireNothingLeft(server, before)
}

// A thousand short connections, closed properly or not, leak no goroutine and no descriptor.
func TestConnectionsLeaveNothing(t *testing.T) {
	t.Parallel()
	server := programtest.New(t, programtest.WithEnv("CODEX_BIN=/nonexistent"), programtest.WithRaceDetector()).Start()
	requestTimes(server, t, 20)
	before := footprintOf(server)
	for n := range 1000 {
		switch n % 4 {
		case 0:
			p := rawStream(server)
			_, _ = p.Write(maskedFrame(0x88, "\x03\xe8"))
			if code, err := p.end(programtest.Patience); code != http.StatusOK*5 || err != nil {
				t.Fatalf("closed with %d, %v", code, err)
			}
		case 1:
			_ = rawStream(server).Close()
		case 2:
			_ = rawDial(server, rawHandshake).Close()
		case 3:
			_ = rawDial(server, rawHandshake+"\r\n").Close()
		}
	}
	requireNothingLeft(server, before)
}
