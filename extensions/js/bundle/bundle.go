// Package bundle turns the source files of one extension (JavaScript or TypeScript) into one script.
//
// It owns what an extension may import (files below its own roots, the SDK's module, and for Node its built-ins) and
// how TypeScript becomes JavaScript. It must never run anything, and must never know engines, processes or events.
package bundle

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

// Target is the engine of the script.
type Target int

const (
	// Embedded makes one classic script whose last expression is the module's exports: no module system, no Node.
	Embedded Target = iota
	// Node makes one ES module; Node's built-in modules stay imports.
	Node
)

// Limits of reads from an extension's folder.
const (
	maxFile  = 4 << 20  // bytes of one source file
	maxTotal = 16 << 20 // bytes of all source files
)

// Options configure Build.
type Options struct {
	// Root is the folder that must contain all imports after symbolic links are resolved; absolute and without links.
	Root string
	// Entry is the absolute path of the file that exports registerAgentEvents.
	Entry string
	// Target is the engine of the script.
	Target Target
	// Members are members of globals that Result.Uses lists as separate names, such as "crypto.subtle".
	Members []string
}

// Result is one bundled extension.
type Result struct {
	// Code is the script.
	Code []byte
	// Uses are the outside names that the code uses, with file and position.
	Uses []Use
	// Files are the extension's source files, with links resolved.
	Files []string
}

// BuiltinError reports that the code imports modules of Node for a target without them; Result.Uses names them.
type BuiltinError struct{ Message string }

// Error implements error.
func (e *BuiltinError) Error() string { return e.Message }

// Build reads the extension and makes the script. The error is for the extension's author: it names file and line.
//
// Nothing is cached: the next load includes an edited helper module (codex-manager keeps the old one).
func Build(o Options) (Result, error) {
	root, err := os.OpenRoot(o.Root)
	if err != nil {
		return Result{}, fmt.Errorf("open the extension's folder: %w", err)
	}
	defer func() { _ = root.Close() }()
	confined := newConfinement(root, o, o.Target == Node)
	if confined.tsconfig, err = confined.settings(); err != nil {
		return Result{}, err
	}
	built := run(o, confined)
	modules, onlyBuiltins := builtinUses(built.Errors)
	var refused error
	if len(built.Errors) > 0 {
		refused = describe(built.Errors, o.Root)
		if !onlyBuiltins {
			return Result{}, refused
		}
		// The result also has all other uses.
		refused = &BuiltinError{Message: refused.Error()}
		again := newConfinement(root, o, true)
		again.tsconfig = confined.tsconfig
		if built = run(o, again); len(built.Errors) > 0 {
			return Result{}, describe(built.Errors, o.Root)
		}
	}
	if len(built.OutputFiles) != 2 {
		return Result{}, fmt.Errorf("bundling made %d files instead of two", len(built.OutputFiles))
	}
	sourceMap, code := built.OutputFiles[0].Contents, built.OutputFiles[1].Contents
	uses, err := freeUses(code, sourceMap, o.Members)
	if err != nil {
		return Result{}, err
	}
	uses = append(uses, modules...)
	sortUses(uses)
	if o.Target == Embedded {
		// The function keeps the exports out of the global scope; modules are strict.
		code = []byte("(function () { \"use strict\";\n" + string(code) + "\nreturn " + exportsName + ";\n})()")
	}
	return Result{Code: code, Uses: uses, Files: confined.files}, refused
}

// outFile is the script's name during bundling.
const outFile = "bundle.js"

func run(o Options, confined *confinement) api.BuildResult {
	return api.Build(api.BuildOptions{
		EntryPoints:   []string{o.Entry},
		AbsWorkingDir: o.Root,
		Bundle:        true,
		Write:         false,
		Outfile:       outFile,
		Format:        format(o.Target),
		GlobalName:    globalName(o.Target),
		Platform:      platform(o.Target),
		// Without Node as the platform, esbuild would ignore all fields of a package.json.
		MainFields: []string{"module", "main"},
		Target:     api.ES2023,
		Charset:    api.CharsetUTF8,
		LogLevel:   api.LogLevelSilent,
		// The source map only locates positions; it is not part of the script.
		Sourcemap:      api.SourceMapExternal,
		SourcesContent: api.SourcesContentExclude,
		TsconfigRaw:    confined.tsconfig,
		Plugins:        []api.Plugin{confined.plugin()},
	})
}

// builtinUses finds the imports of Node's modules in esbuild's errors; only reports that there were no other errors.
func builtinUses(messages []api.Message) (found []Use, only bool) {
	for _, m := range messages {
		name, is := m.Detail.(builtin)
		if !is || m.Location == nil {
			return nil, false
		}
		found = append(found, Use{Name: string(name), Module: true, File: m.Location.File, Line: m.Location.Line,
			Column: m.Location.Column + 1})
	}
	return found, true
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

// describe converts esbuild's messages to one error: at most five lines "file:line:column: problem".
func describe(messages []api.Message, root string) error {
	const most = 5
	lines := make([]string, 0, most+1)
	for i, m := range messages {
		if i == most {
			lines = append(lines, fmt.Sprintf("and %d more", len(messages)-most))
			break
		}
		text := m.Text
		if strings.HasPrefix(text, "Top-level await is") { // esbuild cannot do this in one of the two formats
			text = "top-level await does not work in embedded extensions: await in registerAgentEvents, or run this extension out of " +
				"process: \"runtime\": {\"host\": \"node\"} in its manifest"
		}
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
