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

// Level says how far the credentials and the state of a runtime are shared.
type Level string

// The levels, widest first.
const (
	// LevelShared is the home of the server's user (or of HARNESS_RUNTIME_USER): its logins count.
	LevelShared Level = "shared"
	// LevelNamespaced is a folder for each credential namespace: logins made for it count, for all of its sessions.
	LevelNamespaced Level = "namespaced"
	// LevelEphemeral is a folder for each session, which goes with it.
	LevelEphemeral Level = "ephemeral"
)

// MaxName is how long (bytes) the name of a namespace, a session or a runtime may be.
const MaxName = 64

// ErrName means that a name cannot be that of a namespace, a session or a runtime.
var ErrName = errors.New("a name must be 1 to 64 bytes of printable text")

// Homes are the homes of runtimes in one folder: namespaces/RUNTIME/NAMESPACE and sessions/RUNTIME/SESSION. No
// name leads out of it, and no two names to the same folder, also on a file system that ignores case.
type Homes struct {
	// Dir is the folder, absolute. It is made when it is needed, for the server's user alone.
	Dir string
	// User, UID and GID are those of the user runtimes run as, who has to own its home; User is false for the server's
	// own.
	User     bool
	UID, GID uint32
}

// Home is where a runtime keeps its logins, settings and state.
type Home struct {
	Level Level
	// Dir is the folder, "" at LevelShared.
	Dir string
}

// Of makes and returns the home of a runtime: of a namespace, or at LevelEphemeral of a session.
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

// Root is the folder that all homes of a runtime at a level are in, made when it is not there; "" at LevelShared.
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

// Forget removes the home of a session. One that is not there is no error.
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

// Sessions are the names of those that have a home of a runtime. A link is no home, nor is what is not called as one.
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

// Env sets a home as that of a program, with the folders of the XDG conventions in it; nothing at LevelShared.
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

// folders are those of a home and the variables that name them to programs.
func folders() []folder {
	return []folder{
		{"HOME", "home"}, {"XDG_CONFIG_HOME", "config"}, {"XDG_DATA_HOME", "data"}, {"XDG_STATE_HOME", "state"},
		{"XDG_CACHE_HOME", "cache"},
	}
}

// prepare makes a home with its folders, owned by the user who is to live there. A folder that is a link is refused: a
// runtime could have put it there to be given the place it leads to.
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

// open makes and opens the folder of all homes. Users of runtimes may pass through it, not list it.
func (h Homes) open() (*os.Root, error) {
	if err := os.MkdirAll(h.Dir, 0o711); err != nil {
		return nil, fmt.Errorf("make the folder of credential namespaces: %w", err)
	}
	return os.OpenRoot(h.Dir)
}

// place is where a home is below the folder of all.
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

// encode writes a name as that of a folder: lower-case letters, digits, "-" and "_" stand for themselves, every other
// byte is "=" and its number. So no two names meet, none is "." or "..", and none has a separator.
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

// decode is the name that a folder is called after; false for one that encode does not make.
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

// CheckName reports whether a name can be that of a namespace, a session or a runtime.
func CheckName(name string) bool {
	return name != "" && len(name) <= MaxName && utf8.ValidString(name) &&
		!strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) })
}
