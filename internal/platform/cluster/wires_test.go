//go:build cluster && linux

package cluster_test

import (
	"math/rand/v2"

	"harness/tests/dbtest"
)

// wires are the connections of a standbyTrio's servers with each other and with their database, and the ways to break
// them.
type wires interface {
	// lose loses a machine of the database; restore brings it back, with empty disks.
	lose(member int)
	restore(member int)
	// lead directs the address at which the third server looks for the primary to a member.
	lead(member int)
	// interrupt injects a random fault, and returns its description; mend ends it.
	interrupt(chance *rand.Rand) (what string, mend func())
}

// proxies are wires in this process: cut connections break for both sides at once, and dropped data is lost
// permanently.
type proxies struct{ *standbyTrio }

func (p proxies) lose(member int) { p.pair.Kill(member) }

func (p proxies) restore(int) {}

func (p proxies) lead(member int) {
	if err := p.address.Lead(p.pair.URL(member)); err != nil {
		p.t.Fatal(err)
	}
}

func (p proxies) interrupt(chance *rand.Rand) (what string, mend func()) {
	node := chance.IntN(3)
	cut, direction := chance.IntN(2) == 0, []dbtest.Direction{dbtest.Both, dbtest.ToServer, dbtest.ToClient}[chance.IntN(3)]
	switch chance.IntN(4) {
	case 0:
		p.pair.Isolate()
		return "the primary is cut off from its standby", p.pair.Rejoin
	case 1:
		link := p.ports[node]
		return "the others are " + interrupt(link, cut, direction) + " node " + nodeName(node), link.Mend
	}
	link := p.address
	if node < 2 {
		link = p.ways[node].Link(p.pair.Primary())
	}
	return "node " + nodeName(node) + " is " + interrupt(link, cut, direction) + " its database", link.Mend
}

// interrupt breaks the connections of a link, or drops the data sent in a direction, and returns a description.
func interrupt(link *dbtest.Proxy, cut bool, what dbtest.Direction) string {
	switch {
	case cut:
		link.Cut()
		return "cut off from"
	case what == dbtest.ToServer:
		link.Swallow(what)
		return "unable to reach"
	case what == dbtest.ToClient:
		link.Swallow(what)
		return "receiving nothing from"
	}
	link.Swallow(what)
	return "swallowed on the way to"
}
