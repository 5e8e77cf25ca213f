package extensions

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Root is a folder that is searched for extensions.
type Root struct {
	Type OriginType
	Path string
	// Consent requires the operator's consent to the whole root for each of its extensions, even for one that runs no
	// process (see TrustPolicy.Consent).
	Consent bool
}

// candidate is a folder that looks like an extension.
type candidate struct {
	moduleName string
	root       string // real path
	sourceRoot string // real path
	origin     Origin
	consent    bool // see Root
}

// precedence orders origins; a folder found twice belongs to the origin that comes first.
func precedence(origin OriginType) int {
	switch origin {
	case NativeModule:
		return -1
	case RepoLocal:
		return 0
	case InstalledPackage:
		return 1
	}
	return 2
}

// eventFiles returns the default entrypoints, for a manifest whose entrypoint does not exist.
func eventFiles() []string { return []string{"events.js", "events.mjs", "events.ts"} }

// discover finds the extensions under the roots in an order that depends only on names: origin, module name, path. A
// folder reached from two roots belongs to the stronger origin. It skips missing roots and reports unreadable ones.
func discover(roots []Root) (found []candidate, problems []error) {
	roots = slices.Clone(roots)
	slices.SortStableFunc(roots, func(a, b Root) int {
		if d := precedence(a.Type) - precedence(b.Type); d != 0 {
			return d
		}
		return strings.Compare(a.Path, b.Path)
	})
	seen := map[string]bool{}
	for _, root := range roots {
		candidates, err := discoverRoot(root)
		if err != nil {
			problems = append(problems, err)
		}
		for _, c := range candidates {
			if !seen[c.root] {
				seen[c.root] = true
				found = append(found, c)
			}
		}
	}
	slices.SortStableFunc(found, func(a, b candidate) int {
		if d := precedence(a.origin.Type) - precedence(b.origin.Type); d != 0 {
			return d
		}
		if d := strings.Compare(a.moduleName, b.moduleName); d != 0 {
			return d
		}
		return strings.Compare(a.root, b.root)
	})
	return found, problems
}

// Holds reports whether a folder contains extensions in its subfolders.
func Holds(folder string) (bool, error) {
	found, err := discoverRoot(Root{Path: folder})
	real, linkErr := realPath(folder)
	return slices.ContainsFunc(found, func(c candidate) bool { return c.root != real }), errors.Join(err, linkErr)
}

func discoverRoot(root Root) ([]candidate, error) {
	real, err := realPath(root.Path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("extension root %s (%s): %w", root.Path, root.Type, err)
	}
	var found []candidate
	add := func(path, name string) {
		if looksLikeExtension(path) {
			found = append(found,
				candidate{moduleName: name, root: path, sourceRoot: real, origin: Origin{Type: root.Type, Path: path},
					consent: root.Consent})
		}
	}
	add(real, filepath.Base(real))
	entries, err := os.ReadDir(real)
	if err != nil {
		return found, fmt.Errorf("extension root %s (%s) cannot be listed: %w", root.Path, root.Type, err)
	}
	for _, entry := range entries {
		name := entry.Name()
		// A symbolic link does not count as a directory: its target may be outside the root.
		if !entry.IsDir() || strings.HasPrefix(name, ".") ||
			(root.Type == RepoLocal && (name == "lib" || name == "runtime")) {
			continue
		}
		add(filepath.Join(real, name), name)
	}
	return found, nil
}

func realPath(path string) (string, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(absolute)
}

func looksLikeExtension(folder string) bool {
	for _, name := range append([]string{manifestFile}, eventFiles()...) {
		if isFile(filepath.Join(folder, name)) {
			return true
		}
	}
	return false
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir()
}

// entrypoint finds the file to load: the manifest's, otherwise the first default one that exists. It skips a file
// outside the folders for imports and names it in the diagnostics.
func entrypoint(c candidate, manifest *Manifest, trust TrustMode) (path string, diagnostics []string) {
	var names []string
	if manifest != nil && manifest.Events != "" {
		names = append(names, manifest.Events)
	}
	confine := c.sourceRoot
	if trust == TrustEnforced {
		confine = c.root
	}
	for i, name := range append(names, eventFiles()...) {
		file := name
		if !filepath.IsAbs(file) {
			file = filepath.Join(c.root, file)
		}
		real, err := realPath(file)
		switch {
		case err != nil || !isFile(real):
			if i < len(names) {
				diagnostics = append(diagnostics, fmt.Sprintf("entrypoints.events %s does not exist", name))
			}
		case !within(confine, real):
			diagnostics = append(diagnostics, fmt.Sprintf("entrypoint %s is outside of %s and is not loaded", name, confine))
		default:
			return real, diagnostics
		}
	}
	return "", diagnostics
}

// within reports whether a real path is inside a real folder.
func within(folder, path string) bool {
	relative, err := filepath.Rel(folder, path)
	return err == nil && filepath.IsLocal(relative)
}
