package main

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

//go:embed page.html style.css
var files embed.FS

var layout = template.Must(template.ParseFS(files, "page.html"))

// site is the documentation during a build. Paths are relative to the repository (sources) or to the site (the rest),
// with slashes.
type site struct {
	source     string
	repository string
	// pages by their source; assets are other files of docs/ that pages link to.
	pages  map[string]*page
	assets map[string]bool
}

// build writes the site into a new folder, which then replaces out.
func build(source, out, repository string) (int, error) {
	s := &site{source: source, repository: repository, pages: map[string]*page{}, assets: map[string]bool{}}
	if err := s.load(); err != nil {
		return 0, err
	}
	var broken error
	for _, p := range s.sorted() {
		broken = errors.Join(broken, s.resolve(p))
	}
	if broken != nil {
		return 0, broken
	}
	made := filepath.Clean(out) + ".new"
	if err := errors.Join(os.RemoveAll(made), s.write(made)); err != nil {
		return 0, err
	}
	return len(s.pages), errors.Join(os.RemoveAll(out), os.Rename(made, out))
}

// load reads README.md and all Markdown below docs/.
func (s *site) load() error {
	names := []string{"README.md"}
	err := filepath.WalkDir(filepath.Join(s.source, "docs"), func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(name) != ".md" {
			return err
		}
		relative, err := filepath.Rel(s.source, name)
		names = append(names, filepath.ToSlash(relative))
		return err
	})
	if err != nil {
		return err
	}
	targets := map[string]string{}
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(s.source, filepath.FromSlash(name)))
		if err != nil {
			return err
		}
		p := parse(name, text)
		if other := targets[p.target]; other != "" {
			return fmt.Errorf("%s and %s would both be %s.html", other, name, p.target)
		}
		targets[p.target] = name
		s.pages[name] = p
	}
	return nil
}

func (s *site) sorted() []*page {
	var list []*page
	for _, p := range s.pages {
		list = append(list, p)
	}
	slices.SortFunc(list, func(a, b *page) int { return strings.Compare(a.target, b.target) })
	return list
}

// write writes all files of the site into a new folder.
func (s *site) write(out string) error {
	sections := s.navigation()
	for _, p := range s.pages {
		var html bytes.Buffer
		if err := layout.Execute(&html, s.view(p, sections)); err != nil {
			return fmt.Errorf("%s: %w", p.source, err)
		}
		if err := errors.Join(save(out, p.target+".html", html.Bytes()), save(out, p.target+".md", p.markdown())); err != nil {
			return err
		}
	}
	for name := range s.assets {
		content, err := os.ReadFile(filepath.Join(s.source, filepath.FromSlash(name)))
		if err := errors.Join(err, save(out, published(name), content)); err != nil {
			return err
		}
	}
	style, err := files.ReadFile("style.css")
	return errors.Join(err, save(out, "style.css", style), save(out, "llms.txt", s.llms(sections)))
}

func save(out, name string, content []byte) error {
	file := filepath.Join(out, filepath.FromSlash(name))
	return errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, content, 0o644))
}

// published returns the path of a repository file in the site: docs/ is its root, a README is the index of its folder.
func published(name string) string {
	name = strings.TrimPrefix(name, "docs/")
	if path.Base(name) == "README.md" {
		return path.Join(path.Dir(name), "index.md")
	}
	return name
}

// relative returns the link from one page of the site to another file of it.
func relative(from, to string) string {
	up := strings.Repeat("../", strings.Count(from, "/"))
	if folder := path.Dir(from); folder != "." && strings.HasPrefix(to, folder+"/") {
		return strings.TrimPrefix(to, folder+"/")
	}
	return up + to
}
