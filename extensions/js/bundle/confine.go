package bundle

import (
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/evanw/esbuild/pkg/api"
)

// confinement limits imports by two checks. The resolved path must be in the root, and os.Root opens the file. os.Root
// follows no link out of the root, even if a link is swapped in between.
type confinement struct {
	root    *os.Root
	options Options
	// builtins allows imports of Node's modules.
	builtins bool
	// tsconfig are the settings of TypeScript, as JSON.
	tsconfig string
	total    atomic.Int64
	mu       sync.Mutex
	files    []string // the files that were read
}

func newConfinement(root *os.Root, o Options, builtins bool) *confinement {
	return &confinement{root: root, options: o, builtins: builtins}
}

// builtin identifies the refusal of a module of Node.
type builtin string

// ownResolve marks a resolution that this plugin requested.
type ownResolve struct{}

func (c *confinement) plugin() api.Plugin {
	return api.Plugin{Name: "confinement", Setup: func(build api.PluginBuild) {
		build.OnResolve(api.OnResolveOptions{Filter: ".*"}, func(args api.OnResolveArgs) (api.OnResolveResult, error) {
			if _, own := args.PluginData.(ownResolve); own || args.Namespace == sdkNamespace {
				return api.OnResolveResult{}, nil
			}
			return c.resolve(build, args)
		})
		build.OnLoad(api.OnLoadOptions{Filter: ".*", Namespace: sdkNamespace},
			func(api.OnLoadArgs) (api.OnLoadResult, error) {
				source := sdkSource
				return api.OnLoadResult{Contents: &source, Loader: api.LoaderJS}, nil
			})
		build.OnLoad(api.OnLoadOptions{Filter: ".*"}, func(args api.OnLoadArgs) (api.OnLoadResult, error) {
			return c.load(args.Path)
		})
	}}
}

func (c *confinement) resolve(build api.PluginBuild, args api.OnResolveArgs) (api.OnResolveResult, error) {
	switch {
	case args.Path == SDKModule || strings.HasPrefix(args.Path, SDKModule+"/"):
		return api.OnResolveResult{Path: SDKModule, Namespace: sdkNamespace}, nil
	case isBuiltin(args.Path):
		if c.builtins {
			return api.OnResolveResult{Path: args.Path, External: true}, nil
		}
		refused, err := refuse("%q is a module of Node, and embedded extensions have no file system, network or processes. "+
			"Run this extension out of process: \"runtime\": {\"host\": \"node\"} in its manifest", args.Path)
		refused.Errors[0].Detail = builtin(args.Path)
		return refused, err
	case strings.Contains(args.Path, "://") || strings.HasPrefix(args.Path, "data:"):
		return refuse("%q is not a file; code is imported from the extension's own folder only", args.Path)
	}
	found := build.Resolve(args.Path, api.ResolveOptions{
		Importer: args.Importer, Namespace: args.Namespace, ResolveDir: args.ResolveDir, Kind: args.Kind,
		PluginData: ownResolve{},
	})
	if len(found.Errors) > 0 {
		return api.OnResolveResult{Errors: found.Errors}, nil
	}
	if found.External {
		return refuse("%q can not be bundled", args.Path)
	}
	if _, err := c.relative(found.Path); err != nil {
		return refuse("%q leads out of the extension's folder (%s); only files below it may be imported", args.Path,
			found.Path)
	}
	return api.OnResolveResult{Path: found.Path, Namespace: found.Namespace, SideEffects: sideEffects(found.SideEffects)},
		nil
}

func sideEffects(has bool) api.SideEffects {
	if has {
		return api.SideEffectsTrue
	}
	return api.SideEffectsFalse
}

func refuse(format string, values ...any) (api.OnResolveResult, error) {
	return api.OnResolveResult{Errors: []api.Message{{Text: fmt.Sprintf(format, values...)}}}, nil
}

// relative returns the path below the root with links resolved, or an error if it is outside.
func (c *confinement) relative(path string) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", err
	}
	rel, err := filepath.Rel(c.options.Root, real)
	if err != nil {
		return "", err
	}
	if !filepath.IsLocal(rel) {
		return "", fmt.Errorf("%s lies outside of %s", real, c.options.Root)
	}
	return rel, nil
}

func (c *confinement) load(path string) (api.OnLoadResult, error) {
	loader, ok := loaders[strings.ToLower(filepath.Ext(path))]
	if !ok {
		return api.OnLoadResult{}, fmt.Errorf("files of this kind can not be imported: %s", filepath.Base(path))
	}
	content, err := c.read(path)
	if err != nil {
		return api.OnLoadResult{}, err
	}
	text := string(content)
	if c.options.Target == Node {
		text, loader = placed(text, loader, path, c.tsconfig)
	}
	return api.OnLoadResult{Contents: &text, Loader: loader, ResolveDir: filepath.Dir(path)}, nil
}

// read reads a file of the extension.
func (c *confinement) read(path string) ([]byte, error) {
	rel, err := c.relative(path)
	if err != nil {
		return nil, err
	}
	file, err := c.root.OpenFile(rel, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", rel)
	}
	content, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err != nil {
		return nil, err
	}
	if len(content) > maxFile {
		return nil, fmt.Errorf("%s is larger than %d bytes", rel, maxFile)
	}
	if c.total.Add(int64(len(content))) > maxTotal {
		return nil, fmt.Errorf("the extension's files are larger than %d bytes together", maxTotal)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.files = append(c.files, filepath.Join(c.options.Root, rel))
	return content, nil
}

var ownPosition = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`import\.meta\.(url|dirname|filename)|__dirname|__filename`)
})

// placed replaces a file's names for its own path with the real path: after bundling they would refer to the bundle.
func placed(text string, loader api.Loader, path, tsconfig string) (string, api.Loader) {
	if !ownPosition().MatchString(text) || loader == api.LoaderJSON || loader == api.LoaderText {
		return text, loader
	}
	file, folder := strconv.Quote(path), strconv.Quote(filepath.Dir(path))
	address := strconv.Quote((&url.URL{Scheme: "file", Path: path}).String())
	result := api.Transform(text, api.TransformOptions{
		Loader: loader, Sourcefile: filepath.Base(path), Sourcemap: api.SourceMapInline,
		SourcesContent: api.SourcesContentExclude, Target: api.ES2023, Charset: api.CharsetUTF8, LogLevel: api.LogLevelSilent,
		TsconfigRaw: tsconfig,
		Define: map[string]string{
			"import.meta.url": address, "import.meta.dirname": folder, "import.meta.filename": file, "__dirname": folder,
			"__filename": file,
		},
	})
	if len(result.Errors) > 0 {
		return text, loader // the bundler reports the error
	}
	return string(result.Code), api.LoaderJS
}

var loaders = map[string]api.Loader{
	".js": api.LoaderJS, ".mjs": api.LoaderJS, ".cjs": api.LoaderJS, ".jsx": api.LoaderJSX,
	".ts": api.LoaderTS, ".mts": api.LoaderTS, ".cts": api.LoaderTS, ".tsx": api.LoaderTSX,
	".json": api.LoaderJSON, ".txt": api.LoaderText, ".md": api.LoaderText,
}

// builtins are the modules of Node that need no prefix "node:".
var builtins = []string{
	"assert", "async_hooks", "buffer", "child_process", "cluster", "console", "constants", "crypto", "dgram",
	"diagnostics_channel", "dns", "domain", "events", "fs", "http", "http2", "https", "inspector", "module", "net", "os",
	"path", "perf_hooks", "process", "punycode", "querystring", "readline", "repl", "stream", "string_decoder", "sys",
	"timers", "tls", "trace_events", "tty", "url", "util", "v8", "vm", "wasi", "worker_threads", "zlib",
}

func isBuiltin(path string) bool {
	if strings.HasPrefix(path, "node:") {
		return true
	}
	name, _, _ := strings.Cut(path, "/")
	return slices.Contains(builtins, name)
}
