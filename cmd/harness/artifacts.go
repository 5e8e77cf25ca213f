package main

import (
	"context"
	"encoding/json"
	"path/filepath"

	"harness/artifact"
	"harness/tasks"
	"harness/telemetry"
)

// openArtifacts makes the store of what is too long for an event, or kept beside it.
func (s *Server) openArtifacts() {
	secrets := telemetry.NewRedactor(s.cfg.Secrets()...)
	s.artifacts = artifact.New(artifact.Options{DB: s.db, Journal: s.journal, Dir: filepath.Join(s.dir.path, "artifacts"),
		Redact: func(content []byte) []byte { return []byte(secrets.String(string(content))) }})
}

// keep is session.Options.Keep.
func (s *Server) keep(ctx context.Context, sessionID, name, contentType string, content []byte) (json.RawMessage,
	error) {
	ref, err := s.artifacts.Put(ctx, sessionID, name, contentType, content)
	if err != nil {
		return nil, err
	}
	return json.Marshal(ref)
}

// givenTools are the tools of this server that agents are given, as the input of a model tells of them.
func (s *Server) givenTools() (given []tasks.Tool) {
	manifest := s.tools.manifest()
	if manifest == nil {
		return nil
	}
	for _, one := range manifest.Tools {
		given = append(given, tasks.Tool{Name: one.Name, SchemaHash: one.SchemaHash, OutputSchemaHash: one.OutputSchemaHash})
	}
	return given
}
