package codex

import (
	"bytes"

	"harness/runtime"
)

// texts are the notifications that add to a text of an item: the member that tells texts of the same item apart, "" when it has one, and
// where the finished item has the text. command/exec/outputDelta and the realtime ones are not here: base64 cannot be joined as text.
var texts = map[string]struct{ index, into string }{
	"item/agentMessage/delta":         {"", runtime.TextContent},
	"item/plan/delta":                 {"", runtime.TextContent},
	"item/reasoning/textDelta":        {"contentIndex", runtime.TextDetails + "content"},
	"item/reasoning/summaryTextDelta": {"summaryIndex", runtime.TextDetails + "summary"},
	methodCommandOutput:               {"", runtime.TextDetails + "aggregatedOutput"},
	"item/fileChange/outputDelta":     {"", ""},
}

// methodCommandOutput may come after the end of its turn: a command goes on in the background.
const methodCommandOutput = "item/commandExecution/outputDelta"

// textDelta finds the text in a line, nil when the line is of another kind.
func textDelta(method string, raw []byte) runtime.Change {
	known, ok := texts[method]
	if !ok {
		return nil
	}
	params, ok := member(raw, 0, "params")
	if !ok {
		return nil
	}
	text, ok := member(raw, params.start, "delta")
	if !ok || raw[text.start] != '"' {
		return nil
	}
	key, into := method, known.into
	if known.index != "" {
		if at, ok := member(raw, params.start, known.index); ok {
			index := "/" + string(raw[at.start:at.end])
			key, into = key+index, into+index
		}
	}
	return runtime.TextDelta{Key: key, Into: into, Start: text.start, End: text.end, Outlives: method == methodCommandOutput}
}

// span is where a JSON value stands in a line.
type span struct{ start, end int }

// member finds a member of the object that begins at a place of valid JSON; of several with the same name the last one, as decoders do.
func member(raw []byte, object int, name string) (found span, ok bool) {
	eachMember(raw, object, func(key []byte, at span) {
		if string(key) == name {
			found, ok = at, true
		}
	})
	return found, ok
}

// eachMember visits the members of the object that begins at a place of valid JSON, in order.
func eachMember(raw []byte, object int, visit func(name []byte, at span)) {
	at := object + space(raw[object:])
	if at >= len(raw) || raw[at] != '{' {
		return
	}
	for at++; ; {
		at += space(raw[at:])
		if raw[at] == '}' {
			return
		}
		if raw[at] == ',' {
			at++
			continue
		}
		key := raw[at : at+value(raw[at:])]
		at += len(key)
		at += space(raw[at:])
		at++ // the colon
		at += space(raw[at:])
		size := value(raw[at:])
		visit(key[1:len(key)-1], span{at, at + size})
		at += size
	}
}

func space(raw []byte) int { return len(raw) - len(bytes.TrimLeft(raw, " \t\r\n")) }

// stringEnd is where the string ends that something begins with: at the first quote after an even number of backslashes.
func stringEnd(raw []byte) int {
	for at := 1; ; at++ {
		at += bytes.IndexByte(raw[at:], '"')
		plain := bytes.TrimRight(raw[:at], `\`)
		if (at-len(plain))%2 == 0 {
			return at
		}
	}
}

// value is the length of the JSON value something begins with.
func value(raw []byte) int {
	depth := 0
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case '"':
			i += stringEnd(raw[i:])
		case '{', '[':
			depth++
			continue
		case '}', ']':
			depth--
			if depth < 0 {
				return i
			}
		case ',', ' ', '\t', '\r', '\n', ':':
			if depth == 0 {
				return i
			}
			continue
		default:
			continue
		}
		if depth == 0 {
			return i + 1
		}
	}
	return len(raw)
}
