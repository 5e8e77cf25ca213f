package bundle

import (
	"encoding/base64"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/evanw/esbuild/pkg/api"
)

// Use is an outside name that the code uses: a global, a member of one (Options.Members), or a module of Node.
type Use struct {
	Name string
	// Module is true if Name is a module and not a global.
	Module bool
	// Guarded is true if the file first checks whether the name exists: typeof, or globalThis.name alone.
	Guarded bool
	// File is relative to the root; Line and Column locate the first use, from 1.
	File         string
	Line, Column int
}

// Position returns file:line:column.
func (u Use) Position() string { return fmt.Sprintf("%s:%d:%d", u.File, u.Line, u.Column) }

// The analysis uses esbuild's defines: it defines each name of the bundle as another one, and esbuild replaces the
// names that no enclosing scope declares. The source map locates the replacements.
const freeName = "__free_name_"

var (
	word     = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[\p{L}_$][\p{L}\p{N}_$]*`) })
	marker   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(freeName + `(\d+)_`) })
	required = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\b__require\d*\(("[^"\n]*"\))?`) })
	metaUse  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\bimport_meta\d*\.(url|dirname|filename|resolve)\b`) })
)

// keywords are words that cannot be names or exist in every scope.
var keywords = strings.Fields(
	`arguments await break case catch class const continue debugger default delete do else enum eval export extends
	false finally for function if implements import in instanceof interface let new null package private protected public return static super
	switch this throw true try typeof undefined var void while with yield NaN Infinity`)

// freeUses finds the outside names of a bundle, one Use per name and file. sourceMap is the bundle's source map.
func freeUses(code, sourceMap []byte, members []string) ([]Use, error) {
	names := map[string]bool{}
	for _, name := range word().FindAllString(string(code), -1) {
		names[name] = true
	}
	for _, name := range keywords {
		delete(names, name)
	}
	for _, member := range members {
		names[member] = true
	}
	list := make([]string, 0, len(names))
	define := make(map[string]string, len(names))
	for name := range names {
		define[name] = freeName + strconv.Itoa(len(list)) + "_"
		list = append(list, name)
	}
	input := string(code) + "\n//# sourceMappingURL=data:application/json;base64," +
		base64.StdEncoding.EncodeToString(sourceMap)
	result := api.Transform(input, api.TransformOptions{
		Define: define, Sourcemap: api.SourceMapExternal, SourcesContent: api.SourcesContentExclude, Sourcefile: outFile,
		Target: api.ESNext, Charset: api.CharsetUTF8, LogLevel: api.LogLevelSilent, TsconfigRaw: "{}",
	})
	if len(result.Errors) > 0 {
		return nil, fmt.Errorf("look through the bundle: %s", result.Errors[0].Text)
	}
	positions, err := parseMap(result.Map)
	if err != nil {
		return nil, err
	}
	found := &uses{guarded: map[string]bool{}}
	for number, line := range strings.Split(string(result.Code), "\n") {
		for _, at := range marker().FindAllStringSubmatchIndex(line, -1) {
			index, err := strconv.Atoi(line[at[2]:at[3]])
			if err != nil || index >= len(list) {
				continue
			}
			found.add(list[index], isGuard(list[index], line, at[0], at[1]), positions.find(number, line[:at[0]]))
		}
		for _, at := range required().FindAllStringSubmatchIndex(line, -1) {
			if at[2] < 0 || !isBuiltin(strings.Trim(line[at[2]:at[3]], `")`)) {
				found.add("require", false, positions.find(number, line[:at[0]]))
			}
		}
		for _, at := range metaUse().FindAllStringSubmatchIndex(line, -1) {
			found.add("import.meta."+line[at[2]:at[3]], false, positions.find(number, line[:at[0]]))
		}
	}
	return found.finish(), nil
}

// isGuard reports whether a use only checks whether the name exists.
func isGuard(name, line string, from, to int) bool {
	if strings.HasSuffix(line[:from], "typeof ") {
		return true
	}
	// A member of globalThis that does not exist is undefined; only a use of that value fails.
	return strings.HasPrefix(name, "globalThis.") && (to >= len(line) || !strings.ContainsRune(".([", rune(line[to])))
}

type uses struct {
	list    []Use
	guarded map[string]bool
}

func (u *uses) add(name string, guard bool, at position) {
	if at.file == "" || strings.HasPrefix(at.file, sdkNamespace+":") {
		return // esbuild's own helpers, and this package's
	}
	name = strings.TrimPrefix(name, "globalThis.")
	if guard {
		u.guarded[at.file+"\n"+name] = true
	}
	same := slices.IndexFunc(u.list, func(one Use) bool { return one.Name == name && one.File == at.file })
	use := Use{Name: name, File: at.file, Line: at.line, Column: at.column}
	if same < 0 {
		u.list = append(u.list, use)
	} else if one := u.list[same]; use.Line < one.Line || (use.Line == one.Line && use.Column < one.Column) {
		u.list[same] = use
	}
}

func (u *uses) finish() []Use {
	for i := range u.list {
		u.list[i].Guarded = u.guarded[u.list[i].File+"\n"+u.list[i].Name]
	}
	sortUses(u.list)
	return u.list
}

func sortUses(list []Use) {
	slices.SortFunc(list, func(a, b Use) int {
		if order := strings.Compare(a.File, b.File); order != 0 {
			return order
		}
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Column - b.Column
	})
}
