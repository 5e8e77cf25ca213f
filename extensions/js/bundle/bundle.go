// Package bundle turns the source files of one extension (JavaScript or TypeScript) into one script.
//
// It owns what an extension may import (files below its own roots, the SDK's module, and for Node its built-ins) and how TypeScript becomes
// JavaScript. It must never run anything, and knows neither engines nor processes nor events.
package bundle

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

// Target is where the script will run.
type Target int

const (
	// Embedded makes one classic script whose last expression is the module's exports: no module system, no Node.
	Embedded Target = iota
	// Node makes one ES module; Node's built-in modules stay imports.
	Node
)

// Limits of what is read from an extension's folder.
const (
	maxFile  = 4 << 20  // bytes of one source file
	maxTotal = 16 << 20 // bytes of all of them
)

// Options say what to bundle.
type Options struct {
	// Root is the folder all imports must lie in once symbolic links are followed; absolute and itself without links.
	Root string
	// Entry is the absolute path of the file that exports registerAgentEvents.
	Entry string
	// Target is where the script runs.
	Target Target
}

// Build reads the extension anew and returns the script. The error is meant for the extension's author: it names file and line.
//
// Nothing is cached: a helper module that was edited counts at the next load (codex-manager keeps the old one).
func Build(o Options) ([]byte, error) {
	root, err := os.OpenRoot(o.Root)
	if err != nil {
		return nil, fmt.Errorf("open the extension's folder: %w", err)
	}
	defer func() { _ = root.Close() }()
	result := api.Build(api.BuildOptions{
		EntryPoints:   []string{o.Entry},
		AbsWorkingDir: o.Root,
		Bundle:        true,
		Write:         false,
		Outfile:       "bundle.js",
		Format:        format(o.Target),
		GlobalName:    globalName(o.Target),
		Platform:      platform(o.Target),
		// Without Node as the platform esbuild would look at no field of a package.json at all.
		MainFields: []string{"module", "main"},
		Target:     api.ES2023,
		Charset:    api.CharsetUTF8,
		LogLevel:   api.LogLevelSilent,
		// Settings of whoever owns a folder further up are not the extension's.
		TsconfigRaw: "{}",
		Plugins:     []api.Plugin{newConfinement(root, o).plugin()},
	})
	if len(result.Errors) > 0 {
		return nil, describe(result.Errors, o.Root)
	}
	if len(result.OutputFiles) != 1 {
		return nil, fmt.Errorf("bundling made %d files instead of one", len(result.OutputFiles))
	}
	code := result.OutputFiles[0].Contents
	if o.Target == Embedded {
		// The function keeps the exports out of the global scope, and strict mode is what a module has.
		code = []byte("(function () { \"use strict\";\n" + string(code) + "\nreturn " + exportsName + ";\n})()")
	}
	return code, nil
}

// exportsName holds the module's exports inside the script.
const exportsName = "__extensionExports"

func format(t Target) api.Format {
	if t == Node {
		return api.FormatESModule
	}
	return api.FormatIIFE
}

func globalName(t Target) string {
	if t == Node {
		return ""
	}
	return exportsName
}

func platform(t Target) api.Platform {
	if t == Node {
		return api.PlatformNode
	}
	return api.PlatformNeutral
}

// describe makes one error of what esbuild found: at most five lines "file:line:column: what".
func describe(messages []api.Message, root string) error {
	const most = 5
	lines := make([]string, 0, most+1)
	for i, m := range messages {
		if i == most {
			lines = append(lines, fmt.Sprintf("and %d more", len(messages)-most))
			break
		}
		text := m.Text
		if m.Location != nil {
			file := m.Location.File
			if filepath.IsAbs(file) {
				if rel, err := filepath.Rel(root, file); err == nil {
					file = rel
				}
			}
			text = fmt.Sprintf("%s:%d:%d: %s", file, m.Location.Line, m.Location.Column+1, text)
		}
		lines = append(lines, text)
	}
	return errors.New(strings.Join(lines, "\n"))
}
