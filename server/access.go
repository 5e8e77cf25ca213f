package server

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"

	"harness/internal/platform/auth"
	"harness/internal/platform/auth/logins"
	"harness/internal/platform/auth/oidc"
	"harness/internal/platform/auth/owner"
	"harness/internal/platform/auth/tokens"
	"harness/server/datadir"
)

// access controls how people authenticate.
type access struct {
	*core
	fencing *fencing
	isLink  func(*http.Request) bool // whether a decision link alone authorizes a request

	owner  *owner.Token
	brake  *auth.Brake
	logins *auth.Logins
	tokens *tokens.Service
	// accounts and providers are nil without HARNESS_OIDC_FILE.
	accounts  *logins.Service
	providers *oidc.Set
}

// openAccess creates the owner's token at the first start. A server that cannot store one starts without it.
func (s *access) openAccess() {
	s.brake = auth.NewBrake(s.now)
	s.owner = owner.Of(s.dir.Path, s.dir.NodeID, os.Getenv)
	if s.embedded {
		return // the embedding program has the URL, and needs no token
	}
	made, err := s.owner.Ensure()
	switch {
	case err != nil:
		s.log.Warn().Err(err).Msg("cannot store the owner's token here; " + owner.Remedy + " and prints it")
	case made:
		s.log.Info().Str("file", s.owner.Path()).Msg("created this server's owner token; harness token prints it")
	}
}

// trustLocal reports whether programs on this machine need no token, and if they do, why: an agent is such a program.
func (s *access) trustLocal() (trusted bool, why string) {
	if s.cfg.TrustLocal {
		return true, ""
	}
	if state := s.fencing.state(); !state.stands {
		return false, state.why
	}
	// An embedding program may start several daemons on a machine, each for itself.
	if others := s.fencing.others; len(others) > 0 && !s.embedded {
		return false, fmt.Sprintf("another harness server (process %d, port %d) was here first, and its agents are not kept from this one's port",
			others[0].PID, others[0].Port)
	}
	return true, ""
}

// localAccess reports for readiness whether programs on this machine need a token, and how to get access.
func (s *access) localAccess() (tokenNeeded bool, reason string) {
	if s.cfg.AuthToken != "" {
		return true, ""
	}
	if trusted, why := s.trustLocal(); !trusted {
		return true, auth.NeedsToken(why)
	}
	return false, ""
}

// accessRules returns the rules of access.
func (s *access) accessRules(pages pages) auth.Options {
	return auth.Options{
		BoundHost: s.cfg.Host, AllowedHosts: s.cfg.AllowedHosts, AllowedOrigins: s.cfg.AllowedOrigins,
		PublicURL: s.cfg.Notify.PublicURL, TrustedProxies: trustedProxies(s.cfg),
		Token: s.cfg.AuthToken, Owner: s.owner, TrustLocal: s.trustLocal, Brake: s.brake,
		Named: s.named(), Bearers: s.bearers(), Signed: auth.NewSigned(auth.NewRBAC(s.rbacOptions())),
		Open:    func(r *http.Request) bool { return s.isLink(r) || pages.open != nil && pages.open(r) },
		Refused: s.metrics.HTTP.GuardRefused,
	}
}

// sayAccess prints at startup which access programs on this machine need. A link that logs in a browser is a secret: it
// is printed to the terminal (nil for none) and never logged.
func (s *access) sayAccess(terminal io.Writer) {
	needed, reason := s.localAccess()
	switch {
	case reason != "":
		s.log.Warn().Msg(reason)
	case !needed:
		s.log.Info().Bool("consented", s.cfg.TrustLocal).Msg("local programs need no token")
	}
	if !needed || !s.cfg.Serves() || terminal == nil {
		return
	}
	secret := s.cfg.AuthToken
	if secret == "" {
		var err error
		if secret, err = s.owner.Read(); err != nil {
			s.log.Warn().Err(err).Msg("cannot create a link to the console")
			return
		}
	}
	path, _ := s.logins.LinkFor(secret)
	_, err := fmt.Fprintf(terminal, "\n  Open this link within five minutes; it logs one browser in, once:\n  http://%s%s\n\n",
		reachable(s.people.listener.Addr()), path)
	if err != nil {
		s.log.Warn().Err(err).Msg("cannot print the link to the console")
	}
}

// reachable returns the address by which a program on this machine reaches a listener.
func reachable(addr net.Addr) string {
	if tcp, is := addr.(*net.TCPAddr); is && tcp.IP.IsUnspecified() {
		return net.JoinHostPort("127.0.0.1", strconv.Itoa(tcp.Port))
	}
	return addr.String()
}

// keyringFolder is the folder, below the user's home, in which desktop keyrings are stored as files.
const keyringFolder = ".local/share/keyrings"

// hideSecrets returns the existing folders of secretFolders. Only an existing folder can be hidden, so hideSecrets
// creates the first two.
func (s *access) hideSecrets() (places []string) {
	folders, err := s.secretFolders()
	if err == nil && !s.embedded {
		_, err = s.owner.MakeFolder()
	}
	if err != nil {
		s.log.Warn().Err(err).Msg("the folder of tokens cannot be made, so it is not hidden from agents")
	}
	for _, one := range folders {
		if place, err := datadir.RealPath(one); one != "" && err == nil && !slices.Contains(places, place) {
			places = append(places, place)
		}
	}
	return places
}

// secretFolders are the folders of the server's user that contain credentials: tokens of owners, profiles of harness,
// and keyrings. Their reader could act as that user, here or elsewhere.
func (s *access) secretFolders() ([]string, error) {
	folder, err := owner.ConfigFolder(os.Getenv)
	folders := []string{folder}
	if own, err := os.UserConfigDir(); err == nil {
		folders = append(folders, filepath.Join(own, "harness")) // a different folder on macOS
	}
	if data := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(data) {
		folders = append(folders, filepath.Join(data, "keyrings"))
	}
	if home, err := os.UserHomeDir(); err == nil {
		folders = append(folders, filepath.Join(home, keyringFolder))
	}
	if account, err := user.Lookup(s.cfg.RuntimeUser); err == nil { // this user may also run servers
		folders = append(folders, filepath.Join(account.HomeDir, ".config", "harness"), filepath.Join(account.HomeDir, keyringFolder))
	}
	return folders, err
}
