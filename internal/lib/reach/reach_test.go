package reach

import (
	"errors"
	"net"
	"net/netip"
	"testing"
)

// Every spelling of an address is classified by its target.
func TestHowNearAnAddressIs(t *testing.T) {
	t.Parallel()
	own := func() ([]net.Addr, error) {
		return []net.Addr{&net.IPNet{IP: net.ParseIP("198.41.0.4"), Mask: net.CIDRMask(24, 32)},
			&net.IPNet{IP: net.ParseIP("2a00::1"), Mask: net.CIDRMask(64, 128)}}, nil
	}
	for address, want := range map[string]Reach{
		"1.1.1.1": Public, "8.8.8.8": Public, "2606:4700::1111": Public, "192.88.98.1": Public, "198.41.0.5": Public,
		"168.63.129.17": Public, "2a00::2": Public, "2003::1": Public,
		"127.0.0.1": Machine, "127.9.9.9": Machine, "::1": Machine, "0.0.0.0": Machine, "0.1.2.3": Machine, "::": Machine,
		"::ffff:127.0.0.1": Machine, "198.41.0.4": Machine, "::ffff:198.41.0.4": Machine, "2a00::1": Machine,
		"64:ff9b::7f00:1": Machine, "64:ff9b::c629:4": Machine, "2002:7f00:1::": Machine, "::127.0.0.1": Machine,
		"10.0.0.1": Private, "172.16.0.1": Private, "192.168.1.1": Private, "fc00::1": Private, "fd12::1": Private,
		"100.64.0.1": Private, "192.88.99.1": Private, "fec0::1": Private, "feff::1": Private, "::8.8.8.8": Private,
		"64:ff9b::808:808": Private, "2002:808:808::1": Private, "192.0.2.1": Private, "2001:db8::1": Private,
		"198.18.0.1": Private, "64:ff9b:1::1": Private,
		"169.254.169.254": Never, "fe80::1": Never, "fe80::1%lo": Never, "224.0.0.1": Never, "ff02::1": Never,
		"255.255.255.255": Never, "100.100.100.200": Never, "168.63.129.16": Never, "192.0.0.192": Never, "fd00:ec2::254": Never,
		"fd00:ec2::23": Never, "fd20:ce::254": Never, "::ffff:169.254.169.254": Never, "64:ff9b::a9fe:a9fe": Never,
		"2002:a9fe:a9fe::1": Never, "::169.254.169.254": Never, "64:ff9b::a83f:8110": Never, "::ffff:168.63.129.16": Never,
	} {
		if got := of(netip.MustParseAddr(address), own); got != want {
			t.Errorf("%s is %d, want %d", address, got, want)
		}
	}
	if Of(netip.Addr{}) != Never {
		t.Error("no address is somewhere")
	}
	if of(netip.MustParseAddr("1.1.1.1"), func() ([]net.Addr, error) { return nil, errors.New("no list") }) != Machine {
		t.Error("with no list of this machine's addresses one is known to be another's")
	}
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, address := range addresses {
		ip := netip.MustParsePrefix(address.String()).Addr()
		if got := Of(ip); got > Machine {
			t.Errorf("%s is this machine's, and is %d", ip, got)
		}
	}
}
