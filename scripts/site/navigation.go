package main

import (
	"fmt"
	"html/template"
	"slices"
	"strings"
)

// section is a group of pages in the navigation.
type section struct {
	Name  string
	pages []*page
}

// order names the pages of each section by their path in the site. Pages without an entry come last, by folder.
var order = []struct {
	name  string
	pages []string
}{
	{"Start", []string{"index", "contents", "quickstart", "install", "console", "cli", "configuration", "glossary"}},
	{"APIs", []string{"api", "routes", "stream", "tasks", "json-rpc"}},
	{"Runtimes", []string{"runtimes/index", "runtimes/codex", "runtimes/claude", "runtimes/gemini", "runtimes/opencode", "runtimes/acp",
		"runtimes/providers", "runtimes/tested", "adding-a-runtime"}},
	{"Tools and extensions", []string{"tools", "extensions", "extensions-hosts"}},
	{"Operation", []string{"operations", "security", "nodes", "limits", "performance", "reliability"}},
	{"Compatibility", []string{"changelog", "compatibility", "codesdk"}},
	{"How it is built", []string{"architecture", "promises"}},
}

func (s *site) navigation() (sections []section) {
	left := map[string]*page{}
	for _, p := range s.pages {
		left[p.target] = p
	}
	for _, group := range order {
		part := section{Name: group.name}
		for _, target := range group.pages {
			if p := left[target]; p != nil {
				part.pages = append(part.pages, p)
				delete(left, target)
			}
		}
		if len(part.pages) > 0 {
			sections = append(sections, part)
		}
	}
	for _, part := range others(left) {
		at := slices.IndexFunc(sections, func(known section) bool { return known.Name == part.Name })
		if at < 0 {
			sections = append(sections, part)
			continue
		}
		sections[at].pages = append(sections[at].pages, part.pages...)
	}
	return sections
}

// others groups the remaining pages by folder; the index of a folder names the section.
func others(left map[string]*page) (sections []section) {
	folders := map[string][]*page{}
	for target, p := range left {
		folder, _, below := strings.Cut(target, "/")
		if !below {
			folder = ""
		}
		folders[folder] = append(folders[folder], p)
	}
	for folder, pages := range folders {
		slices.SortFunc(pages, func(a, b *page) int {
			if first := strings.HasSuffix(b.target, "/index"); first != strings.HasSuffix(a.target, "/index") {
				return map[bool]int{true: 1, false: -1}[first]
			}
			return strings.Compare(a.target, b.target)
		})
		name := "More"
		if folder != "" {
			name = strings.ToUpper(folder[:1]) + folder[1:]
		}
		sections = append(sections, section{name, pages})
	}
	slices.SortFunc(sections, func(a, b section) int { return strings.Compare(a.Name, b.Name) })
	return sections
}

// view is the data of a page for the layout.
type view struct {
	Title, Summary, Site, Root, Source string
	Body                               template.HTML
	Sections                           []viewSection
}

type viewSection struct {
	Name  string
	Links []viewLink
}

type viewLink struct {
	Title, URL string
	Current    bool
}

func (s *site) view(p *page, sections []section) *view {
	body, err := p.html()
	if err != nil {
		body = []byte(err.Error()) // writing to memory does not fail
	}
	v := &view{Title: p.title, Summary: p.summary, Site: s.title(), Root: strings.Repeat("../", strings.Count(p.target, "/")),
		Source: relative(p.target, p.target+".md"), Body: template.HTML(body)} //nolint:gosec // the repository's own text
	for _, part := range sections {
		shown := viewSection{Name: part.Name}
		for _, other := range part.pages {
			shown.Links = append(shown.Links, viewLink{other.shortTitle(), relative(p.target, other.target) + ".html", other == p})
		}
		v.Sections = append(v.Sections, shown)
	}
	return v
}

// title returns the title of the index.
func (s *site) title() string { return s.pages["README.md"].shortTitle() }

// llms returns the list of pages for language models, as https://llmstxt.org describes it.
func (s *site) llms(sections []section) []byte {
	var out strings.Builder
	fmt.Fprintf(&out, "# %s\n\n> %s\n", s.title(), s.pages["README.md"].summary)
	for _, part := range sections {
		fmt.Fprintf(&out, "\n## %s\n\n", part.Name)
		for _, p := range part.pages {
			fmt.Fprintf(&out, "- [%s](%s.md): %s\n", p.shortTitle(), p.target, p.summary)
		}
	}
	return []byte(out.String())
}
