// Package reach classifies how near an address is: on the internet, in a private network, on this machine, or off
// limits to requests of agents and extensions.
//
// It owns that list, for all code that connects to an address from outside. It must never know the caller.
package reach

import (
	"net"
	"net/netip"
	"slices"
)

// Reach is how near an address is.
type Reach int

// The values range from always refused to public.
const (
	// Never is link-local, a cloud service that hands out credentials, multicast, and anything that is not a host
	// address.
	Never Reach = iota
	// Machine is this machine, by any of its addresses.
	Machine
	// Private is a network outside the internet.
	Private
	// Public is everything else.
	Public
)

// Of returns how near an address is. An IPv6 address that embeds an IPv4 address is at most as far as that address.
func Of(ip netip.Addr) Reach { return of(ip, net.InterfaceAddrs) }

func of(ip netip.Addr, own func() ([]net.Addr, error)) Reach {
	ip = ip.Unmap().WithZone("")
	switch {
	case !ip.IsValid(), ip.IsLinkLocalUnicast(), ip.IsMulticast(), within(ip, never()):
		return Never
	case ip.IsLoopback(), ip.IsUnspecified(), within(ip, []string{"0.0.0.0/8"}), isInterface(ip, own):
		return Machine // 0.0.0.0 connects to this machine, too
	}
	if carried, is := carriedBy(ip); is {
		return min(Private, of(carried, own))
	}
	if ip.IsPrivate() || within(ip, private()) {
		return Private
	}
	return Public
}

// never lists the cloud services that give each machine its credentials, unless they are link-local, and ranges
// reserved for future use.
func never() []string {
	return []string{
		"fd00:ec2::/32",      // AWS
		"fd20:ce::254/128",   // Google Cloud
		"fd00:42::42/128",    // Scaleway
		"100.100.100.200/32", // Alibaba Cloud
		"168.63.129.16/32",   // Azure
		"192.0.0.192/32",     // Oracle Cloud
		"192.80.8.124/32",    // Equinix Metal
		"240.0.0.0/4",
	}
}

// private lists shared networks, test and example networks, deprecated IPv6 ranges, and relays.
func private() []string {
	return []string{"100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24",
		"203.0.113.0/24", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "3fff::/20", "5f00::/16", "fec0::/10"}
}

func within(ip netip.Addr, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return netip.MustParsePrefix(p).Contains(ip) })
}

// carriedBy returns the IPv4 address embedded in an IPv6 address: compatible (::/96), translated (64:ff9b::/96) or
// 6to4.
func carriedBy(ip netip.Addr) (netip.Addr, bool) {
	if !ip.Is6() {
		return netip.Addr{}, false
	}
	bytes := ip.As16()
	switch {
	case within(ip, []string{"::/96", "64:ff9b::/96"}):
		return netip.AddrFrom4([4]byte(bytes[12:])), true
	case within(ip, []string{"2002::/16"}):
		return netip.AddrFrom4([4]byte(bytes[2:6])), true
	}
	return netip.Addr{}, false
}

// isInterface reports whether an address is one of this machine's. If it cannot list them, it reports true for every
// address.
func isInterface(ip netip.Addr, list func() ([]net.Addr, error)) bool {
	addresses, err := list()
	if err != nil {
		return true
	}
	return slices.ContainsFunc(addresses, func(a net.Addr) bool {
		network, ok := a.(*net.IPNet)
		if !ok {
			return false
		}
		own, ok := netip.AddrFromSlice(network.IP)
		return ok && own.Unmap() == ip
	})
}
