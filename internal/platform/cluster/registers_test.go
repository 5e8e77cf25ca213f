//go:build cluster && linux

package cluster_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"

	"harness/tests/programtest"
)

// registers are values that clients of several nodes write and read concurrently: each must behave like a single
// register.
type registers struct {
	session string
	began   time.Time
	clients sync.WaitGroup
	stop    chan struct{}
	mu      sync.Mutex
	history map[int][]access // by register
}

// access is one write or read of a register. If a write has no definite answer, it is unknown whether it took or will
// take effect.
type access struct {
	node    int
	writes  bool
	value   int
	unknown bool
	// called and answered are times since the start.
	called, answered time.Duration
}

const registerCount = 4

// useRegisters makes clients write and read registers at nodes until check. Only the named nodes read: a node at a
// standby, or at an isolated primary, may lack the latest writes.
func (p *trio) useRegisters(readers ...*programtest.Server) *registers {
	r := &registers{session: p.session(), began: time.Now(), stop: make(chan struct{}), history: map[int][]access{}}
	for n := range 3 {
		node := func() *programtest.Server { return p.node(n) }
		reads := slices.Contains(readers, node())
		for register := range registerCount {
			r.clients.Go(func() { r.use(n, node, register, true) })
			if reads {
				r.clients.Go(func() { r.use(n, node, register, false) })
			}
		}
	}
	return r
}

func (r *registers) use(n int, node func() *programtest.Server, register int, writes bool) {
	key := fmt.Sprintf("register-%d", register)
	path := "/api/sessions/" + r.session + "/settings"
	for i := 1; ; i++ {
		select {
		case <-r.stop:
			return
		case <-time.After(20 * time.Millisecond):
		}
		a := access{node: n, writes: writes, value: 3*i + n, called: time.Since(r.began)}
		var status int
		var raw []byte
		var err error
		if writes {
			status, raw, err = node().Try(http.MethodPost, path, object{"scope": "session", "key": key, "value": a.value})
		} else {
			status, raw, err = node().Try(http.MethodGet, path+"?scope=session&key="+key, nil)
		}
		a.answered = time.Since(r.began)
		a.unknown = err != nil || status != http.StatusOK
		if !writes {
			var answer struct{ Value int }
			if a.unknown || json.Unmarshal(raw, &answer) != nil {
				continue // nothing was read
			}
			a.value = answer.Value
		}
		r.mu.Lock()
		r.history[register] = append(r.history[register], a)
		r.mu.Unlock()
	}
}

// operations returns the accesses of one register in porcupine's form. A write of unknown outcome ends when the first
// reader that saw it got its answer. It is omitted if no reader saw it, which weakens no requirement.
func operations(history []access) (all []porcupine.Operation) {
	observed := map[int]time.Duration{}
	for _, a := range history {
		if first, is := observed[a.value]; !a.writes && (!is || a.answered < first) {
			observed[a.value] = a.answered
		}
	}
	for _, a := range history {
		if a.writes && a.unknown {
			first, is := observed[a.value]
			if !is {
				continue
			}
			a.answered = max(first, a.called)
		}
		all = append(all, porcupine.Operation{ClientId: a.node, Input: a, Call: int64(a.called), Return: int64(a.answered)})
	}
	return all
}

// overwritten finds a stale read: another write, which started after the value was written, had replaced the value
// before the read started. Not every violation of linearizability is of this kind.
func overwritten(history []access) string {
	written := map[int]access{}
	for _, a := range history {
		if a.writes {
			written[a.value] = a
		}
	}
	for _, read := range history {
		old, is := written[read.value]
		if read.writes || !is || old.unknown {
			continue
		}
		for _, since := range written {
			if !since.unknown && since.called > old.answered && since.answered < read.called {
				return fmt.Sprintf("node %s read at %s what node %s had written by %s, though node %s wrote another value from %s to %s",
					nodeName(read.node), read.called, nodeName(old.node), old.answered, nodeName(since.node), since.called, since.answered)
			}
		}
	}
	return "no read alone shows it"
}

// register returns the model of one register: a read returns the last written value, 0 before the first write.
func register() porcupine.Model {
	return porcupine.Model{
		Init: func() any { return 0 },
		Step: func(state, input, _ any) (bool, any) {
			a := input.(access)
			if a.writes {
				return true, a.value
			}
			return a.value == state.(int), state
		},
		DescribeOperation: func(input, _ any) string {
			a := input.(access)
			if a.writes {
				return fmt.Sprintf("node %s writes %d (unknown: %v)", nodeName(a.node), a.value, a.unknown)
			}
			return fmt.Sprintf("node %s reads %d", nodeName(a.node), a.value)
		},
	}
}

// checkPatience bounds the check of one register's history.
const checkPatience = 20 * time.Second

// checkRegisters ends the use of the registers. Porcupine then looks for an order in which one register would give the
// same answers.
func (p *trio) checkRegisters(r *registers) {
	p.t.Helper()
	close(r.stop)
	r.clients.Wait()
	reads, writes, unknown, undecided := 0, 0, 0, 0
	for n, history := range r.history {
		for _, a := range history {
			switch {
			case a.writes && a.unknown:
				unknown++
			case a.writes:
				writes++
			default:
				reads++
			}
		}
		switch porcupine.CheckOperationsTimeout(register(), operations(history), checkPatience) {
		case porcupine.Illegal:
			p.violated("register %d is not linearizable (%d accesses): %s", n, len(history), overwritten(history))
		case porcupine.Unknown:
			undecided++
		case porcupine.Ok:
		}
	}
	if reads == 0 || writes == 0 {
		p.violated("registers were read %d times and written %d times", reads, writes)
	}
	if undecided > registerCount/2 {
		p.violated("%d of %d registers are undecided", undecided, registerCount)
	}
	p.t.Logf("%d registers: %d writes, %d reads, %d writes of unknown outcome; %d undecided after %s", registerCount, writes, reads,
		unknown, undecided, checkPatience)
}
