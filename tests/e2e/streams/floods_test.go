package streams

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"harness/tests/programtest"
	"harness/tests/wsconform"
)

// floodMemory is how much the server's resident memory may grow during a flood. Large messages have 64 MiB of
// buffers, which may double before the garbage collector runs.
const floodMemory = 160 << 20

// For any kind of flood on a stream, the server closes the flooder with the right code, memory stays bounded, and
// other clients are served.
func TestFloodsAreBounded(t *testing.T) {
	t.Parallel()
	server := programtest.New(t, programtest.WithEnv("CODEX_BIN=/nonexistent"), programtest.WithRaceDetector()).Start()
	before, resident := footprintOf(server), server.Metric("process_resident_memory_bytes")
	mebibyte := strings.Repeat("x", 1<<20)
	for _, flood := range []struct {
		name   string
		frame  []byte
		times  int
		peers  int
		code   int
		reason string
	}{
		{"100,000 small frames", maskedFrame(0x81, `{"type":"ping"}`), 100_000, 1, 1008, "rate"},
		{"100,000 pings", maskedFrame(0x89, "are you there?"), 100_000, 1, 1008, "rate"},
		{"100,000 empty fragments", maskedFrame(0x00, ""), 100_000, 1, 1008, "rate"},
		{"20,000 subscribes", maskedFrame(0x81, `{"type":"subscribe","threadId":"T"}`), 20_000, 1, 1008, "rate"},
		{"20,000 resumes", maskedFrame(0x81, `{"type":"subscribe","threadId":null,"after":0}`), 20_000, 1, 1008, "rate"},
		{"frames of 1 MiB", maskedFrame(0x81, mebibyte), 60, 4, 1008, "rate"},
		{"frames of more than 1 MiB", maskedFrame(0x82, mebibyte+"x"), 2, 8, 1009, "too_big"},
	} {
		if programtest.UnderRace { // one flooder is enough to prove the rule and leaves CPU time for other tests
			flood.peers = 1
		}
		counted := fmt.Sprintf(`harness_ws_closed_total{reason=%q}`, flood.reason)
		closed := server.Metric(counted)
		codes := make(chan error, flood.peers)
		for range flood.peers {
			p := rawStream(server)
			go func() {
				if flood.frame[0] == 0 {
					_, _ = p.Write(maskedFrame(0x01, "")) // a message for the fragments
				}
				at := bytes.Repeat(flood.frame, max(1, min(flood.times, (64<<10)/len(flood.frame))))
				for sent := 0; sent < flood.times*len(flood.frame); sent += len(at) {
					if _, err := p.Write(at); err != nil {
						return
					}
				}
				_, _ = p.Write(maskedFrame(0x88, "\x03\xe8"))
			}()
			go func() {
				code, err := p.end(programtest.Patience)
				if code != flood.code {
					err = fmt.Errorf("closed with %d, want %d", code, flood.code)
				}
				codes <- err
			}()
		}
		slowest := p99(requestTimes(server, t, 50))
		for range flood.peers {
			if err := <-codes; err != nil {
				t.Errorf("%s: %v", flood.name, err)
			}
		}
		grown := server.Metric("process_resident_memory_bytes") - resident
		t.Logf("%s: slowest of 50 other requests %v, resident memory %+.0f MiB", flood.name, slowest, grown/(1<<20))
		if grown > floodMemory && !programtest.UnderRace {
			t.Errorf("%s: the server grew by %.0f MiB", flood.name, grown/(1<<20))
		}
		if got := server.Metric(counted) - closed; got != float64(flood.peers) {
			t.Errorf("%s: %v were counted as %s, want %d", flood.name, got, flood.reason, flood.peers)
		}
	}
	before.descriptors += 16 // the database opens connections for the resumes; TestConnectionsLeaveNothing counts exactly
	requireNothingLeft(server, before)
}

// Streams above a limit are refused before the upgrade and counted. A freed slot admits a new stream.
func TestStreamLimits(t *testing.T) {
	t.Parallel()
	server := programtest.New(t, programtest.WithEnv("CODEX_BIN=/nonexistent", "HARNESS_LIMITS=streams=3,streams-per-address=2")).Start()
	address := strings.TrimPrefix(server.URL, "http://")
	first, _ := rawStream(server), rawStream(server)
	_, refused, err := wsconform.Dial(wsconform.Request{Address: address, Target: "/api/stream"}, programtest.Patience)
	if err != nil {
		t.Fatal(err)
	}
	if refused.Status != http.StatusTooManyRequests || refused.Header.Get("Retry-After") == "" ||
		!strings.Contains(refused.Body, "streams-per-address of HARNESS_LIMITS") {
		t.Errorf("refused with %d %v %s", refused.Status, refused.Header, refused.Body)
	}
	if got := server.Metric(`harness_ws_refused_total{reason="address"}`); got != 1 {
		t.Errorf("%v were counted as refused", got)
	}
	_, foreign, err := wsconform.Dial(wsconform.Request{Address: address, Target: "/api/stream",
		Headers: [][2]string{{"Origin", "http://evil.example"}}}, programtest.Patience)
	if err != nil || foreign.Status != http.StatusForbidden {
		t.Errorf("a foreign origin: %d, %v", foreign.Status, err)
	}
	if got := server.Metric(`harness_auth_refused_total{reason="forbidden_origin"}`); got != 1 {
		t.Errorf("%v origins were counted as refused", got)
	}
	if got := server.Metric("harness_ws_connections"); got != 2 {
		t.Errorf("%v streams are counted as open", got)
	}
	_ = first.Close()
	server.Eventually("a place that was left is free", func() bool {
		conn, _, err := wsconform.Dial(wsconform.Request{Address: address, Target: "/api/stream"}, programtest.Patience)
		if conn == nil || err != nil {
			return false
		}
		_ = conn.Close()
		return true
	})
}
