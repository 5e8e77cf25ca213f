package config

import (
	"cmp"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

func notEmpty(s string) bool { return strings.TrimSpace(s) != "" }

// zeroOrSecond accepts 0, which switches something off, and times (ms) long enough to distinguish a slow
// machine from a hung one.
func zeroOrSecond(s string) bool {
	n, err := strconv.Atoi(s)
	return err == nil && (n == 0 || n >= 1000)
}

// isHost accepts an IP address or a DNS name, without port and brackets.
func isHost(s string) bool {
	if net.ParseIP(s) != nil {
		return true
	}
	return len(s) <= 253 && regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?$`).MatchString(s)
}

// isBasePath accepts a path that needs no escaping in a URL or a page.
func isBasePath(s string) bool { return regexp.MustCompile(`^(/[A-Za-z0-9._~-]+)+$`).MatchString(s) }

func isHostPort(s string) bool {
	if isHost(s) {
		return true
	}
	if inner, ok := strings.CutPrefix(s, "["); ok && strings.HasSuffix(inner, "]") {
		return net.ParseIP(strings.TrimSuffix(inner, "]")) != nil
	}
	host, port, err := net.SplitHostPort(s)
	return err == nil && isHost(host) && isPort(port)
}

// isNodeAddress accepts the address at which other nodes find this machine; port 0 is any free port.
func isNodeAddress(s string) bool {
	host, port, err := net.SplitHostPort(s)
	if ip := net.ParseIP(host); err != nil || !isHost(host) || ip != nil && ip.IsUnspecified() {
		return false
	}
	_, err = strconv.ParseUint(port, 10, 16)
	return err == nil
}

// isNetwork accepts an IP address, or a network as address/bits.
func isNetwork(s string) bool {
	_, err := ParseNetwork(s)
	return err == nil
}

// ParseNetwork parses an entry of HARNESS_TRUSTED_PROXIES; a plain address is a network of one address.
func ParseNetwork(s string) (netip.Prefix, error) {
	if address, err := netip.ParseAddr(s); err == nil {
		return address.Prefix(address.BitLen())
	}
	return netip.ParsePrefix(s)
}

func isPort(s string) bool {
	n, err := strconv.ParseUint(s, 10, 16)
	return err == nil && n > 0
}

// isOrigin accepts the value that a browser sends in Origin: scheme, host and optionally a port.
func isOrigin(s string) bool {
	u, err := url.Parse(s)
	if err != nil || u.Scheme == "" || u.Hostname() == "" || u.User != nil {
		return false
	}
	if u.Port() != "" && !isPort(u.Port()) {
		return false
	}
	return isHost(u.Hostname()) && s == u.Scheme+"://"+u.Host
}

func isPostgresURL(s string) bool {
	u, err := url.Parse(s)
	if err != nil || (u.Scheme != "postgres" && u.Scheme != "postgresql") {
		return false
	}
	// An unescaped "#" in the password would end the URL there, and half of the password would look like a port.
	if strings.Contains(s, "#") {
		return false
	}
	// A socket folder or a host may also be given as ?host=.
	return u.Host != "" || u.Query().Get("host") != ""
}

func isToken(s string) bool {
	for _, r := range s {
		if r <= ' ' || r > '~' {
			return false
		}
	}
	return true
}

// checkRules checks combinations of values. The rules for extension access are codex-manager's start-up refusals.
// Package auth has the rule for the bind address, since it defines what counts as authentication.
func (c *Config) checkRules() error {
	if len(slices.Compact(slices.Sorted(slices.Values(c.Runtimes)))) < len(c.Runtimes) {
		return &RuleError{"HARNESS_RUNTIMES", "it must name each runtime once"}
	}
	if err := cmp.Or(c.checkAllowed(), c.checkNotify(), c.checkS3(), c.checkWorkspaces(), c.checkRoleMap()); err != nil {
		return err
	}
	e := c.Extensions
	switch e.RBACMode {
	case "header":
		if e.AllowInsecureHeaderMode {
			return nil
		}
		if !isLoopback(c.Host) {
			return &RuleError{"AGENT_EXTENSION_RBAC_MODE", `"header" needs a loopback HOST (it is "` + c.Host +
				`") or AGENT_EXTENSION_ALLOW_INSECURE_HEADER_MODE=true`}
		}
		if e.RBACHeaderSecret == "" {
			return &RuleError{"AGENT_EXTENSION_RBAC_MODE",
				`"header" needs AGENT_EXTENSION_RBAC_HEADER_SECRET or AGENT_EXTENSION_ALLOW_INSECURE_HEADER_MODE=true`}
		}
	case "jwt":
		if e.RBACJWTSecret == "" && e.RBACJWTKeys == "" {
			return &RuleError{"AGENT_EXTENSION_RBAC_MODE", `"jwt" needs AGENT_EXTENSION_RBAC_JWT_SECRET or AGENT_EXTENSION_RBAC_JWT_JWKS`}
		}
		if place, err := url.Parse(e.RBACJWTKeys); err != nil || place.Scheme == "http" && !isLoopback(place.Hostname()) ||
			place.Scheme != "" && place.Scheme != "http" && place.Scheme != "https" {
			return &RuleError{"AGENT_EXTENSION_RBAC_JWT_JWKS", "is a file or an https URL: over http anybody on the way could put keys of his in"}
		}
	}
	return nil
}

func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
