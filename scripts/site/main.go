// Command site turns the documentation of a repository into a static site: README.md becomes the index, each page below
// docs/ an HTML file with a Markdown copy in the same folder. The command needs no network, and its pages need no
// JavaScript. A broken relative link fails the build.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	source := flag.String("source", "../..", "folder of the repository")
	out := flag.String("out", "../../dist/site", "folder of the site; it is replaced")
	repository := flag.String("repository", "", "URL prefix for links to other files of the repository; without it they become text")
	flag.Parse()
	pages, err := build(*source, *out, *repository)
	if err != nil {
		fmt.Fprintln(os.Stderr, "site:", err)
		os.Exit(1)
	}
	_, _ = fmt.Fprintf(os.Stdout, "%s: %d pages\n", *out, pages)
}
