package main

import (
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"runtime/debug"

	"github.com/google/uuid"
)

// component is a component of a CycloneDX document.
type component struct {
	Type    string `json:"type"`
	Ref     string `json:"bom-ref,omitempty"`
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	Purl    string `json:"purl,omitempty"`
}

// materials writes the bill of materials of a program (CycloneDX 1.6): the modules recorded in the program itself.
func (r *release) materials(p platform) error {
	info, err := buildinfo.ReadFile(r.programs[p])
	if err != nil {
		return fmt.Errorf("read what is in the program for %s: %w", p, err)
	}
	ref := func(path, version string) string { return "pkg:golang/" + path + "@" + version }
	components := []component{{Type: "library", Ref: ref("std", info.GoVersion), Name: "std", Version: info.GoVersion,
		Purl: ref("std", info.GoVersion)}}
	for _, module := range info.Deps {
		used := module
		if module.Replace != nil {
			used = module.Replace
		}
		if used.Version == "" { // a folder of this repository
			used = &debug.Module{Path: module.Path, Version: r.Version}
		}
		components = append(components, component{"library", ref(used.Path, used.Version), used.Path, used.Version,
			ref(used.Path, used.Version)})
	}
	main := component{"application", ref("harness", r.Version), "harness", r.Version, ref("harness", r.Version)}
	document := map[string]any{
		"$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json", "bomFormat": "CycloneDX", "specVersion": "1.6",
		"version": 1, "serialNumber": "urn:uuid:" +
			uuid.NewSHA1(uuid.NameSpaceURL, []byte("harness/"+r.Version+"/"+p.String()+"/"+revision(info))).String(),
		"metadata": map[string]any{"timestamp": r.Date.Format("2006-01-02T15:04:05Z"), "component": main,
			"properties": []map[string]string{{"name": "platform", "value": p.OS + "/" + p.Arch},
				{"name": "vcs.revision", "value": revision(info)}}},
		"components": components,
	}
	text, err := json.MarshalIndent(document, "", "  ")
	if err != nil {
		return err
	}
	return publish(r.name("harness_%s_%s.cdx.json", r.Version, p), append(text, '\n'))
}

func revision(info *debug.BuildInfo) string {
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" {
			return setting.Value
		}
	}
	return ""
}
