package remote

import (
	"net"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"harness/internal/runtime"
)

// Local returns the URL of the configured server on this machine. It also returns the token for the named server on
// this machine; "" means the configured one.
type Local func(named string) (base, token string, err error)

// Connection holds the command line's flags for the server to contact.
type Connection struct{ base, tokenFile, profile string }

// AddFlags adds --url, --token-file and --profile.
func (c *Connection) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&c.base, "url", "",
		"base URL of the server (default: HARNESS_URL, else where this machine's configuration serves)")
	flags.StringVar(&c.tokenFile, "token-file", "",
		"file with the server's token, readable by you alone (default: HARNESS_TOKEN, then HARNESS_TOKEN_FILE)")
	flags.StringVar(&c.profile, "profile", "",
		"a server of harness profiles (default: HARNESS_PROFILE, then the one harness profiles use says)")
}

// Find returns the server's URL, without a trailing slash, and its token, "" for none. It tries, in this order: the
// flags; HARNESS_URL, HARNESS_TOKEN and HARNESS_TOKEN_FILE; a profile, whose token is sent only to its server; this
// machine's configuration, whose token is sent only to servers on this machine. It reads the configuration only if
// needed. Errors are *UsageError, and the errors of local.
func (c *Connection) Find(local Local) (base, token string, err error) {
	base, own, err := c.server()
	if err != nil {
		return "", "", err
	}
	if here := base == ""; here || own == "" && isLoopback(base) {
		var served string
		served, own, err = local(base)
		if err != nil && here {
			return "", "", err
		}
		if here {
			base = served
		}
	}
	if token, err = c.token(); err != nil {
		return "", "", err
	}
	if token == "" {
		token = own
	}
	return strings.TrimSuffix(base, "/"), token, nil
}

// server returns the named server, "" for none, with the token of its profile or, within a session, the session's
// bearer.
func (c *Connection) server() (base, token string, err error) {
	named, from := c.profile, "--profile"
	if named == "" && c.base == "" {
		named, from = os.Getenv("HARNESS_PROFILE"), "HARNESS_PROFILE"
	}
	if base = c.base; base == "" && c.profile == "" {
		// A program within a session has both in its environment: its server's port for agents, and its bearer for that
		// port.
		if base = os.Getenv(runtime.DoorURLVariable); base != "" {
			token = os.Getenv(runtime.DoorBearerVariable)
		}
	}
	if base != "" && named != "" {
		return "", "", usage("both a URL and %s %s are set; choose one", from, named)
	}
	if base != "" {
		return base, token, nil
	}
	all, err := readProfiles()
	if err != nil {
		return "", "", err
	}
	of, name, found, err := all.find(named)
	if err != nil || !found {
		return "", "", err
	}
	token, err = storedToken(of, name)
	return of.URL, token, err
}

// token returns the token named for other servers, "" for none.
func (c *Connection) token() (string, error) {
	path := c.tokenFile
	if path == "" {
		if token := os.Getenv("HARNESS_TOKEN"); token != "" {
			return token, nil
		}
		path = os.Getenv("HARNESS_TOKEN_FILE")
	}
	if path == "" {
		return "", nil
	}
	return readToken(path)
}

// readToken reads a token from a file that no other user can read.
func readToken(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", usage("cannot read the token file: %w", err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return "", usage("other users can read %s; run chmod 600 %s", path, path)
	}
	text, err := os.ReadFile(path) //nolint:gosec // the user names it
	if err != nil {
		return "", usage("cannot read the token file: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}

func isLoopback(base string) bool {
	parsed, err := url.Parse(base)
	if err != nil {
		return false
	}
	ip := net.ParseIP(parsed.Hostname())
	return parsed.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}
