package acp

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"harness/internal/runtime"
	"harness/internal/runtime/sources"
)

var _ runtime.Sourcer = (*Runtime)(nil)

// Sources implements runtime.Sourcer, with the files that the profile knows.
func (r *Runtime) Sources(_, cwd, _ string) ([]runtime.Source, error) {
	var candidates []sources.Candidate
	for _, read := range r.profile.Reads {
		scope, folders := runtime.SourceOfFolder, []string{cwd}
		switch {
		case strings.HasPrefix(read, "{above}"):
			folders = above(cwd)
		case strings.HasPrefix(read, "{project}"):
			folders = sources.Upwards(cwd)
		case strings.HasPrefix(read, "{cwd}"):
		case strings.HasPrefix(read, "/"):
			scope = runtime.SourceOfSystem
		default:
			scope = runtime.SourceOfHome
		}
		if scope == runtime.SourceOfFolder && !filepath.IsAbs(cwd) {
			continue
		}
		kind := runtime.SourceSettings
		if filepath.Ext(read) == ".md" {
			kind = runtime.SourceInstructions
		}
		for _, folder := range folders {
			path, known := r.expand(read)
			path = strings.NewReplacer("{cwd}", folder, "{above}", folder, "{project}", folder, "{settings}",
				r.settingsFile()).Replace(path)
			if known {
				candidates = append(candidates, sources.Candidate{Path: filepath.Clean(path), Kind: kind, Scope: scope})
			}
		}
	}
	return settingsOfState(sources.Files(candidates...), cwd), nil
}

// expand replaces the variables in a path; known reports whether all of them were set.
func (v *variables) expand(path string) (expanded string, known bool) {
	known = true
	expanded = os.Expand(path, func(name string) string {
		name, otherwise, _ := strings.Cut(name, ":-")
		value := v.lookup(name)
		if value == "" && otherwise != "" {
			value = os.Expand(otherwise, v.lookup)
		}
		known = known && value != ""
		return value
	})
	return expanded, known
}

// above returns a folder and its parents, from the root down.
func above(folder string) (folders []string) {
	for folder = filepath.Clean(folder); ; folder = filepath.Dir(folder) {
		folders = append(folders, folder)
		if folder == filepath.Dir(folder) {
			slices.Reverse(folders)
			return folders
		}
	}
}
