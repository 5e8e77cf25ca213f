package main

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/yuin/goldmark/ast"
)

// resolve converts the links of a page to links of the site. It returns an error for each broken one.
func (s *site) resolve(p *page) error {
	var broken error
	var dropped []*ast.Link
	_ = ast.Walk(p.tree, func(node ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := node.(type) {
		case *ast.Link:
			link := string(n.Destination)
			html, err := s.follow(p, link)
			broken = errors.Join(broken, err)
			if html == "" && err == nil {
				dropped = append(dropped, n)
			}
			s.name(p, n, link)
			n.Destination = []byte(html)
		case *ast.Image:
			html, err := s.follow(p, string(n.Destination))
			broken = errors.Join(broken, err)
			n.Destination = []byte(html)
		}
		return ast.WalkContinue, nil
	})
	for _, link := range dropped {
		unlink(link)
	}
	return broken
}

// follow returns the target of a link in the site, "" if the site does not have the target, a file of the repository.
func (s *site) follow(p *page, link string) (string, error) {
	target, err := url.Parse(link)
	if err != nil || target.Scheme != "" || target.Host != "" {
		return link, err
	}
	name := p.source
	if target.Path != "" {
		name = path.Join(path.Dir(p.source), target.Path)
	}
	fragment := ""
	if target.Fragment != "" {
		fragment = "#" + target.Fragment
	}
	if to := s.pages[name]; to != nil {
		if target.Fragment != "" && !to.ids[target.Fragment] {
			return "", fmt.Errorf("%s: the link %s names an anchor that %s does not have", p.source, link, name)
		}
		if target.Path == "" {
			return fragment, nil
		}
		p.moved[link] = relative(p.target, to.target) + ".md" + fragment
		return relative(p.target, to.target) + ".html" + fragment, nil
	}
	info, err := os.Stat(filepath.Join(s.source, filepath.FromSlash(name)))
	if err != nil || strings.HasPrefix(name, "../") {
		return "", fmt.Errorf("%s: the link %s leads to no file", p.source, link)
	}
	if strings.HasPrefix(name, "docs/") && !info.IsDir() {
		s.assets[name] = true
		p.moved[link] = relative(p.target, published(name))
		return p.moved[link], nil
	}
	if s.repository == "" {
		return "", nil
	}
	p.moved[link] = strings.TrimSuffix(s.repository, "/") + "/" + name
	return p.moved[link], nil
}

// name shows the title of a page if a link shows its file name.
func (s *site) name(p *page, link *ast.Link, destination string) {
	file, _, _ := strings.Cut(destination, "#")
	to := s.pages[path.Join(path.Dir(p.source), file)]
	if to != nil && plain(link, p.text) == path.Base(file) {
		link.RemoveChildren(link)
		link.AppendChild(link, ast.NewString([]byte(to.shortTitle())))
	}
}

// unlink replaces a link with its text.
func unlink(link *ast.Link) {
	parent := link.Parent()
	for child := link.FirstChild(); child != nil; {
		next := child.NextSibling()
		parent.InsertBefore(parent, link, child)
		child = next
	}
	parent.RemoveChild(parent, link)
}
