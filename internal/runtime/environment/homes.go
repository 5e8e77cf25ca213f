package environment

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Level is the degree to which a runtime shares its credentials and state.
type Level string

// The levels, widest first.
const (
	// LevelShared is the home of the server's user (or of HARNESS_RUNTIME_USER), with its logins.
	LevelShared Level = "shared"
	// LevelNamespaced is a folder for each credential namespace. All its sessions share its logins.
	LevelNamespaced Level = "namespaced"
	// LevelEphemeral is a folder for each session. It is removed with the session.
	LevelEphemeral Level = "ephemeral"
)

// MaxName limits the name of a namespace, a session or a runtime, in bytes.
const MaxName = 64

// ErrName reports an invalid name of a namespace, a session or a runtime.
var ErrName = errors.New("a name must be 1 to 64 bytes of printable text")

// Homes are the homes of runtimes in one folder: namespaces/RUNTIME/NAMESPACE and sessions/RUNTIME/SESSION. No name
// can point outside the folder. Two names never share a folder, even on a file system that ignores case.
type Homes struct {
	// Dir is the absolute path of the folder. It is created on demand, for the server's user only.
	Dir string
	// User, UID and GID identify the user of the runtimes, who must own the home; User is false for the server's own
	// user.
	User     bool
	UID, GID uint32
}

// Home is the folder of a runtime's logins, settings and state.
type Home struct {
	Level Level
	// Dir is the folder, "" at LevelShared.
	Dir string
}

// Of creates and returns the home of a runtime: of a namespace, or at LevelEphemeral of a session.
func (h Homes) Of(level Level, runtime, namespace, session string) (Home, error) {
	if level == LevelShared {
		return Home{Level: level}, nil
	}
	below, err := place(level, runtime, namespace, session)
	if err != nil {
		return Home{}, err
	}
	home := Home{Level: level, Dir: filepath.Join(h.Dir, filepath.FromSlash(below))}
	if err := h.prepare(below); err != nil {
		return Home{}, fmt.Errorf("make the home of %s: %w", runtime, err)
	}
	return home, nil
}

// Root returns the folder of all homes of a runtime at a level, created on demand; "" at LevelShared.
func (h Homes) Root(level Level, runtime string) (string, error) {
	if level == LevelShared {
		return "", nil
	}
	below, err := place(level, runtime, "root", "root")
	if err != nil {
		return "", err
	}
	below = path.Dir(below)
	root, err := h.open()
	if err != nil {
		return "", err
	}
	defer func() { _ = root.Close() }()
	if err := root.MkdirAll(below, 0o711); err != nil {
		return "", fmt.Errorf("make the folder of %s: %w", runtime, err)
	}
	return filepath.Join(h.Dir, filepath.FromSlash(below)), nil
}

// Forget removes the home of a session. A missing one is not an error.
func (h Homes) Forget(runtime, session string) error {
	below, err := place(LevelEphemeral, runtime, "", session)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(h.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("forget the home of a session: %w", err)
	}
	defer func() { _ = root.Close() }()
	return root.RemoveAll(below)
}

// Sessions returns the names of the sessions with a home of a runtime. It omits links and folders with other names.
func (h Homes) Sessions(runtime string) ([]string, error) {
	below, err := place(LevelEphemeral, runtime, "", "root")
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(h.Dir)
	if err == nil {
		defer func() { _ = root.Close() }()
		for _, folder := range []string{path.Dir(path.Dir(below)), path.Dir(below)} {
			var info fs.FileInfo
			if info, err = root.Lstat(folder); err == nil && !info.IsDir() {
				err = fmt.Errorf("%s is no folder: remove it", filepath.Join(h.Dir, filepath.FromSlash(folder)))
			}
			if err != nil {
				break
			}
		}
	}
	var entries []fs.DirEntry
	if err == nil {
		entries, err = fs.ReadDir(root.FS(), path.Dir(below))
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("look which sessions of %s have a home: %w", runtime, err)
	}
	var names []string
	for _, entry := range entries {
		if name, ok := decode(entry.Name()); ok && entry.IsDir() {
			names = append(names, name)
		}
	}
	return names, nil
}

// Env returns variables that point a program to a home, with the XDG folders in it; nothing at LevelShared.
func (h Home) Env() []string {
	if h.Dir == "" {
		return nil
	}
	var env []string
	for _, f := range folders() {
		env = append(env, f.variable+"="+filepath.Join(h.Dir, f.name))
	}
	return env
}

type folder struct{ variable, name string }

// folders returns the folders of a home, and the variables for them.
func folders() []folder {
	return []folder{
		{"HOME", "home"}, {"XDG_CONFIG_HOME", "config"}, {"XDG_DATA_HOME", "data"}, {"XDG_STATE_HOME", "state"},
		{"XDG_CACHE_HOME", "cache"},
	}
}

// prepare creates a home with its folders for its owner. It refuses a folder that is a link: a runtime could gain
// access to the link's target.
func (h Homes) prepare(below string) error {
	root, err := h.open()
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	if err := root.MkdirAll(path.Dir(below), 0o711); err != nil {
		return err
	}
	own := []string{below}
	for _, f := range folders() {
		own = append(own, path.Join(below, f.name))
	}
	for _, folder := range own {
		if err := root.Mkdir(folder, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		info, err := root.Lstat(folder)
		if err != nil {
			return err
		}
		if !info.IsDir() {
			return fmt.Errorf("%s is no folder: remove it", filepath.Join(h.Dir, filepath.FromSlash(folder)))
		}
		if h.User {
			if err := root.Lchown(folder, int(h.UID), int(h.GID)); err != nil {
				return err
			}
		}
	}
	return nil
}

// open creates and opens the folder of all homes. Users of runtimes may pass through it, but not list it.
func (h Homes) open() (*os.Root, error) {
	if err := os.MkdirAll(h.Dir, 0o711); err != nil {
		return nil, fmt.Errorf("make the folder of credential namespaces: %w", err)
	}
	return os.OpenRoot(h.Dir)
}

// place returns the path of a home below that folder.
func place(level Level, runtime, namespace, session string) (string, error) {
	kind, name := "namespaces", namespace
	if level == LevelEphemeral {
		kind, name = "sessions", session
	}
	whose, err := encode(runtime)
	if err != nil {
		return "", fmt.Errorf("runtime %q: %w", runtime, err)
	}
	encoded, err := encode(name)
	if err != nil {
		return "", fmt.Errorf("credential namespace %q: %w", name, err)
	}
	return path.Join(kind, whose, encoded), nil
}

// encode returns a folder name: lower-case letters, digits, "-" and "_" stay, every other byte becomes "=" and its
// number. So names never collide, none is "." or "..", and none has a separator.
func encode(name string) (string, error) {
	if !CheckName(name) {
		return "", ErrName
	}
	var b strings.Builder
	for i := range len(name) {
		c := name[i]
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '_' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "=%02x", c)
		}
	}
	return b.String(), nil
}

// decode returns the original name of a folder; false for a name that encode does not make.
func decode(folder string) (string, bool) {
	var b strings.Builder
	for rest := folder; rest != ""; {
		if rest[0] != '=' {
			b.WriteByte(rest[0])
			rest = rest[1:]
			continue
		}
		var number byte
		if len(rest) < 3 {
			return "", false
		}
		if _, err := fmt.Sscanf(rest[1:3], "%02x", &number); err != nil {
			return "", false
		}
		b.WriteByte(number)
		rest = rest[3:]
	}
	again, err := encode(b.String())
	return b.String(), err == nil && again == folder
}

// CheckName validates the name of a namespace, a session or a runtime.
func CheckName(name string) bool {
	return name != "" && len(name) <= MaxName && utf8.ValidString(name) &&
		!strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) })
}
