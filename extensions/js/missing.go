package js

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"modernc.org/quickjs"

	"harness/extensions"
	"harness/extensions/js/bundle"
)

// nodeOnly are the globals of Node that this host lacks; members adds "globalThis." and members of present globals.
var nodeOnly = strings.Fields(
	`process Buffer global require module exports __dirname __filename Intl WebAssembly Blob File FormData
	ReadableStream ReadableStreamDefaultReader ReadableStreamBYOBReader ReadableStreamBYOBRequest ReadableByteStreamController
	ReadableStreamDefaultController WritableStream WritableStreamDefaultWriter WritableStreamDefaultController TransformStream
	TransformStreamDefaultController ByteLengthQueuingStrategy CountQueuingStrategy TextEncoderStream TextDecoderStream CompressionStream
	DecompressionStream MessageChannel MessagePort MessageEvent BroadcastChannel Crypto CryptoKey SubtleCrypto WebSocket CloseEvent EventSource
	Navigator navigator Storage localStorage sessionStorage URLPattern Performance PerformanceEntry PerformanceMark PerformanceMeasure
	PerformanceObserver PerformanceObserverEntryList PerformanceResourceTiming
	import.meta.url import.meta.dirname import.meta.filename import.meta.resolve
	crypto.subtle performance.mark performance.measure performance.clearMarks performance.clearMeasures performance.getEntries
	performance.getEntriesByName performance.getEntriesByType performance.timerify performance.eventLoopUtilization performance.nodeTiming
	URL.createObjectURL URL.revokeObjectURL`)

// members returns the names for bundle.Options.Members: the members to search for.
func members() []string {
	out := []string{"globalThis.fetch"}
	for _, name := range nodeOnly {
		switch {
		case strings.HasPrefix(name, "import.meta."): // the bundler already reports them
		case strings.Contains(name, "."):
			out = append(out, name)
		default:
			out = append(out, "globalThis."+name)
		}
	}
	return out
}

// globalNames reads the names of a machine's globals.
func (h *Host) globalNames() (map[string]bool, error) {
	settings, err := newModule(h, extensions.Source{}, "", nil).settings()
	if err != nil {
		return nil, err
	}
	e, err := h.newEngine(settings, func(string, int, string) string { return "" })
	if err != nil {
		return nil, err
	}
	defer e.close()
	text, err := e.vm.Eval("JSON.stringify(Object.getOwnPropertyNames(globalThis))", quickjs.EvalGlobal)
	if err != nil {
		return nil, fmt.Errorf("list a JavaScript machine's globals: %w", err)
	}
	var names []string
	if err := json.Unmarshal(fmt.Append(nil, text), &names); err != nil {
		return nil, fmt.Errorf("list a JavaScript machine's globals: %w", err)
	}
	have := make(map[string]bool, len(names))
	for _, name := range names {
		have[name] = true
	}
	return have, nil
}

// missing lists the names that the code uses and this host lacks. inNode reports, in the same order, which names Node
// has.
func (h *Host) missing(used []bundle.Use, fetch bool) (list []extensions.Missing, inNode []bool, err error) {
	have, err := h.globals()
	if err != nil {
		return nil, nil, err
	}
	for _, use := range used {
		one := extensions.Missing{Name: use.Name, Position: use.Position(), Guarded: use.Guarded}
		inRuntime := use.Module || slices.Contains(nodeOnly, use.Name)
		switch {
		case use.Module:
			one.Remedy = "is a module of Node. " + nodeAdvice
		case inRuntime:
			one.Remedy = "is not there in embedded extensions. " + nodeAdvice
		case use.Name == "fetch" && !fetch:
			// fetch exists and refuses, so a check whether it exists does not help.
			one.Guarded, one.Remedy = false, strings.TrimPrefix(fetchAdvice, "fetch ")
		case use.Name == "fetch" || have[use.Name]:
			continue
		default:
			one.Remedy = "is declared nowhere. Import it, declare it or correct its name."
		}
		list, inNode = append(list, one), append(inNode, inRuntime)
	}
	return list, inNode, nil
}
