package main

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
)

var markdown = goldmark.New(goldmark.WithExtensions(extension.GFM),
	goldmark.WithRendererOptions(html.WithUnsafe()))

// page is one document, in the repository and in the site.
type page struct {
	// source is its file in the repository, target its file in the site without the extension.
	source, target string
	text           []byte
	tree           ast.Node
	title, summary string
	// ids are the anchors that links may name.
	ids map[string]bool
	// moved maps the links that differ in the Markdown copy from source to copy.
	moved map[string]string
}

var anchor = regexp.MustCompile(`<a (?:id|name)="([^"]+)"`)

// parse reads a page, gives its headings GitHub's anchors, and extracts title and summary.
func parse(name string, content []byte) *page {
	p := &page{source: name, target: strings.TrimSuffix(published(name), ".md"), text: content, ids: map[string]bool{},
		moved: map[string]string{}}
	p.tree = markdown.Parser().Parse(text.NewReader(content))
	_ = ast.Walk(p.tree, func(node ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := node.(type) {
		case *ast.Heading:
			words := plain(n, content)
			if p.title == "" && n.Level == 1 {
				p.title = words
			}
			n.SetAttributeString("id", []byte(p.identify(words)))
		case *ast.Paragraph:
			if p.title != "" && p.summary == "" {
				p.summary = sentence(plain(n, content))
			}
		}
		return ast.WalkContinue, nil
	})
	for _, found := range anchor.FindAllSubmatch(content, -1) {
		p.ids[string(found[1])] = true
	}
	if p.title == "" {
		p.title = name
	}
	return p
}

// identify gives a heading the anchor that GitHub gives it.
func (p *page) identify(words string) string {
	var out strings.Builder
	for _, r := range strings.ToLower(words) {
		switch {
		case unicode.IsLetter(r), unicode.IsDigit(r), r == '_', r == '-':
			out.WriteRune(r)
		case r == ' ':
			out.WriteByte('-')
		}
	}
	id := out.String()
	for i := 1; p.ids[id]; i++ {
		id = fmt.Sprintf("%s-%d", out.String(), i)
	}
	p.ids[id] = true
	return id
}

// plain returns the text of a node without markup.
func plain(node ast.Node, source []byte) string {
	var out strings.Builder
	_ = ast.Walk(node, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Text:
			out.Write(n.Segment.Value(source))
			if n.SoftLineBreak() || n.HardLineBreak() {
				out.WriteByte(' ')
			}
		case *ast.String:
			out.Write(n.Value)
		case *ast.AutoLink:
			out.Write(n.Label(source))
		}
		return ast.WalkContinue, nil
	})
	return strings.TrimSpace(out.String())
}

var sentenceEnd = regexp.MustCompile(`[.!?]\s+[A-Z]`)

// sentence returns the first sentence of a text.
func sentence(words string) string {
	if end := sentenceEnd.FindStringIndex(words); end != nil {
		words = words[:end[0]+1]
	}
	if before, found := strings.CutSuffix(words, ":"); found {
		words = before + "."
	}
	return words
}

// shortTitle returns the title of a page in the navigation.
func (p *page) shortTitle() string {
	short, _, _ := strings.Cut(p.title, ": ")
	return short
}

// html renders the page's own part.
func (p *page) html() ([]byte, error) {
	var out bytes.Buffer
	err := markdown.Renderer().Render(&out, p.text, p.tree)
	return wrapTables(out.Bytes()), err
}

// wrapTables makes wide tables scroll separately.
func wrapTables(content []byte) []byte {
	content = bytes.ReplaceAll(content, []byte("<table>"), []byte(`<div class="table"><table>`))
	return bytes.ReplaceAll(content, []byte("</table>"), []byte("</table></div>"))
}

var markdownLink = regexp.MustCompile(`\]\(([^()\s]+)\)`)

// markdown returns the copy of the source with the site's links.
func (p *page) markdown() []byte {
	fenced := false
	var out bytes.Buffer
	for line := range bytes.Lines(p.text) {
		if bytes.HasPrefix(bytes.TrimSpace(line), []byte("```")) {
			fenced = !fenced
		}
		if !fenced {
			line = markdownLink.ReplaceAllFunc(line, func(link []byte) []byte {
				if moved, known := p.moved[string(link[2:len(link)-1])]; known {
					return []byte("](" + moved + ")")
				}
				return link
			})
		}
		out.Write(line)
	}
	return out.Bytes()
}
