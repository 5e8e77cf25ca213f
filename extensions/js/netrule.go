package js

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"syscall"

	whatwg "github.com/nlnwa/whatwg-url/url"

	"harness/internal/lib/reach"
)

// netRule is one host that a manifest declares: "net:HOST" in capabilities.host. HOST is a name, an address, "*.name"
// or "*", with or without a port.
type netRule struct {
	host string // lower case, ASCII; without the "*" of a wildcard
	wild bool
	port string // "" means 80 and 443
}

// netRules reads the network declarations in capabilities.host and skips other kinds.
func netRules(capabilities []string) (rules []netRule, err error) {
	for _, capability := range capabilities {
		text, isNet := strings.CutPrefix(capability, "net:")
		if !isNet {
			continue
		}
		rule := netRule{}
		if text, rule.wild = strings.CutPrefix(text, "*"); rule.wild {
			text = "wildcard" + text
		}
		// The URL parser checks the syntax of names, addresses and ports.
		u, err := whatwg.Parse("ws://" + text + "/")
		if err != nil || u.Pathname() != "/" || u.Href(true) != "ws://"+u.Host()+"/" || strings.ContainsAny(u.Host(), "*") {
			return nil, fmt.Errorf(
				`capabilities.host: %q names no host; use "net:api.example.com", "net:*.example.com", "net:127.0.0.1:8080" or "net:*"`,
				capability)
		}
		rule.host, rule.port = strings.Trim(u.Hostname(), "[]"), u.Port()
		if at := strings.LastIndexByte(text, ':'); rule.port == "" && at >= 0 && text[at:] == ":80" {
			rule.port = "80" // the parser drops the default port of a scheme
		}
		if rule.wild {
			rule.host = strings.TrimPrefix(rule.host, "wildcard")
		}
		rules = append(rules, rule)
	}
	return rules, nil
}

func (r netRule) covers(host, port string) bool {
	if r.port != port && (r.port != "" || (port != "80" && port != "443")) {
		return false
	}
	if r.wild {
		return r.host == "" || strings.HasSuffix(host, r.host)
	}
	return r.host == host
}

// dialer connects to the hosts of the rules. It checks the resolved address of every connection, so that no name and
// no redirect bypasses the rules.
type dialer struct {
	rules []netRule
	// own returns this server's address, "" for none.
	own func() string
}

func (d dialer) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	covering := slices.DeleteFunc(slices.Clone(d.rules), func(r netRule) bool { return !r.covers(host, port) })
	if len(covering) == 0 {
		declaration := host
		if port != "80" && port != "443" {
			declaration = net.JoinHostPort(host, port)
		}
		return nil, fmt.Errorf(`the host is not declared: add "net:%s" to capabilities.host in the manifest`, declaration)
	}
	named := slices.ContainsFunc(covering, func(r netRule) bool { return !r.wild })
	withPort := slices.ContainsFunc(covering, func(r netRule) bool { return !r.wild && r.port != "" })
	connector := net.Dialer{Control: func(_, address string, _ syscall.RawConn) error {
		return d.check(address, named, withPort)
	}}
	return connector.DialContext(ctx, network, address)
}

// check refuses addresses that a declaration does not cover. A declaration must name this machine with a port, and a
// private network by the host's name. It can never reach the server's own address, because the server trusts callers on
// this machine.
func (d dialer) check(address string, named, withPort bool) error {
	parsed, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	ip := parsed.Addr().Unmap().WithZone("")
	near := reach.Of(ip)
	switch {
	case near == reach.Never:
		return fmt.Errorf("%s is link-local, a service of a cloud for its machines, or no host's address: no extension may fetch from it", ip)
	case near == reach.Machine && d.isOwn(parsed.Port()):
		return fmt.Errorf("%s is this server itself: use the tools a handler is given", address)
	case near == reach.Machine && !withPort:
		return fmt.Errorf(`%s is this machine: declare it with its port, as in "net:localhost:%d"`, ip, parsed.Port())
	case near == reach.Private && !named:
		return fmt.Errorf("%s is an address of a private network: declare the host by its name, without a wildcard", ip)
	}
	return nil
}

func (d dialer) isOwn(port uint16) bool {
	if d.own == nil {
		return false
	}
	_, own, err := net.SplitHostPort(d.own())
	return err == nil && own == strconv.Itoa(int(port))
}
