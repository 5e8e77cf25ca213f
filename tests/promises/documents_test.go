package promises_test

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// maxWords limits the hand-written words of README.md and docs.
const maxWords = 35_000

var (
	fence       = regexp.MustCompile("(?ms)^[ \t]*```.*?^[ \t]*```[ \t]*$")
	codeSpan    = regexp.MustCompile("`[^`\n]*(?:\n[^`\n]+)?`")
	heading     = regexp.MustCompile(`(?m)^#{1,6} +(.+)$`)
	anchorTag   = regexp.MustCompile(`<a (?:id|name)="([^"]+)"`)
	link        = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	linkText    = regexp.MustCompile(`!?\[([^\]]*)\]\([^()]*\)`)
	notInAnchor = regexp.MustCompile(`[^\p{L}\p{N}\p{M}_ -]`)
	spoken      = regexp.MustCompile(`[\p{L}\p{N}]`)
	banned      = regexp.MustCompile(`(?i)\b(?:told|tells|heard|nobody|whoever)\b`)
	// A comment near the top marks a whole page. A part starts with "made from" and ends with "end".
	generatedPage = regexp.MustCompile(`(?i)<!--[^>]*\bgenerated\b`)
	generatedPart = regexp.MustCompile(`(?s)<!-- made from .*?(?:<!-- end -->|\z)`)
)

// documents reads README.md and all pages of docs, by path from the root.
func documents(t *testing.T) map[string]string {
	t.Helper()
	pages := map[string]string{}
	for _, file := range sources(t) {
		if file.path == "README.md" || strings.HasPrefix(file.path, "docs/") && strings.HasSuffix(file.path, ".md") {
			pages[file.path] = file.text
		}
	}
	if len(pages) < 20 {
		t.Fatalf("found only %d documents", len(pages))
	}
	return pages
}

// handWritten returns the part of a page that no generator writes.
func handWritten(text string) string {
	lines := strings.SplitN(text, "\n", 11)
	if generatedPage.MatchString(strings.Join(lines[:min(len(lines), 10)], "\n")) {
		return ""
	}
	return generatedPart.ReplaceAllString(text, "")
}

// anchors returns the fragments that a page's headings and tags define.
func anchors(text string) map[string]bool {
	found, seen := map[string]bool{}, map[string]int{}
	for _, match := range heading.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
		title := strings.ReplaceAll(linkText.ReplaceAllString(match[1], "$1"), "`", "")
		slug := notInAnchor.ReplaceAllString(strings.ToLower(strings.TrimSpace(title)), "")
		slug = strings.ReplaceAll(slug, " ", "-")
		name := slug
		if seen[slug] > 0 {
			name = fmt.Sprintf("%s-%d", slug, seen[slug])
		}
		seen[slug]++
		found[name] = true
	}
	for _, match := range anchorTag.FindAllStringSubmatch(text, -1) {
		found[match[1]] = true
	}
	return found
}

func TestLinksInDocumentsResolve(t *testing.T) {
	t.Parallel()
	pages := documents(t)
	for name, text := range pages {
		prose := codeSpan.ReplaceAllString(fence.ReplaceAllString(text, ""), "")
		for _, match := range link.FindAllStringSubmatch(prose, -1) {
			if strings.Contains(match[1], "://") || strings.HasPrefix(match[1], "mailto:") {
				continue
			}
			target, fragment, _ := strings.Cut(match[1], "#")
			file := name
			if target != "" {
				file = path.Join(path.Dir(name), target)
			}
			if _, err := os.Stat(filepath.Join(root, file)); err != nil {
				t.Errorf("%s links to %s, which does not exist", name, match[1])
				continue
			}
			if fragment != "" && !anchors(pages[file])[fragment] {
				t.Errorf("%s links to %s, but %s has no such heading", name, match[1], file)
			}
		}
	}
}

func TestDocumentsStayShort(t *testing.T) {
	t.Parallel()
	total := 0
	var sizes []string
	for name, text := range documents(t) {
		words := 0
		for word := range strings.FieldsSeq(handWritten(text)) {
			if spoken.MatchString(word) {
				words++
			}
		}
		total += words
		sizes = append(sizes, fmt.Sprintf("%6d %s", words, name))
	}
	if total > maxWords {
		slices.Sort(sizes)
		t.Errorf("the hand-written documents have %d words, more than %d:\n%s", total, maxWords, strings.Join(sizes, "\n"))
	}
}

// Documents use plain words. Names in code spans and blocks are exempt.
func TestDocumentsUsePlainWords(t *testing.T) {
	t.Parallel()
	for name, text := range documents(t) {
		prose := codeSpan.ReplaceAllString(fence.ReplaceAllString(handWritten(text), ""), "")
		for line := range strings.Lines(prose) {
			if word := banned.FindString(line); word != "" {
				t.Errorf("%s says %q: %s", name, word, strings.TrimSpace(line))
			}
		}
	}
}
