package contract

import "strings"

// supervisor is the extension of the recorded server, as far as a list of extensions shows it. The test does not
// compare its handlers.
func supervisor() map[string]string {
	return map[string]string{
		"agents/supervisor/extension.manifest.json": `{
  "name": "@codex-manager/supervisor",
  "version": "1.0.0",
  "agentId": "supervisor",
  "displayName": "Project Supervisor",
  "runtime": {
    "coreApiVersion": 1,
    "coreApiVersionRange": ">=1 <2",
    "profiles": [{ "name": "codex-manager", "versionRange": ">=1 <2" }]
  },
  "entrypoints": { "events": "./events.js" },
  "capabilities": {
    "events": ["file_change.approval_requested", "turn.completed", "suggest_request.requested", "app_server.item.started"],
    "actions": ["queue.enqueue"]
  }
}
`,
		"agents/supervisor/events.js": `export function registerAgentEvents(registry) {
  for (const type of ["file_change.approval_requested", "turn.completed", "suggest_request.requested", "app_server.item.started"]) {
    registry.on(type, () => undefined);
  }
}
`,
	}
}

// manifestOne is the manifest of the recorder's own extension. Other cases replace parts of it.
const (
	runtimePart = `"runtime":{"coreApiVersion":1,"coreApiVersionRange":">=1 <2",` +
		`"profiles":[{"name":"codex-manager","versionRange":">=1 <2"}]},`
	entrypointPart   = `"entrypoints":{"events":"./events.mjs"},`
	capabilitiesPart = `"capabilities":{"events":["turn.completed"],"actions":[]}`
	manifestOne      = `{"name":"@t/ext-one","version":"1.0.0","agentId":"ext-one","displayName":"Ext One",` +
		runtimePart + entrypointPart + capabilitiesPart + `}`
	eventsOne = `export function registerAgentEvents(registry) { registry.on("turn.completed", () => undefined); }`
)

// extensionSteps has the recorder's changes to its extensions before each reload, by the name of the exchange. A
// change is a file below the root directory, "" for a removed one. The recordings do not contain the files; their
// names and the responses determine them. Each step starts with the unchanged extension.
func extensionSteps(roots string) map[string]map[string]string {
	without := func(part string) string { return strings.Replace(manifestOne, part, "", 1) }
	with := func(part, other string) string { return strings.Replace(manifestOne, part, other, 1) }
	two := strings.NewReplacer("ext-one", "ext-two", "Ext One", "Two").Replace(manifestOne)
	steps := map[string]map[string]string{}
	step := func(name, manifest, events string) map[string]string {
		files := map[string]string{roots + "/ext-one/extension.manifest.json": manifest,
			roots + "/ext-one/events.mjs": events}
		steps[name+" -> reload"] = files
		return files
	}
	step("unchanged", manifestOne, eventsOne)
	step("bad manifest json", `{bad`, eventsOne)
	step("manifest missing fields", `{"name":"@t/ext-one"}`, eventsOne)
	step("unknown manifest field", with(runtimePart, `"extra":1,`+runtimePart), eventsOne)
	step("bad version", with("1.0.0", "x"), eventsOne)
	step("core range incompatible",
		with(`"coreApiVersion":1,"coreApiVersionRange":">=1 <2"`, `"coreApiVersion":2,"coreApiVersionRange":">=2 <3"`),
		eventsOne)
	step("profile incompatible", with(`"name":"codex-manager"`, `"name":"other"`), eventsOne)
	step("no runtime", without(runtimePart), eventsOne)
	step("no capabilities", with(","+capabilitiesPart, ""), eventsOne)
	step("undeclared event", with(`"events":["turn.completed"]`, `"events":[]`), eventsOne)
	step("unknown action capability", with(`"actions":[]`, `"actions":["bogus.action"]`), eventsOne)
	step("events entry missing", with("./events.mjs", "./nope.mjs"), eventsOne)
	step("events entry escapes root", with("./events.mjs", "../../outside.mjs"), eventsOne)
	step("events throws on load", manifestOne, `throw new Error("boom");`)
	step("events syntax error", manifestOne, `export function (`)
	step("no register export", manifestOne, `export const nothing = 1;`)
	step("register throws", manifestOne, `export function registerAgentEvents() { throw new Error("reg boom"); }`)
	step("manifest removed", "", eventsOne)
	step("dir removed", "", "")
	step("restored", manifestOne, eventsOne)
	conflict := step("duplicate name", manifestOne, eventsOne)
	conflict[roots+"/ext-two/extension.manifest.json"], conflict[roots+"/ext-two/events.mjs"] = strings.Replace(
		manifestOne, "Ext One", "Two", 1), eventsOne
	distinct := step("two distinct", manifestOne, eventsOne)
	distinct[roots+"/ext-two/extension.manifest.json"], distinct[roots+"/ext-two/events.mjs"] = two, eventsOne
	return steps
}
