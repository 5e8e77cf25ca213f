//go:build cluster && linux

package cluster_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"

	"harness/internal/dbtest"
)

// randomFaults is how many faults one seed has.
const randomFaults = 5

// Faults one after the other, chosen by a seed: HARNESS_SEED, or of HARNESS_SEEDS any, or always the same. Whatever comes,
// within the grace, no acknowledged write, turn, approval or job is lost, and reads are those of one register.
func TestFaultsAtRandom(t *testing.T) {
	t.Parallel()
	first, seeds := uint64(200), 1 // one whose faults are all different
	if given := os.Getenv("HARNESS_SEEDS"); given != "" {
		var err error
		if seeds, err = strconv.Atoi(given); err != nil || seeds < 1 {
			t.Fatalf("HARNESS_SEEDS is %q", given)
		}
		first = rand.Uint64() //nolint:gosec // it decides nothing but the order of a test
	}
	if given, err := strconv.ParseUint(os.Getenv("HARNESS_SEED"), 10, 64); err == nil {
		first = given
	}
	for i := range seeds {
		seed := first + uint64(i)
		if !t.Run(fmt.Sprintf("HARNESS_SEED=%d", seed), func(t *testing.T) { faultsAtRandom(t, seed) }) {
			return // its history is the one to look at
		}
	}
}

func faultsAtRandom(t *testing.T, seed uint64) {
	chance := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // it decides nothing but the order of a test
	p := newStandbyTrio(t, "")
	p.enqueue()
	values, said := p.useRegisters(p.a, p.b), p.converse()
	began := time.Now()
	links := []func() *dbtest.Proxy{
		func() *dbtest.Proxy { return p.ways[0].Link(p.pair.Primary()) },
		func() *dbtest.Proxy { return p.ways[1].Link(p.pair.Primary()) },
		func() *dbtest.Proxy { return p.address },
	}
	for range randomFaults {
		node, pause := chance.IntN(3), time.Duration(500+chance.IntN(3500))*time.Millisecond
		name := nodeName(node)
		what := []dbtest.Direction{dbtest.Both, dbtest.ToServer, dbtest.ToClient}[chance.IntN(3)]
		switch fault := chance.IntN(7); fault {
		case 0:
			t.Logf("%6s: the primary is lost", time.Since(began).Round(time.Millisecond))
			p.failOver()
		case 1:
			t.Logf("%6s: the server of node a is killed and started again", time.Since(began).Round(time.Millisecond))
			p.a.Kill()
			again := p.siteA.Start()
			p.replacing.Lock()
			p.a = again
			p.replacing.Unlock()
		case 2:
			t.Logf("%6s: the server of node %s stands still for %s", time.Since(began).Round(time.Millisecond), name, pause)
			process := p.node(node).Cmd.Process
			for _, signal := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGCONT} {
				if err := process.Signal(signal); err != nil {
					t.Fatal(err)
				}
				if signal == syscall.SIGSTOP {
					<-time.After(pause)
				}
			}
		case 3, 4:
			t.Logf("%6s: node %s is %s its database for %s", time.Since(began).Round(time.Millisecond), name,
				interrupt(links[node](), fault == 3, what), pause)
			<-time.After(pause)
			links[node]().Mend()
		case 5:
			t.Logf("%6s: the primary is cut off from its standby for %s", time.Since(began).Round(time.Millisecond), pause)
			p.pair.Isolate()
			<-time.After(pause)
			p.pair.Rejoin()
		case 6:
			t.Logf("%6s: the others are %s node %s for %s", time.Since(began).Round(time.Millisecond),
				interrupt(p.ports[node], pause < 2*time.Second, what), name, pause)
			<-time.After(pause)
			p.ports[node].Mend()
		}
		p.awaitAll(p.wrote, time.Now(), 0, 1, 2)
	}
	p.checkConversation(said)
	p.checkRegisters(values)
	p.goOn()
	p.report()
}

// interrupt breaks the connections of a link, or has it swallow what is said in a direction, and tells which.
func interrupt(link *dbtest.Proxy, cut bool, what dbtest.Direction) string {
	switch {
	case cut:
		link.Cut()
		return "cut off from"
	case what == dbtest.ToServer:
		link.Swallow(what)
		return "not heard by"
	case what == dbtest.ToClient:
		link.Swallow(what)
		return "hearing nothing of"
	}
	link.Swallow(what)
	return "swallowed on the way to"
}
