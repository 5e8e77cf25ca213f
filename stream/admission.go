package stream

import (
	"fmt"
	"net/http"
	"net/netip"
	"strconv"
	"sync"
)

// admission bounds the open connections, in total and per address; 0 means no bound.
type admission struct {
	total, each int

	mu   sync.Mutex
	open int
	of   map[netip.Prefix]int
}

func newAdmission(total, each int) *admission {
	return &admission{total: total, each: each, of: map[netip.Prefix]int{}}
}

// refusal is the reason for refusing a handshake.
type refusal struct {
	status        int
	reason        string // for the metrics
	code, message string
	retryAfter    int // seconds
}

// enter reserves a slot for a connection from remote (host:port); leave releases it and must be called once.
func (a *admission) enter(remote string) (leave func(), refused *refusal) {
	from := networkOf(remote)
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.each > 0 && a.of[from] >= a.each:
		return nil, &refusal{
			http.StatusTooManyRequests, "address", "too_many_connections_per_address",
			fmt.Sprintf("%d streams are open from this address; close one, or raise streams-per-address of HARNESS_LIMITS", a.each), 5,
		}
	case a.total > 0 && a.open >= a.total:
		return nil, &refusal{
			http.StatusServiceUnavailable, "connections", "too_many_connections",
			fmt.Sprintf("%d streams are open on this server; try again, or raise streams of HARNESS_LIMITS", a.total), 5,
		}
	}
	a.open++
	a.of[from]++
	return func() { a.exit(from) }, nil
}

func (a *admission) exit(from netip.Prefix) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.open--
	if a.of[from]--; a.of[from] == 0 {
		delete(a.of, from)
	}
}

func (r *refusal) answer(w http.ResponseWriter) {
	w.Header().Set("Retry-After", strconv.Itoa(r.retryAfter))
	refuse(w, r.status, r.code, r.message)
}

// networkOf returns the network that the bound per address counts: an IPv4 address, or a /64, in which one IPv6 host
// can choose any address. Peers without an address share one slot.
func networkOf(remote string) netip.Prefix {
	at, err := netip.ParseAddrPort(remote)
	if err != nil {
		return netip.Prefix{}
	}
	address, bits := at.Addr().Unmap().WithZone(""), 64
	if address.Is4() {
		bits = 32
	}
	from, err := address.Prefix(bits)
	if err != nil {
		return netip.Prefix{}
	}
	return from
}
