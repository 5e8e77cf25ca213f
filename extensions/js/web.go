package js

import (
	"crypto/rand"
	"embed"
	"encoding/base64"
	"encoding/json"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"harness/extensions"
)

//go:embed web/*.js
var webSources embed.FS

// webGlobals returns the web globals that a machine creates at their first use, with their file in web/.
func webGlobals() map[string]string {
	globals := map[string]string{}
	for part, names := range map[string][]string{
		"events": {"DOMException", "Event", "CustomEvent", "EventTarget", "AbortController", "AbortSignal"},
		"text":   {"TextEncoder", "TextDecoder", "atob", "btoa"},
		"url":    {"URL", "URLSearchParams"},
		"clone":  {"structuredClone"},
		"system": {"crypto", "performance"},
		"fetch":  {"fetch", "Headers", "Request", "Response"},
	} {
		for _, name := range names {
			globals[name] = part
		}
	}
	return globals
}

// nodeAdvice is the remedy for a name that Node has and the embedded host lacks.
const nodeAdvice = `Run this extension in Node: "runtime": {"host": "node"} in its manifest.`

// settings returns the configuration of the prelude.
func (m *module) settings() ([]byte, error) {
	limits := m.host.limits
	return json.Marshal(map[string]any{
		"result": limits.MaxResult, "calls": limits.MaxCalls, "timers": limits.MaxTimers, "handlers": limits.MaxHandlers,
		"message": maxMessage, "log": maxLog, "late": extensions.LateCall, "globals": webGlobals(), "remedy": nodeAdvice,
		"fetch": m.network != nil, "fetchAdvice": fetchAdvice,
	})
}

// maxRandom limits one call of crypto.getRandomValues, in bytes.
const maxRandom = 64 << 10

// answer serves a synchronous request of the machine: all are fast and have no effects.
func (i *instance) answer(operation, text string) string {
	switch operation {
	case "source":
		source, err := webSources.ReadFile("web/" + text + ".js")
		if err != nil {
			return "" // only an extension that broke the prelude sends other requests
		}
		return string(source)
	case "url":
		return askURL(text)
	case "random":
		size, err := strconv.Atoi(text)
		if err != nil || size < 0 || size > maxRandom {
			return ""
		}
		bytes := make([]byte, size)
		_, _ = rand.Read(bytes) // rand.Read never fails
		return base64.StdEncoding.EncodeToString(bytes)
	case "encode":
		return base64.StdEncoding.EncodeToString([]byte(text))
	case "decode":
		bytes, err := base64.StdEncoding.DecodeString(text)
		if err != nil || !utf8.Valid(bytes) {
			return ""
		}
		return string(bytes)
	case "btoa":
		bytes := make([]byte, 0, len(text))
		for _, character := range text {
			bytes = append(bytes, byte(character)) // web/text.js passes only U+0000 to U+00FF
		}
		return base64.StdEncoding.EncodeToString(bytes)
	case "uuid":
		return uuid.NewString()
	case "now":
		return milliseconds(time.Since(i.started))
	case "origin":
		return milliseconds(time.Duration(i.started.UnixNano()))
	}
	return ""
}

// milliseconds formats a duration in JavaScript's milliseconds, to the microsecond.
func milliseconds(d time.Duration) string {
	return strconv.FormatFloat(float64(d.Microseconds())/1000, 'f', 3, 64)
}
