package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// repository writes files into a new folder.
func repository(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		file := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func read(t *testing.T, parts ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(parts...))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func requireText(t *testing.T, text string, wanted ...string) {
	t.Helper()
	for _, part := range wanted {
		if !strings.Contains(text, part) {
			t.Errorf("%q is not in\n%s", part, text)
		}
	}
}

func TestPagesBecomeASite(t *testing.T) {
	t.Parallel()
	root := repository(t, map[string]string{
		"README.md": "# Thing\n\nThing does it. More.\n\nSee [api.md](docs/api.md#two-words-ours), [the license](LICENSE), ![a](docs/pictures/a.png).\n",
		"LICENSE":   "MIT",
		"docs/api.md": "# API: `GET /x`\n\nWhat it is. Then more.\n\n## Two words *(ours)*\n\n## Two words *(ours)*\n\n<a id=\"old\"></a>\n\n" +
			"| a | b |\n|---|---|\n| 1 | [up](../README.md) |\n\n```sh\necho '[x](README.md)'\n```\n",
		"docs/runtimes/README.md": "# Runtimes\n\nAll. [one](one.md), [api](../api.md#old), [again](../api.md#two-words-ours-1), [here](#runtimes)\n",
		"docs/runtimes/one.md":    "# One\n\nFirst.\n",
		"docs/pictures/a.png":     "png",
		"docs/pictures/unused":    "",
	})
	out := filepath.Join(t.TempDir(), "site")
	for range 2 { // the second replaces the first
		if pages, err := build(root, out, ""); err != nil || pages != 4 {
			t.Fatalf("%d pages, %v", pages, err)
		}
	}
	index := read(t, out, "index.html")
	requireText(t, index, `<a href="api.html#two-words-ours">API</a>`, "the license,", `src="pictures/a.png"`, `href="runtimes/index.html"`,
		`<title>Thing</title>`, `href="style.css"`)
	requireText(t, read(t, out, "api.html"), `<h2 id="two-words-ours">`, `<div class="table"><table>`, `href="index.html">up`,
		`echo '[x](README.md)'`, `<a id="old">`, "<title>API: GET /x – Thing</title>", `aria-current="page"`)
	requireText(t, read(t, out, "runtimes/index.html"), `href="one.html"`, `href="../api.html#old"`, `href="../style.css"`, `href="#runtimes"`)
	requireText(t, read(t, out, "index.md"), "[api.md](api.md#two-words-ours)", "![a](pictures/a.png)")
	requireText(t, read(t, out, "api.md"), "[up](index.md)", "'[x](README.md)'")
	requireText(t, read(t, out, "llms.txt"), "# Thing\n\n> Thing does it.\n", "\n## APIs\n\n- [API](api.md): What it is.\n",
		"- [One](runtimes/one.md): First.\n")
	if _, err := os.Stat(filepath.Join(out, "pictures", "unused")); err == nil {
		t.Error("a file that no page shows is in the site")
	}
	if _, err := build(root, out, "https://host.example/tree/"); err != nil {
		t.Fatal(err)
	}
	requireText(t, read(t, out, "index.html"), `<a href="https://host.example/tree/LICENSE">the license</a>`)
}

func TestABrokenLinkFails(t *testing.T) {
	t.Parallel()
	for link, said := range map[string]string{
		"docs/none.md":      "leads to no file",
		"../outside.md":     "leads to no file",
		"docs/a.md#none":    "an anchor",
		"#nowhere":          "an anchor",
		"docs/pictures/x.p": "leads to no file",
	} {
		root := repository(t, map[string]string{"README.md": "# T\n\n[x](" + link + ")\n", "docs/a.md": "# A\n"})
		out := filepath.Join(t.TempDir(), "site")
		if _, err := build(root, out, ""); err == nil || !strings.Contains(err.Error(), said) || !strings.Contains(err.Error(), "README.md") {
			t.Errorf("%s: %v", link, err)
		}
		if _, err := os.Stat(out); err == nil {
			t.Errorf("%s: a site was made", link)
		}
	}
}

// TestTheSiteOfThisRepository: each page exists in both forms, and every link of every page leads to a file and an
// anchor of the site.
func TestTheSiteOfThisRepository(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "site")
	pages, err := build("../..", out, "")
	if err != nil {
		t.Fatal(err)
	}
	made, err := filepath.Glob(filepath.Join(out, "*.html"))
	if err != nil {
		t.Fatal(err)
	}
	below, err := filepath.Glob(filepath.Join(out, "*", "*.html"))
	if err != nil {
		t.Fatal(err)
	}
	if made = append(made, below...); len(made) != pages || pages < 20 {
		t.Errorf("%d pages, %d files", pages, len(made))
	}
	link, id := regexp.MustCompile(`(?:href|src)="([^"]+)"`), regexp.MustCompile(`id="([^"]+)"`)
	ids := func(file string) (all []string) {
		for _, found := range id.FindAllStringSubmatch(read(t, file), -1) {
			all = append(all, found[1])
		}
		return all
	}
	for _, file := range made {
		text := read(t, file)
		if strings.Contains(text, "<script") {
			t.Errorf("%s has a script", file)
		}
		read(t, strings.TrimSuffix(file, ".html")+".md")
		for _, found := range link.FindAllStringSubmatch(text, -1) {
			if strings.Contains(found[1], "://") || strings.HasPrefix(found[1], "data:") {
				continue
			}
			name, fragment, _ := strings.Cut(found[1], "#")
			target := file
			if name != "" {
				target = filepath.Join(filepath.Dir(file), filepath.FromSlash(name))
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s: %s: %v", file, found[1], err)
			} else if fragment != "" && !strings.Contains(" "+strings.Join(ids(target), " ")+" ", " "+fragment+" ") {
				t.Errorf("%s: %s has no such anchor", file, found[1])
			}
		}
	}
	list := read(t, out, "llms.txt")
	for _, found := range regexp.MustCompile(`\]\(([^)]+)\)`).FindAllStringSubmatch(list, -1) {
		read(t, out, filepath.FromSlash(found[1]))
	}
	if lines := strings.Count(list, "\n- ["); lines != pages {
		t.Errorf("llms.txt lists %d of %d pages", lines, pages)
	}
}
