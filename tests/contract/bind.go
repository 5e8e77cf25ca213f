package contract

import (
	"maps"
	"net/url"
	"regexp"
	"strings"
)

// Ids assigned by the recorded server or its runtime: UUIDs, and the ids of the model's items and calls.
const uuidPattern = `[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`

var (
	idPattern = regexp.MustCompile(uuidPattern + `|\b(?:call|msg|rs|fc|resp)_[0-9a-zA-Z]+(?:[_-][0-9a-zA-Z-]+)*`)
	// requestEntryPattern is the message id of an interactive request's transcript entry.
	requestEntryPattern = regexp.MustCompile(`\b(approval|tool-input|tool-call)-(?:` + uuidPattern + `|\d+)(?:-\d+)?`)
	// requestPathPattern is a request's id in a path; codex-manager numbers them 0, 1, ...
	requestPathPattern = regexp.MustCompile(`^(/api/(?:approvals|tool-input|tool-calls)/)(\d+)(/)`)
	isoTimePattern     = regexp.MustCompile(`20\d\d-\d\d-\d\dT\d\d[:-]\d\d[:-]\d\d(?:\.\d+)?Z?`)
	datePathPattern    = regexp.MustCompile(`/20\d\d/\d\d/\d\d/`)
	epochPattern       = regexp.MustCompile(`\b17[89]\d{7}(?:\d{3})?\b`)
	outcomePattern     = regexp.MustCompile(`("(?:aggregatedOutput|exitCode|status)": )[^\n]*`)
	durationPattern    = regexp.MustCompile(`("(?:durationMs|processId|approvalId|requestId)": )[^,\n]+`)
	recordedHome       = regexp.MustCompile(`\{\{LAB\}\}/run/\w+/codex-home`)
	controlsPattern    = regexp.MustCompile(`\bsession-controls-\d+-[0-9a-f]{8}\b`)
	commandPattern     = regexp.MustCompile(`Command execution (?:failed|completed)`)
	answerPattern      = regexp.MustCompile(`Mock answer \d+`)
	portPattern        = regexp.MustCompile(`http://127\.0\.0\.1:\d+`)
	// codex starts the paths of a diff at the workspace or at a directory above it.
	diffPathPattern = regexp.MustCompile(`\b([ab])/(?:[^/\s"]+/)+(gold-[^/\s"]+)`)
)

// Place is a directory of the replay, with its placeholder in the recordings.
type Place struct{ Placeholder, Folder string }

// bindings maps the recorded server's names to the names on this server.
type bindings struct {
	toOurs, toRecorded map[string]string
	// lost are ids of a recorded response that this server does not give. Requests that need them cannot be compared.
	lost   map[string]bool
	places []Place
}

func newBindings(places []Place) *bindings {
	return &bindings{toOurs: map[string]string{}, toRecorded: map[string]string{}, lost: map[string]bool{}, places: places}
}

// bind adds a pair, and reports whether it agrees with the existing pairs.
func (b *bindings) bind(recorded, ours string) bool {
	if known, has := b.toOurs[recorded]; has {
		return known == ours
	}
	if _, taken := b.toRecorded[ours]; taken {
		return false
	}
	b.toOurs[recorded], b.toRecorded[ours] = ours, recorded
	delete(b.lost, recorded)
	return true
}

func requestID(number string) string { return "request " + number }

// outgoing rewrites a recorded text for this server.
func (b *bindings) outgoing(text string) string {
	for _, place := range b.places {
		text = strings.ReplaceAll(text, place.Placeholder, place.Folder)
	}
	return idPattern.ReplaceAllStringFunc(text, func(id string) string {
		if ours, has := b.toOurs[id]; has {
			return ours
		}
		return id
	})
}

// path rewrites a recorded request target for this server.
func (b *bindings) path(target string) string {
	if m := requestPathPattern.FindStringSubmatch(target); m != nil {
		if ours, has := b.toOurs[requestID(m[2])]; has {
			target = m[1] + ours + target[len(m[1])+len(m[2]):]
		}
	}
	for recorded, ours := range b.toOurs {
		if cursor, is := strings.CutPrefix(recorded, "cursor "); is {
			target = strings.ReplaceAll(target, url.QueryEscape(cursor), url.QueryEscape(ours))
			target = strings.ReplaceAll(target, cursor, url.QueryEscape(ours))
		}
	}
	return b.outgoing(target)
}

// needsLost reports whether a request names an object that was never created here.
func (b *bindings) needsLost(text string) bool {
	for _, id := range idPattern.FindAllString(text, -1) {
		if b.lost[id] {
			return true
		}
	}
	return false
}

// lose marks the ids of a response that this server did not give.
func (b *bindings) lose(text string) {
	for _, id := range idPattern.FindAllString(text, -1) {
		if _, known := b.toOurs[id]; !known {
			b.lost[id] = true
		}
	}
}

// normal removes variable parts of a text, except ids.
func (b *bindings) normal(text string) string {
	for _, place := range b.places {
		text = strings.ReplaceAll(text, place.Folder, place.Placeholder)
	}
	// The recorded model patched files in its own directory.
	text = strings.ReplaceAll(text, "{{LAB}}/home/w/gold-", "{{WORK}}/gold-")
	text = diffPathPattern.ReplaceAllString(text, "$1/$2")
	text = recordedHome.ReplaceAllString(text, "{{CODEX_HOME}}")
	text = requestEntryPattern.ReplaceAllString(text, "$1-<request>")
	text = controlsPattern.ReplaceAllString(text, "session-controls-<time>-<random>")
	text = isoTimePattern.ReplaceAllString(text, "<time>")
	text = datePathPattern.ReplaceAllString(text, "/<date>/")
	text = epochPattern.ReplaceAllString(text, "<time>")
	text = durationPattern.ReplaceAllString(text, "$1<any>")
	text = commandPattern.ReplaceAllString(text, "Command execution <ended>")
	if strings.Contains(text, `"type": "commandExecution"`) {
		text = outcomePattern.ReplaceAllString(text, "$1<any>")
	}
	text = answerPattern.ReplaceAllString(text, "Mock answer <n>")
	return portPattern.ReplaceAllString(text, "http://127.0.0.1:<port>")
}

// sameText compares the texts between the ids, and binds the ids.
func (b *bindings) sameText(recorded, ours string) bool {
	if recorded == ours {
		return true
	}
	recorded, ours = b.normal(recorded), b.normal(ours)
	theirIDs, ourIDs := idPattern.FindAllString(recorded, -1), idPattern.FindAllString(ours, -1)
	if len(theirIDs) != len(ourIDs) ||
		idPattern.ReplaceAllString(recorded, "<id>") != idPattern.ReplaceAllString(ours, "<id>") {
		return false
	}
	for i := range theirIDs {
		if !b.bind(theirIDs[i], ourIDs[i]) {
			return false
		}
	}
	return true
}

// fork returns a copy for a trial comparison. adopt keeps its bindings.
func (b *bindings) fork() *bindings {
	return &bindings{toOurs: maps.Clone(b.toOurs), toRecorded: maps.Clone(b.toRecorded), lost: maps.Clone(b.lost),
		places: b.places}
}

func (b *bindings) adopt(tried *bindings) {
	b.toOurs, b.toRecorded, b.lost = tried.toOurs, tried.toRecorded, tried.lost
}
