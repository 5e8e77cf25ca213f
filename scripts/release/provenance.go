package main

import (
	"encoding/json"
	"fmt"
	"runtime"
)

// statement is an in-toto statement with a SLSA provenance: the files, their commit and the version of Go.
type statement struct {
	Type          string    `json:"_type"`
	Subject       []subject `json:"subject"`
	PredicateType string    `json:"predicateType"`
	Predicate     predicate `json:"predicate"`
}

// subject is a file with its hash.
type subject struct {
	Name   string            `json:"name"`
	Digest map[string]string `json:"digest"`
}

// predicate describes how the files were made.
type predicate struct {
	BuildDefinition struct {
		BuildType            string            `json:"buildType"`
		ExternalParameters   map[string]string `json:"externalParameters"`
		InternalParameters   map[string]string `json:"internalParameters"`
		ResolvedDependencies []subject         `json:"resolvedDependencies"`
	} `json:"buildDefinition"`
	RunDetails struct {
		Builder map[string]string `json:"builder"`
	} `json:"runDetails"`
}

const (
	statementType = "https://in-toto.io/Statement/v1"
	predicateType = "https://slsa.dev/provenance/v1"
)

// provenanceName returns the name of a version's provenance.
func provenanceName(version string) string { return fmt.Sprintf("harness_%s.provenance.json", version) }

// provenance writes the provenance of all files so far.
func (r *release) provenance() error {
	s := statement{Type: statementType, PredicateType: predicateType}
	for _, name := range r.made {
		hash, err := r.sum(name)
		if err != nil {
			return err
		}
		s.Subject = append(s.Subject, subject{name, map[string]string{"sha256": hash}})
	}
	definition := &s.Predicate.BuildDefinition
	definition.BuildType = r.Download + "/make-release"
	definition.ExternalParameters = map[string]string{"version": r.Version, "npmScope": r.Scope}
	definition.InternalParameters = map[string]string{"go": runtime.Version(), "date": r.Date.Format("2006-01-02T15:04:05Z")}
	if r.Commit != "" {
		definition.ResolvedDependencies = []subject{{"source", map[string]string{"gitCommit": r.Commit}}}
	}
	s.Predicate.RunDetails.Builder = map[string]string{"id": r.Download + "/releaser"}
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	return publish(r.name("%s", provenanceName(r.Version)), append(text, '\n'))
}
