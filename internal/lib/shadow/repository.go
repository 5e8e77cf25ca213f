package shadow

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// repository is the repository of a folder. Its files are read as data: git never uses it as its own directory.
type repository struct {
	dir    string // the git directory, "" if the folder is in no repository
	common string // the directory that linked worktrees share
	root   string // the top of the work tree
	prefix string // the folder within it
	folder string
}

// maxSmallFile bounds the files of a repository that are read whole.
const maxSmallFile = 16 << 20

// readSmall reads a regular file of bounded size. Anything else is nil: a FIFO would stop the reader for ever.
func readSmall(path string) []byte {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxSmallFile {
		return nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	return data
}

// findRepository finds the repository of a folder: in the folder, or in a folder above.
func findRepository(folder string) repository {
	for root := folder; ; root = filepath.Dir(root) {
		dir := filepath.Join(root, ".git")
		if to, ok := bytes.CutPrefix(readSmall(dir), []byte("gitdir: ")); ok {
			dir = strings.TrimSpace(string(to))
			if !filepath.IsAbs(dir) {
				dir = filepath.Join(root, dir)
			}
		}
		if isRepository(dir) {
			prefix, err := filepath.Rel(root, folder)
			if err != nil || prefix == "." {
				prefix = ""
			}
			return repository{dir: dir, common: commonDir(dir), root: root, prefix: filepath.ToSlash(prefix), folder: folder}
		}
		if root == filepath.Dir(root) {
			return repository{folder: folder}
		}
	}
}

func isRepository(dir string) bool {
	info, err := os.Lstat(filepath.Join(dir, "HEAD"))
	return err == nil && info.Mode().IsRegular()
}

func commonDir(dir string) string {
	common := strings.TrimSpace(string(readSmall(filepath.Join(dir, "commondir"))))
	switch {
	case common == "":
		return dir
	case filepath.IsAbs(common):
		return common
	}
	return filepath.Join(dir, common)
}

// objects returns where the repository's objects are, "" if they cannot be used. Objects that are shared with another
// repository are not used: they may be of a person who did not share them with the folder's users.
func (r repository) objects() string {
	if r.dir == "" {
		return ""
	}
	objects := filepath.Join(r.common, "objects")
	if _, err := os.Lstat(filepath.Join(objects, "info", "alternates")); err == nil {
		return ""
	}
	if info, err := os.Lstat(objects); err != nil || !info.IsDir() {
		return ""
	}
	return objects
}

var objectName = regexp.MustCompile(`^[0-9a-f]{40}$`)

// head returns the last commit, "" if there is none or its format is unknown.
func (r repository) head() string {
	if r.objects() == "" {
		return ""
	}
	at := strings.TrimSpace(string(readSmall(filepath.Join(r.dir, "HEAD"))))
	for range 5 {
		name, symbolic := strings.CutPrefix(at, "ref: ")
		if !symbolic {
			break
		}
		if !strings.HasPrefix(name, "refs/") || strings.Contains(name, "..") {
			return ""
		}
		if at = strings.TrimSpace(string(readSmall(filepath.Join(r.common, name)))); at == "" {
			at = r.packed(name)
		}
	}
	if !objectName.MatchString(at) {
		return ""
	}
	return at
}

func (r repository) packed(name string) string {
	for line := range strings.Lines(string(readSmall(filepath.Join(r.common, "packed-refs")))) {
		object, ref, _ := strings.Cut(strings.TrimSpace(line), " ")
		if ref == name {
			return object
		}
	}
	return ""
}

// ignored returns what the repository ignores beside the files in the folder: its info/exclude, and the ignore files
// of the folders above.
func (r repository) ignored() []byte {
	out := []byte("/.git\n")
	if r.dir == "" {
		return out
	}
	out = append(append(out, readSmall(filepath.Join(r.common, "info", "exclude"))...), '\n')
	below := r.prefix
	for dir := r.root; below != ""; {
		out = append(out, patternsBelow(readSmall(filepath.Join(dir, ".gitignore")), below)...)
		first, rest, _ := strings.Cut(below, "/")
		dir, below = filepath.Join(dir, first), rest
	}
	return out
}

// patternsBelow returns the patterns of an ignore file as they read in a folder below it.
func patternsBelow(file []byte, prefix string) []byte {
	var out []byte
	for line := range strings.Lines(string(file)) {
		line = strings.TrimRight(line, "\r\n")
		pattern, negated := strings.CutPrefix(line, "!")
		if pattern == "" || strings.HasPrefix(pattern, "#") {
			continue
		}
		if body := strings.TrimSuffix(pattern, "/"); strings.Contains(body, "/") && !strings.HasPrefix(body, "**/") {
			rest, ok := strings.CutPrefix(strings.TrimPrefix(pattern, "/"), prefix+"/")
			if !ok {
				continue // it is about another folder
			}
			pattern = "/" + rest
		}
		if negated {
			pattern = "!" + pattern
		}
		out = append(append(out, pattern...), '\n')
	}
	return out
}

// treeSize adds the sizes of the files of "ls-tree -l -z".
func treeSize(listed []byte) (size int64) {
	for entry := range bytes.SplitSeq(listed, []byte{0}) {
		about, _, _ := bytes.Cut(entry, []byte("\t"))
		if fields := bytes.Fields(about); len(fields) == 4 {
			if n, err := strconv.ParseInt(string(fields[3]), 10, 64); err == nil {
				size += n
			}
		}
	}
	return size
}
