package transcripts

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"harness/tests/dbtest"
	"harness/tests/programtest"
)

const (
	wholeReaders = 64
	// roomForReads is how much more memory than idle the server may use for any reads, in KiB.
	roomForReads = 64 << 10
)

// longSession creates a session with a transcript of about this many MiB, written by clients.
func longSession(server *programtest.Server, mib int) (path string, entries int) {
	server.T.Helper()
	session := server.CreateSession(nil)
	const perRequest, entryBytes = 200, 4 << 10
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // no secret
	for entries*entryBytes < mib<<20 {
		var all []programtest.Object
		for range perRequest {
			text := fmt.Sprintf("%x ", random.Uint64())
			all = append(all, programtest.Object{"messageId": fmt.Sprintf("m%06d", entries), "turnId": fmt.Sprintf("t%d", entries/20),
				"role": "assistant", "type": "agentMessage", "content": strings.Repeat(text, entryBytes/len(text)), "status": "complete"})
			entries++
		}
		server.Want(http.StatusOK, http.MethodPost, "/api/sessions/"+session+"/transcript/upserts", programtest.Object{"entries": all})
	}
	return "/api/sessions/" + session, entries
}

// readWhole copies the body of a response in its wire format.
func readWhole(t *testing.T, server *programtest.Server, path, encoding string, into io.Writer) {
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+path, http.NoBody)
	if err != nil {
		t.Error(err)
		return
	}
	request.Header.Set("Accept-Encoding", encoding)
	response, err := server.Client().Do(request)
	if err != nil {
		t.Error(err)
		return
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK || (encoding == "gzip") != (response.Header.Get("Content-Encoding") == "gzip") {
		t.Errorf("asked for %s: %d %v", encoding, response.StatusCode, response.Header)
	}
	if _, err := io.Copy(into, response.Body); err != nil {
		t.Error(err)
	}
}

func encodings() []string { return []string{"gzip", "identity"} }

func decoded(t *testing.T, encoding string, sent io.Reader) []byte {
	t.Helper()
	if encoding == "gzip" {
		unpacked, err := gzip.NewReader(sent)
		if err != nil {
			t.Fatal(err)
		}
		sent = unpacked
	}
	whole, err := io.ReadAll(sent)
	if err != nil {
		t.Fatal(err)
	}
	return whole
}

// requireEntries reads a session that must have this many entries in order.
func requireEntries(t *testing.T, whole []byte, entries int) {
	t.Helper()
	var read struct {
		Pos        int64
		Transcript []struct{ MessageID string }
	}
	if err := json.Unmarshal(whole, &read); err != nil {
		t.Fatalf("the answer is not whole: %v", err)
	}
	if len(read.Transcript) != entries || read.Pos == 0 {
		t.Fatalf("read %d entries of %d at %d", len(read.Transcript), entries, read.Pos)
	}
	if !slices.IsSortedFunc(read.Transcript, func(a, b struct{ MessageID string }) int {
		return strings.Compare(a.MessageID, b.MessageID)
	}) {
		t.Error("the entries are out of order")
	}
}

// Many concurrent readers of a long transcript need little memory, and each gets all of it.
//
//nolint:paralleltest // it measures
func TestManyReadersOfALongTranscriptTakeLittleMemory(t *testing.T) {
	for _, engine := range dbtest.Engines() {
		t.Run(string(engine), func(t *testing.T) {
			server := programtest.New(t, programtest.WithEngine(engine)).Start()
			path, entries := longSession(server, 10)
			want := map[string][32]byte{}
			for _, encoding := range encodings() {
				var sent bytes.Buffer
				readWhole(t, server, path, encoding, &sent)
				want[encoding] = sha256.Sum256(sent.Bytes())
				requireEntries(t, decoded(t, encoding, &sent), entries)
			}
			pid := server.Cmd.Process.Pid
			forgetPeak(t, pid)
			idle, began := peakKiB(t, pid), time.Now()
			var readers sync.WaitGroup
			for i := range wholeReaders {
				readers.Go(func() {
					encoding, sent := encodings()[i%2], sha256.New() // the race detector leaves no time for more
					if readWhole(t, server, path, encoding, sent); [32]byte(sent.Sum(nil)) != want[encoding] {
						t.Errorf("reader %d got another answer", i)
					}
				})
			}
			readers.Wait()
			took := time.Since(began)
			taken := peakKiB(t, pid) - idle
			t.Logf("%d readers take %d MiB above the %d MiB before, and %v", wholeReaders, taken>>10, idle>>10, took)
			if taken > roomForReads && !server.Detecting {
				t.Errorf("%d readers take %d MiB", wholeReaders, taken>>10)
			}
		})
	}
}

// Readers that request a long transcript and read nothing need little memory, and the server soon closes their
// connections. Their truncated response does not look complete.
//
//nolint:paralleltest // it measures
func TestReadersThatDoNotReadAreClosed(t *testing.T) {
	server := programtest.New(t).Start()
	path, _ := longSession(server, 10)
	pid := server.Cmd.Process.Pid
	forgetPeak(t, pid)
	idle := peakKiB(t, pid)
	const lazy = 40
	var conns []net.Conn
	for range lazy {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(server.URL, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() }) // the server has already closed it
		if _, err := io.WriteString(conn, "GET "+path+" HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		conns = append(conns, conn)
	}
	began := time.Now()
	server.Eventually("all of them are cut off", func() bool {
		return server.Metric(`harness_http_reaped_total{reason="answer"}`) == lazy
	})
	took, taken := time.Since(began), peakKiB(t, pid)-idle
	t.Logf("%d lazy readers take %d MiB above the %d MiB before, and are closed after %v", lazy, taken>>10, idle>>10, took)
	if taken > roomForReads {
		t.Errorf("%d lazy readers take %d MiB", lazy, taken>>10)
	}
	if took > 20*time.Second {
		t.Errorf("they are closed after %v", took)
	}
	response, err := http.ReadResponse(bufio.NewReader(conns[0]), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if rest, err := io.ReadAll(response.Body); err == nil {
		t.Errorf("half an answer of %d bytes looks whole", len(rest))
	}
}
