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
)

// randomFaults is the number of faults per seed.
const randomFaults = 5

// A sequence of faults, chosen by a seed: HARNESS_SEED, one of HARNESS_SEEDS random seeds, or a fixed one. Whatever the
// faults, within the grace no acknowledged write, turn, approval or job is lost, and reads are those of one register.
func TestFaultsAtRandom(t *testing.T) {
	t.Parallel()
	if os.Getenv(manySeeds) != "" && asRoot(t) {
		t.Log("many seeds are tried on a network")
		return
	}
	faultsOfSeeds(t, 478, func(t *testing.T) *standbyTrio { return newStandbyTrio(t, "") })
}

// seedOfTest is the prefix of the name of a test of one seed, which follows it.
const seedOfTest = "HARNESS_SEED="

// manySeeds is how many random seeds are tried; the fixed one if it is not set.
const manySeeds = "HARNESS_SEEDS"

// TestFaultsAtRandomOnANetwork is TestFaultsAtRandom with the links in the kernel.
func TestFaultsAtRandomOnANetwork(t *testing.T) {
	t.Parallel()
	if asRoot(t) {
		faultsOfSeeds(t, 758, newNetworkTrio)
	}
}

// faultsOfSeeds tries the fixed seed, whose faults are all different, or the requested number of other seeds.
func faultsOfSeeds(t *testing.T, first uint64, system func(t *testing.T) *standbyTrio) {
	seeds := 1
	if given := os.Getenv(manySeeds); given != "" {
		var err error
		if seeds, err = strconv.Atoi(given); err != nil || seeds < 1 {
			t.Fatalf("%s is %q", manySeeds, given)
		}
		first = rand.Uint64() //nolint:gosec // it decides nothing but the order of a test
	}
	if given, err := strconv.ParseUint(os.Getenv("HARNESS_SEED"), 10, 64); err == nil {
		first = given
	}
	for i := range seeds {
		seed := first + uint64(i)
		if !t.Run(seedOfTest+strconv.FormatUint(seed, 10), func(t *testing.T) { faultsAtRandom(system(t), seed) }) {
			return // the history of this seed is the one to examine
		}
	}
}

func faultsAtRandom(p *standbyTrio, seed uint64) {
	chance := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // it decides nothing but the order of a test
	p.enqueue()
	values, said := p.useRegisters(p.a, p.b), p.converse()
	began := time.Now()
	for range randomFaults {
		p.fault(chance, func(what string) { p.t.Logf("%6s: %s", time.Since(began).Round(time.Millisecond), what) })
		p.awaitAll(p.wrote, time.Now(), 0, 1, 2)
	}
	p.checkConversation(said)
	p.checkRegisters(values)
	p.goOn()
	p.report()
}

// fault injects one random fault and ends it.
func (p *standbyTrio) fault(chance *rand.Rand, report func(what string)) {
	p.t.Helper()
	node, lasts := chance.IntN(3), time.Duration(500+chance.IntN(3500))*time.Millisecond
	if chance.IntN(6) == 0 {
		lasts += leaseOfNodes // a lease expires
	}
	switch chance.IntN(10) {
	case 0:
		report("the primary is lost")
		p.failOver()
	case 1:
		report("the server of node a is killed and started again")
		p.a.Kill()
		again := p.siteA.Start()
		p.replacing.Lock()
		p.a = again
		p.replacing.Unlock()
	case 2:
		report(fmt.Sprintf("the server of node %s stands still for %s", nodeName(node), lasts))
		server := p.node(node)
		p.signal(server, syscall.SIGSTOP)
		<-time.After(lasts)
		p.signal(server, syscall.SIGCONT)
	case 3:
		by := []time.Duration{time.Hour, 26 * time.Hour, 40 * 24 * time.Hour}[chance.IntN(3)] * time.Duration(1-2*chance.IntN(2))
		report(fmt.Sprintf("the clock of node %s is wrong by %s from now on", nodeName(node), by))
		p.clocks[node].move(by)
		<-time.After(lasts)
	case 4:
		if p.disk == nil {
			return
		}
		report(fmt.Sprintf("the disk of node a is full for %s", lasts))
		p.disk.Fill()
		<-time.After(lasts)
		p.disk.Free()
	default:
		what, mend := p.wires.interrupt(chance)
		report(fmt.Sprintf("%s for %s", what, lasts))
		<-time.After(lasts)
		mend()
	}
}
