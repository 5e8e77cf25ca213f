package lost

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"harness/tests/crashstates"
	"harness/tests/programtest"
)

// powerlossStates is how many states the test tries.
const powerlossStates = "HARNESS_POWERLOSS"

// acknowledged is an entry or turn, with the time in Unix seconds at which the server acknowledged it to a client.
// The client sent it at begun.
type acknowledged struct {
	id, turn   string
	begun, at  float64
	isTurnOnly bool
}

// recorded is a recorded run of a server, call by call, with its acknowledgements to clients.
type recorded struct {
	*crashstates.Recording
	session string
	acks    []acknowledged
}

func now() float64 { return float64(time.Now().UnixNano()) / 1e9 }

// scriptedSite makes a site with only the scripted agent.
func scriptedSite(t *testing.T, options ...programtest.SiteOption) *programtest.Site {
	return programtest.New(t, append(options, programtest.WithoutAgent(), programtest.WithScripted(),
		programtest.WithEnv("HARNESS_RUNTIMES=scripted"))...)
}

// textOf returns the text of an entry, which is sometimes long.
func textOf(id string, n int) string {
	sum := fmt.Sprintf("%x", sha256.Sum256([]byte(id)))
	if n%7 == 0 {
		return strings.Repeat(sum, 140)
	}
	return strings.Repeat(sum, 4)
}

// record runs clients against a server, records its system calls, and then kills it.
func record(t *testing.T, synchronous string) *recorded {
	t.Helper()
	s := scriptedSite(t, programtest.WithEnv("HARNESS_SQLITE_SYNCHRONOUS="+synchronous))
	trace, program := filepath.Join(t.TempDir(), "trace"), filepath.Join(t.TempDir(), "traced")
	script := fmt.Sprintf("#!/bin/sh\nexec strace %s %s %s \"$@\"\n", strings.Join(crashstates.Strace(), " "), trace, s.Program)
	if err := os.WriteFile(program, []byte(script), 0o700); err != nil { //nolint:gosec // it is a program
		t.Fatal(err)
	}
	server := s.StartBinary(program)
	server.AwaitRuntime()
	r := &recorded{session: server.CreateSession(nil)}
	path := "/api/sessions/" + r.session
	var mu sync.Mutex
	acknowledge := func(one acknowledged) {
		mu.Lock()
		defer mu.Unlock()
		one.at = now()
		r.acks = append(r.acks, one)
	}
	var clients sync.WaitGroup
	for client := range 8 {
		clients.Go(func() {
			for n := range 12 {
				one := acknowledged{id: fmt.Sprintf("m-%d-%d", client, n), begun: now()}
				status, _, err := server.Try(http.MethodPost, path+"/transcript/upsert", programtest.Object{"messageId": one.id, "turnId": "t",
					"role": "assistant", "type": "agentMessage", "content": textOf(one.id, n), "status": "complete"})
				if err != nil || status != http.StatusOK {
					t.Errorf("entry %s: %d %v", one.id, status, err)
					return
				}
				acknowledge(one)
			}
		})
	}
	events := server.Follow("threadId=" + r.session)
	for range 3 {
		one := acknowledged{begun: now(), isTurnOnly: true}
		one.turn = server.Send(r.session, "REPLY[said]")
		acknowledge(one)
		events.WaitTurn(one.turn)
	}
	clients.Wait()
	if err := server.Cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	s.EndRuntimes() // strace follows them too
	<-server.Exited
	server.Eventually("strace has written all of it", func() bool { return !running(t, trace) })
	var err error
	if r.Recording, err = crashstates.Read(trace, s.DataDir); err != nil {
		t.Fatal(err)
	}
	return r
}

// running reports whether a process has a word in its command line.
func running(t *testing.T, word string) bool {
	t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(lines, func(path string) bool {
		line, err := os.ReadFile(path)
		return err == nil && strings.Contains(string(line), word)
	})
}

// loss returns a power loss at a random time: after an acknowledgement, or during a write.
func (r *recorded) loss(random *rand.Rand) (loss crashstates.Loss, at float64) {
	ways := []crashstates.Way{crashstates.Nothing, crashstates.Nothing, crashstates.Nothing, crashstates.Anything, crashstates.Anything,
		crashstates.Anything, crashstates.Anything, crashstates.Prefix, crashstates.Prefix, crashstates.Everything}
	loss = crashstates.Loss{Way: ways[random.IntN(len(ways))], Strict: random.IntN(3) == 0}
	if random.IntN(2) == 0 {
		at = r.acks[random.IntN(len(r.acks))].at
		loss.Line = r.LineAt(at)
		return loss, at
	}
	moments := r.Moments()
	loss.Line = moments[random.IntN(len(moments))] + random.IntN(2)
	return loss, r.TimeOf(loss.Line)
}

// after starts a server on the state after a power loss, and returns the errors in the data that it shows.
func (r *recorded) after(t *testing.T, random *rand.Rand, loss crashstates.Loss, at float64) (wrong []string) {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "data")
	if err := r.Write(random, loss, folder); err != nil {
		t.Fatal(err)
	}
	server := scriptedSite(t, programtest.WithDataDir(folder)).Start()
	defer server.Kill()
	var status int
	var answer programtest.Object
	server.Eventually("the turn of the agent that is gone has ended", func() bool {
		status, answer = server.Call(http.MethodGet, "/api/sessions/"+r.session, nil)
		return status != http.StatusServiceUnavailable && programtest.Text(answer, "session", "activeTurnId") == ""
	})
	found, turns := map[string]string{}, map[string]bool{}
	entries, _ := answer["transcript"].([]any)
	for _, one := range entries {
		found[programtest.Text(one, "messageId")] = programtest.Text(one, "content")
		turns[programtest.Text(one, "turnId")] = true
	}
	for _, ack := range r.acks {
		number, _ := strconv.Atoi(ack.id[strings.LastIndex(ack.id, "-")+1:])
		content, there := found[ack.id]
		switch {
		case ack.isTurnOnly && ack.at <= at && !turns[ack.turn]:
			wrong = append(wrong, fmt.Sprintf("turn %s is lost (%d)", ack.turn, status))
		case ack.isTurnOnly:
		case ack.at <= at && !there:
			wrong = append(wrong, fmt.Sprintf("%s is lost (%d)", ack.id, status))
		case there && content != textOf(ack.id, number):
			wrong = append(wrong, fmt.Sprintf("%s says %.40q", ack.id, content))
		case there && ack.begun > at:
			wrong = append(wrong, ack.id+" was not sent yet")
		}
	}
	return wrong
}

// EV-03: a power loss may keep, tear or drop any data that was not synced. The server still starts by itself, with
// all acknowledged data. With NORMAL, which does not sync, it must lose data, otherwise the states prove nothing.
func TestNothingAcknowledgedIsLostWithThePower(t *testing.T) {
	t.Parallel()
	states := 30
	if more := os.Getenv(powerlossStates); more != "" {
		var err error
		if states, err = strconv.Atoi(more); err != nil {
			t.Fatal(err)
		}
	}
	run, control := record(t, "FULL"), record(t, "NORMAL")
	var lost atomic.Int64
	const controls = 4
	t.Run("states", func(t *testing.T) {
		for n := range states + controls {
			random := rand.New(rand.NewPCG(9, uint64(n))) //nolint:gosec // no secret
			t.Run(strconv.Itoa(n), func(t *testing.T) {
				t.Parallel()
				if n < states {
					loss, at := run.loss(random)
					if wrong := run.after(t, random, loss, at); len(wrong) > 0 {
						t.Errorf("%+v: %d things are wrong: %.300s", loss, len(wrong), strings.Join(wrong, "; "))
					}
					return
				}
				at := control.acks[len(control.acks)/2+random.IntN(len(control.acks)/2)].at
				if len(control.after(t, random, crashstates.Loss{Line: control.LineAt(at), Way: crashstates.Nothing}, at)) > 0 {
					lost.Add(1)
				}
			})
		}
	})
	if lost.Load() == 0 {
		t.Error("a server that does not sync lost nothing")
	}
	t.Logf("%d states; with NORMAL %d of %d lost something", states, lost.Load(), controls)
}
