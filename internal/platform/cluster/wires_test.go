//go:build cluster && linux

package cluster_test

import (
	"math/rand/v2"

	"harness/tests/dbtest"
)

// wires are what connects the servers of a standbyTrio with each other and with their database, and how it breaks.
type wires interface {
	// lose loses a machine of the database, restore gives it back, with nothing on it.
	lose(member int)
	restore(member int)
	// lead has the address at which the third server looks for the primary lead to a member.
	lead(member int)
	// interrupt injects a random fault, and returns what it is; mend ends that.
	interrupt(chance *rand.Rand) (what string, mend func())
}

// proxies are wires in this process: what they cut breaks for both sides at once, and what they swallow is lost for good.
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

// interrupt breaks the connections of a link, or drops what is sent in a direction, and returns which.
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
