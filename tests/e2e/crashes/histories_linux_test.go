package crashes

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"harness/tests/dbtest"
	"harness/tests/programtest"
)

// historiesEnv is how many random histories run on each engine. historiesSeed is the seed of the random choices.
const (
	historiesEnv  = "HARNESS_HISTORIES"
	historiesSeed = "HARNESS_HISTORIES_SEED"
)

// history is the sequence of disturbances to the server and the runtime of a job.
type history struct {
	*programtest.Site
	server *programtest.Server
	random *rand.Rand
	frozen []int // runtimes stopped by SIGSTOP
	killed int   // the runtime that was killed last
	// outages are the ways to make the store refuse.
	outages []outage
}

// disturbances returns the steps of a history. Each leaves a ready server.
func disturbances() []func(*history) string {
	return []func(*history) string{
		(*history).killServer, (*history).killServer, (*history).stopServer, (*history).freezeServer, (*history).killRuntime,
		(*history).freezeRuntime, (*history).refuse, (*history).refuse,
	}
}

func (h *history) killServer() string {
	h.server.Kill()
	h.server = h.Start()
	return "server killed"
}

// stopServer stops the server as for an upgrade: its runtime keeps running.
func (h *history) stopServer() string {
	h.server.Stop()
	h.server = h.Start()
	return "server stopped"
}

// freezeServer freezes and resumes a server, or sometimes kills it instead.
func (h *history) freezeServer() string {
	h.signal(h.server.Cmd.Process.Pid, syscall.SIGSTOP)
	h.wait()
	if h.random.IntN(3) == 0 {
		h.killServer()
		return "server frozen and killed"
	}
	h.signal(h.server.Cmd.Process.Pid, syscall.SIGCONT)
	return "server frozen"
}

func (h *history) killRuntime() string {
	if pid := h.server.RuntimePID(); pid > 0 {
		_ = syscall.Kill(pid, syscall.SIGKILL) // it may have just ended
		h.killed = pid
	}
	return "codex killed"
}

// freezeRuntime lasts until thaw, so the next steps find a runtime that does not respond.
func (h *history) freezeRuntime() string {
	if pid := h.server.RuntimePID(); pid > 0 && syscall.Kill(pid, syscall.SIGSTOP) == nil {
		h.frozen = append(h.frozen, pid)
	}
	return "codex frozen"
}

// refuse makes the store refuse for a while, and sometimes kills the server during that.
func (h *history) refuse() string {
	h.T.Helper()
	if h.random.IntN(3) == 0 {
		o := h.outages[0]
		o.refuse(h.server)
		h.wait()
		h.server.Kill()
		o.mend(h.server)
		h.server = h.Start()
		return o.name + " and server killed"
	}
	o := h.outages[h.random.IntN(len(h.outages))]
	o.refuse(h.server)
	h.wait()
	o.mend(h.server)
	h.server.AwaitRuntime()
	return o.name
}

// waitRuntime waits for a usable runtime other than the killed one, because the server may not have noticed the kill
// yet.
func (h *history) waitRuntime() {
	h.T.Helper()
	h.server.Eventually("another codex is there", func() bool { return h.server.RuntimePID() != h.killed })
	h.server.WaitRuntime()
}

func (h *history) thaw() {
	for _, pid := range h.frozen {
		_ = syscall.Kill(pid, syscall.SIGCONT) // it may have been killed in the meantime
	}
	h.frozen = nil
}

func (h *history) signal(pid int, signal syscall.Signal) {
	h.T.Helper()
	if err := syscall.Kill(pid, signal); err != nil {
		h.T.Fatal(err)
	}
}

// wait waits for a random time, often short, to hit the steps before the job's turn.
func (h *history) wait() {
	<-time.After(time.Duration(h.random.IntN([]int{60, 700}[h.random.IntN(2)])) * time.Millisecond)
}

// Random histories of jobs with four kinds of disturbances: kills and freezes of the server and of codex, stops that
// leave the runtimes running, and a store that refuses (disk full, I/O errors, read-only, connections). Each
// instruction ran once, or its job reports that this is unknown, and none ran twice. The test logs the random
// choices, but not the timing.
func TestRandomEndsRunNoInstructionTwice(t *testing.T) {
	t.Parallel()
	rounds, seed := number(t, historiesEnv, 6), number(t, historiesSeed, 14)
	for n, engine := range dbtest.Engines() {
		t.Run(string(engine), func(t *testing.T) {
			t.Parallel()
			s, all := outages(t, engine, "96m")
			addErrands(s)
			s.Env = append(s.Env, "HARNESS_KEEP_RUNTIMES=true")
			h := &history{Site: s, server: s.Start(), outages: all,
				random: rand.New(rand.NewPCG(uint64(seed), uint64(n)))} //nolint:gosec // positive
			session := h.server.CreateSession(nil)
			ends := map[string]int{}
			for round := range rounds {
				name := fmt.Sprintf("n%d", round)
				h.waitRuntime()
				errand(h.server, session, name)
				jobOf(h.server, session, name)
				var done []string
				for range 1 + h.random.IntN(3) {
					h.wait()
					all := disturbances()
					done = append(done, all[h.random.IntN(len(all))](h))
				}
				h.wait()
				h.thaw()
				s.Model.Release(name)
				job := ended(h.server, session, name)
				t.Logf("%s: %s: %s %s after %s attempts", name, strings.Join(done, ", "), programtest.Text(job, "state"), programtest.Text(job, "error"),
					programtest.Text(job, "attempts"))
				requireOnceOrReported(s, job, name)
				ends[programtest.Text(job, "state")]++
			}
			if ends["completed"] == 0 {
				t.Error("no job completed")
			}
			t.Logf("%d histories of seed %d: %v", rounds, seed, ends)
		})
	}
}

// number returns a setting of the test run.
func number(t *testing.T, name string, otherwise int) int {
	t.Helper()
	said := os.Getenv(name)
	if said == "" {
		return otherwise
	}
	value, err := strconv.Atoi(said)
	if err != nil || value < 1 {
		t.Fatalf("%s is %q and not a number above 0", name, said)
	}
	return value
}

// requireOnceOrReported checks the promise: an instruction ran once and its job completed, or it ran at most once and
// the job reports what happened.
func requireOnceOrReported(s *programtest.Site, job programtest.Object, name string) {
	s.T.Helper()
	ran := ran(s, name)
	switch programtest.Text(job, "state") {
	case "completed":
		if ran != name+"\n" {
			s.T.Errorf("%s completed and wrote %q", name, ran)
		}
	case "failed":
		why := programtest.Text(job, "error")
		begun := strings.Contains(why, "outcome unknown") || strings.Contains(why, "interrupted")
		if !begun && !strings.Contains(why, "was not begun") && why != "recovery_max_attempts_exceeded" ||
			strings.Count(ran, name) > 1 || !begun && ran != "" {
			s.T.Errorf("%s failed (%s) and wrote %q", name, why, ran)
		}
	default:
		s.T.Errorf("%s ended as %v and wrote %q", name, job, ran)
	}
}
