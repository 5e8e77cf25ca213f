package dbtest

import "net/url"

// Way is how one program reaches both members of a Pair, over a separate network. Its URL names both members and
// selects the one that accepts writes.
type Way struct {
	// URL is the program's DATABASE_URL.
	URL   string
	pair  *Pair
	links [2]*Proxy
}

// readWrite selects the server that accepts writes among several.
const readWrite = "&target_session_attrs=read-write"

// memberURL returns the URL of a database at one or more addresses of a network.
func memberURL(hosts string) string {
	return "postgres://harness@" + hosts + "/postgres?sslmode=disable"
}

// NetworkURL names both machines of a pair on two machines, and selects the one that accepts writes.
func (p *Pair) NetworkURL() string {
	return memberURL(p.hosts[0].Address()+":5432,"+p.hosts[1].Address()+":5432") + readWrite
}

// URLAt returns the URL of the member at an address.
func URLAt(address string) string { return memberURL(address + ":5432") }

// Way makes a new Way.
func (p *Pair) Way() *Way {
	p.t.Helper()
	w := &Way{pair: p}
	var hosts string
	for i := range w.links {
		w.links[i] = NewProxy(p.t, p.URL(i))
		parsed, err := url.Parse(w.links[i].URL)
		if err != nil {
			p.t.Fatal(err)
		}
		if i > 0 {
			hosts += ","
		}
		hosts += parsed.Host
	}
	w.URL = memberURL(hosts) + readWrite
	p.ways = append(p.ways, w)
	return w
}

// Link returns the connection to one member.
func (w *Way) Link(member int) *Proxy { return w.links[member] }

func (w *Way) lead(member int) {
	if err := w.links[member].Lead(w.pair.URL(member)); err != nil {
		w.pair.t.Fatal(err)
	}
}
