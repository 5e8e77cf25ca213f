//go:build cluster && linux

package cluster_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"harness/tests/dbtest"
	"harness/tests/nettest"
)

// asRoot reports whether the test can create networks and disks. Running as root, a missing facility fails the test.
func asRoot(t *testing.T) bool {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Log("NOT ROOT: links are proxies of this process and no network of namespaces in the kernel, and no disk is filled")
		return false
	}
	return true
}

// network is a set of wires in the kernel: each server and each Postgres is a separate machine.
type network struct {
	*standbyTrio
	net   *nettest.Network
	nodes [3]*nettest.Host
	dbs   [2]*nettest.Host
}

// newNetworkTrio is newStandbyTrio on a network. The first two servers know the addresses of both Postgres servers. The
// third knows an address that moves to the primary.
func newNetworkTrio(t *testing.T) *standbyTrio {
	t.Helper()
	n := network{net: nettest.New(t)}
	n.dbs = [2]*nettest.Host{n.net.Host("database 1"), n.net.Host("database 2")}
	for i := range n.nodes {
		n.nodes[i] = n.net.Host("node " + nodeName(i))
	}
	pair := dbtest.NewPairAt(t, [2]dbtest.Host{n.dbs[0], n.dbs[1]})
	n.standbyTrio = &standbyTrio{pair: pair, wires: &n}
	n.lead(pair.Primary())
	urls := [3]string{pair.NetworkURL(), pair.NetworkURL(), dbtest.URLAt(n.net.Shared())}
	n.trio = newTrioAt(t, time.Minute, "", urls, pair.Way().URL, n.nodes)
	return n.begin()
}

// lose disconnects a machine before its processes end: no peer is notified.
func (n *network) lose(member int) {
	n.dbs[member].Unplug()
	n.pair.Kill(member)
}

func (n *network) restore(member int) { n.dbs[member].Plug() }

func (n *network) lead(member int) { n.net.Move(n.net.Shared(), n.dbs[member]) }

// interrupt drops packets between two machines in one direction or both, or loses some, delays or refuses them. It may
// also unplug a machine's cable.
func (n *network) interrupt(chance *rand.Rand) (what string, mend func()) {
	primary := n.dbs[n.pair.Primary()]
	all := []*nettest.Host{n.nodes[0], n.nodes[1], n.nodes[2], primary, n.dbs[n.pair.Standby()]}
	one, other := n.nodes[chance.IntN(3)], primary // mostly a node and its database
	if between := chance.IntN(len(all) * 2); between < len(all) {
		one, other = all[between], all[(between+1+chance.IntN(len(all)-1))%len(all)]
	}
	mend = func() { n.net.Mend(one, other) }
	switch chance.IntN(7) {
	case 0:
		one.Unplug()
		return one.Name + " has no cable", one.Plug
	case 1:
		n.net.Reset(one, other)
		n.net.Reset(other, one)
		return fmt.Sprintf("connections between %s and %s break", one.Name, other.Name), mend
	case 2:
		n.net.Drop(one, other)
		n.net.Drop(other, one)
		return fmt.Sprintf("%s and %s are cut off from each other", one.Name, other.Name), mend
	case 3:
		percent := 5 + chance.IntN(60)
		n.net.Lose(one, other, percent)
		n.net.Lose(other, one, percent)
		return fmt.Sprintf("of 100 packets between %s and %s %d are lost", one.Name, other.Name, percent), mend
	case 4:
		by := time.Duration(5+chance.IntN(400)) * time.Millisecond
		if one.Delay(by) {
			return fmt.Sprintf("what %s is sent is %s late", one.Name, by), func() { one.Delay(0) }
		}
		n.t.Log("this kernel cannot delay packets (sch_netem): some are dropped")
	case 5:
		one, other = other, one
	}
	n.net.Drop(one, other)
	return fmt.Sprintf("%s cannot reach %s", one.Name, other.Name), mend
}
