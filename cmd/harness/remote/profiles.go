package remote

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"harness/internal/lib/durable"
)

// profiles are the servers of a user, by names that the user chose: a file in the user's configuration folder, and for
// each token a file beside it. Only the user can read them.
type profiles struct {
	// Current is the default profile, "" for none.
	Current string             `json:"current,omitempty"`
	Servers map[string]profile `json:"profiles"`
}

type profile struct {
	URL string `json:"url"`
	// Keyring reports that the token is in the system's keyring, not in a file.
	Keyring bool `json:"keyring,omitempty"`
}

// profilesDir returns the folder of the profiles.
func profilesDir() (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("find the folder of profiles: %w (set HOME or XDG_CONFIG_HOME)", err)
	}
	return filepath.Join(dir, "harness"), nil
}

func readProfiles() (profiles, error) {
	all := profiles{Servers: map[string]profile{}}
	dir, err := profilesDir()
	if err != nil {
		return all, nil //nolint:nilerr // a user without a home has no profiles
	}
	path := filepath.Join(dir, "profiles.json")
	text, err := os.ReadFile(path) //nolint:gosec // of the user's own
	if errors.Is(err, fs.ErrNotExist) {
		return all, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil {
		return all, usage("cannot read the profiles in %s: %w", path, err)
	}
	return all, nil
}

func (p profiles) write() error {
	text, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return err
	}
	dir, err := profilesDir()
	if err != nil {
		return err
	}
	return writePrivate(filepath.Join(dir, "profiles.json"), append(text, '\n'))
}

// writePrivate writes a file that only the user can read: completely, or not at all.
func writePrivate(path string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return durable.Write(path, content)
}

func tokenPath(name string) (string, error) {
	dir, err := profilesDir()
	return filepath.Join(dir, "tokens", name), err
}

// find returns the profile with a name, or the current one for "". found is false without a current one.
func (p profiles) find(name string) (of profile, chosen string, found bool, err error) {
	chosen = name
	if chosen == "" {
		chosen = p.Current
	}
	of, found = p.Servers[chosen]
	if name != "" && !found {
		return profile{}, "", false, usage("no profile %q; see harness profiles list", name)
	}
	return of, chosen, found, nil
}

// storedToken returns a profile's token, "" for none.
func storedToken(of profile, name string) (string, error) {
	if of.Keyring {
		return fromKeyring(of, name)
	}
	path, err := tokenPath(name)
	if err != nil {
		return "", err
	}
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return readToken(path)
}

func (c *commands) profiles() *cobra.Command {
	list := &cobra.Command{Use: "list", Short: "List server profiles", Args: ArgumentsError,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.listProfiles(cmd) }}
	var base, tokenFile string
	var inKeyring bool
	set := &cobra.Command{Use: "set NAME", Short: "Add a server profile; the token comes from FILE, or stdin with -",
		Args: ArgumentsError, RunE: func(cmd *cobra.Command, args []string) error {
			return setProfile(cmd, args[0], base, tokenFile, inKeyring)
		}}
	set.Flags().StringVar(&base, "server", "", "base URL of the server")
	set.Flags().StringVar(&tokenFile, "token", "", "file with the server's token, copied into the profile; - for standard input")
	set.Flags().BoolVar(&inKeyring, "keyring", false, "store the token in the system's keyring (default: a file with mode 0600)")
	change := func(do func(all *profiles, name string) error) func(*cobra.Command, []string) error {
		return func(_ *cobra.Command, args []string) error {
			all, err := readProfiles()
			if err != nil {
				return err
			}
			if _, _, _, err := all.find(args[0]); err != nil {
				return err
			}
			if err := do(&all, args[0]); err != nil {
				return err
			}
			return all.write()
		}
	}
	use := &cobra.Command{Use: "use NAME", Short: "Set the default server",
		Args: ArgumentsError, RunE: change(func(all *profiles, name string) error {
			all.Current = name
			return nil
		})}
	remove := &cobra.Command{Use: "delete NAME", Short: "Remove a server profile and its token",
		Args: ArgumentsError,
		RunE: change(func(all *profiles, name string) error {
			if one := all.Servers[name]; one.Keyring {
				if err := forgetInKeyring(one, name); err != nil {
					return err
				}
			}
			delete(all.Servers, name)
			if all.Current == name {
				all.Current = ""
			}
			path, err := tokenPath(name)
			if err != nil {
				return err
			}
			return removeFile(path)
		})}
	for _, one := range []*cobra.Command{use, remove} {
		one.ValidArgsFunction = completeProfiles
	}
	return group("profiles", "Manage the servers you work with, and their tokens", list, set, use, remove)
}

func completeProfiles(*cobra.Command, []string, string) (offered []string, _ cobra.ShellCompDirective) {
	all, err := readProfiles()
	if err == nil {
		for name, server := range all.Servers {
			offered = append(offered, name+"\t"+server.URL)
		}
	}
	return offered, cobra.ShellCompDirectiveNoFileComp
}

func (c *commands) listProfiles(cmd *cobra.Command) error {
	all, err := readProfiles()
	if err != nil {
		return err
	}
	if c.asksJSON() {
		return json.NewEncoder(cmd.OutOrStdout()).Encode(all)
	}
	var rows [][]string
	for name, server := range all.Servers {
		row := []string{name, server.URL, "", ""}
		if server.Keyring {
			row[2] = "keyring" // a list does not query the keyring, which may prompt its user
		} else if token, err := storedToken(server, name); err != nil || token != "" {
			row[2] = "yes"
		}
		if name == all.Current {
			row[3] = "current"
		}
		rows = append(rows, row)
	}
	sortRows(rows)
	return table(cmd.OutOrStdout(), []string{"PROFILE", "SERVER", "TOKEN", ""}, rows)
}

func removeFile(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func setProfile(cmd *cobra.Command, name, base, tokenFile string, inKeyring bool) error {
	if inKeyring && tokenFile == "" {
		return usage("--keyring needs --token FILE, or --token - for standard input")
	}
	if !regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`).MatchString(name) {
		return usage("a profile name has letters, digits, - and _, not %q", name)
	}
	all, err := readProfiles()
	if err != nil {
		return err
	}
	one, known := all.Servers[name]
	before := one
	if base != "" {
		if known && one.URL != strings.TrimSuffix(base, "/") && tokenFile == "" {
			return usage("its token is for %s: name the one of the other server with --token, or delete the profile first",
				one.URL)
		}
		one.URL = strings.TrimSuffix(base, "/")
	}
	parsed, err := url.Parse(one.URL)
	if err != nil || parsed.Host == "" || parsed.Scheme != "http" && parsed.Scheme != "https" {
		return usage("--server %q is no URL like https://harness.example", one.URL)
	}
	if tokenFile != "" {
		token, err := tokenFrom(cmd, tokenFile)
		if err != nil {
			return err
		}
		if one, err = keepToken(before, one, name, token, inKeyring); err != nil {
			return err
		}
	}
	all.Servers[name] = one
	return all.write()
}

// keepToken stores the token of a profile, which was previously before, and returns the updated profile.
func keepToken(before, one profile, name, token string, inKeyring bool) (profile, error) {
	var err error
	if one.Keyring = inKeyring; inKeyring {
		err = keepInKeyring(one, name, token)
	} else {
		err = keepInFile(name, token)
	}
	if err == nil {
		err = forgetElsewhere(before, one, name)
	}
	return one, err
}

func keepInFile(name, token string) error {
	path, err := tokenPath(name)
	if err == nil {
		err = writePrivate(path, []byte(token+"\n"))
	}
	if err != nil {
		return fmt.Errorf("keep the token: %w", err)
	}
	return nil
}

// forgetElsewhere removes a profile's token from its previous place after it was stored in a new one.
func forgetElsewhere(before, now profile, name string) error {
	if before.Keyring && (!now.Keyring || before.account(name) != now.account(name)) {
		return forgetInKeyring(before, name)
	}
	if !now.Keyring {
		return nil
	}
	path, err := tokenPath(name)
	if err != nil {
		return err
	}
	return removeFile(path)
}

// tokenFrom reads a token to store.
func tokenFrom(cmd *cobra.Command, file string) (string, error) {
	if file != "-" {
		return readToken(file)
	}
	token, err := prompt(cmd, "-")
	if token = strings.TrimSpace(token); err == nil && token == "" {
		err = usage("no token on standard input")
	}
	return token, err
}
