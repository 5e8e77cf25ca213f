package bundle

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
)

// noSettings are the TypeScript settings of an extension without a tsconfig.json. Settings of folders above the root do
// not apply.
const noSettings = "{}"

// maxExtends is the maximum length of a chain of settings files that extend each other.
const maxExtends = 16

// settings returns the TypeScript settings for all files of the extension. They come from the tsconfig.json nearest to
// the entry, in its folder or above, within the root.
func (c *confinement) settings() (string, error) {
	for dir := filepath.Dir(c.options.Entry); ; dir = filepath.Dir(dir) {
		path := filepath.Join(dir, "tsconfig.json")
		if _, err := os.Lstat(path); err == nil {
			options, err := c.compilerOptions(path, dir, maxExtends)
			if err != nil {
				return "", err
			}
			raw, err := json.Marshal(map[string]any{"compilerOptions": options})
			return string(raw), err
		}
		if above, below := strings.CutPrefix(dir, c.options.Root); !below || above == "" || dir == filepath.Dir(dir) {
			return noSettings, nil
		}
	}
}

// tsconfig is the used part of a tsconfig.json.
type tsconfig struct {
	Extends         json.RawMessage            `json:"extends"`
	CompilerOptions map[string]json.RawMessage `json:"compilerOptions"`
}

// compilerOptions returns the options of a settings file and of the files it extends, with absolute paths. configDir is
// the folder of the first file.
func (c *confinement) compilerOptions(path, configDir string, left int) (map[string]any, error) {
	name, err := filepath.Rel(c.options.Root, path)
	if err != nil {
		return nil, err
	}
	if left == 0 {
		return nil, fmt.Errorf("%s: more than %d files extend each other", name, maxExtends)
	}
	content, err := c.read(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	var file tsconfig
	if err := json.Unmarshal(plainJSON(content), &file); err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", name, err)
	}
	bases, err := extended(file.Extends)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	all := map[string]any{}
	for _, base := range bases {
		at, err := c.findBase(filepath.Dir(path), base)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		options, err := c.compilerOptions(at, configDir, left-1)
		if err != nil {
			return nil, err
		}
		maps.Copy(all, options)
	}
	if err := addOptions(all, file.CompilerOptions, filepath.Dir(path), configDir); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return all, nil
}

// extended returns the names in "extends": one or several.
func extended(raw json.RawMessage) (names []string, err error) {
	if raw == nil {
		return nil, nil
	}
	var one string
	if json.Unmarshal(raw, &one) == nil {
		return []string{one}, nil
	}
	if err := json.Unmarshal(raw, &names); err != nil {
		return nil, errors.New(`"extends" names files`)
	}
	return names, nil
}

// findBase finds a settings file that another one extends: by a path, or in a package.
func (c *confinement) findBase(dir, name string) (string, error) {
	var candidates []string
	if strings.HasPrefix(name, ".") || filepath.IsAbs(name) {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		candidates = []string{name, name + ".json"}
	} else {
		for {
			at := filepath.Join(dir, "node_modules", name)
			candidates = append(candidates, at, at+".json", filepath.Join(at, "tsconfig.json"))
			if dir == c.options.Root || dir == filepath.Dir(dir) {
				break
			}
			dir = filepath.Dir(dir)
		}
	}
	for _, candidate := range candidates {
		info, err := os.Stat(candidate)
		if err == nil && info.Mode().IsRegular() {
			return candidate, nil
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("it extends %q: %w", name, err)
		}
	}
	return "", fmt.Errorf("it extends %q, which does not exist", name)
}

// addOptions adds the options for translation and import resolution. It ignores options of the type checker.
func addOptions(all map[string]any, options map[string]json.RawMessage, dir, configDir string) error {
	place := func(path string) string {
		path = strings.ReplaceAll(path, "${configDir}", configDir)
		if filepath.IsAbs(path) {
			return path
		}
		return filepath.Join(dir, path)
	}
	for name, raw := range options {
		switch name {
		case "baseUrl":
			var path string
			if err := json.Unmarshal(raw, &path); err != nil {
				return errors.New("compilerOptions.baseUrl is a text")
			}
			all[name] = place(path)
		case "jsx":
			var how string
			if err := json.Unmarshal(raw, &how); err != nil {
				return errors.New("compilerOptions.jsx is a text")
			}
			if delete(all, name); !strings.EqualFold(how, "preserve") && !strings.EqualFold(how, "react-native") {
				all[name] = how // other values leave it to the engine that runs the code
			}
		case "experimentalDecorators", "jsxFactory", "jsxFragmentFactory", "jsxImportSource", "useDefineForClassFields", "target",
			"verbatimModuleSyntax", "importsNotUsedAsValues", "preserveValueImports", "strict", "alwaysStrict":
			all[name] = raw
		}
	}
	raw, has := options["paths"]
	if !has {
		return nil
	}
	var paths map[string][]string
	if err := json.Unmarshal(raw, &paths); err != nil {
		return errors.New("compilerOptions.paths are lists of paths by pattern")
	}
	if base, is := all["baseUrl"].(string); is {
		dir = base
	}
	for _, targets := range paths {
		for i := range targets {
			targets[i] = place(targets[i])
		}
	}
	all["paths"] = paths
	return nil
}

// plainJSON returns the text of a tsconfig.json without byte order mark, comments and trailing commas. Line numbers do
// not change.
func plainJSON(text []byte) []byte {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	out := make([]byte, 0, len(text))
	comma := -1 // the index in out of a comma that nothing has followed yet
	for i := 0; i < len(text); i++ {
		switch rest := text[i:]; {
		case rest[0] == '"':
			end := i + 1
			for end < len(text) && text[end] != '"' {
				if text[end] == '\\' {
					end++
				}
				end++
			}
			end = min(end, len(text)-1)
			out, comma = append(out, text[i:end+1]...), -1
			i = end
		case bytes.HasPrefix(rest, []byte("//")):
			for i+1 < len(text) && text[i+1] != '\n' {
				i++
			}
		case bytes.HasPrefix(rest, []byte("/*")):
			end := bytes.Index(rest[2:], []byte("*/"))
			if end < 0 {
				end = len(rest) - 4
			}
			out = append(out, bytes.Repeat([]byte("\n"), bytes.Count(rest[:end+4], []byte("\n")))...)
			i += end + 3
		default:
			switch {
			case rest[0] == ',':
				comma = len(out)
			case (rest[0] == '}' || rest[0] == ']') && comma >= 0:
				out[comma] = ' '
			}
			if !bytes.ContainsAny(rest[:1], ", \t\r\n") {
				comma = -1
			}
			out = append(out, rest[0])
		}
	}
	return out
}
