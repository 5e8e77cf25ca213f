package api

import (
	"errors"
	"net/http"
	"strings"

	"harness/api/rest"
	"harness/internal/content/artifact"
)

// artifactPath is the path prefix of artifacts.
const artifactPath = "/v1/artifacts/"

func (s *server) artifactRoutes() []rest.Route {
	serve := http.HandlerFunc(rest.NotFound)
	if s.Artifacts != nil {
		serve = s.serveArtifact
	}
	return []rest.Route{
		{Method: http.MethodGet, Path: artifactPath + ":artifactId", Raw: serve},
		{Method: http.MethodGet, Path: artifactPath + ":artifactId/download", Raw: serve},
	}
}

// serveArtifact returns an artifact. With "/download" after the id, it returns a file to save.
func (s *server) serveArtifact(w http.ResponseWriter, r *http.Request) {
	id, download := strings.CutSuffix(strings.TrimPrefix(r.URL.Path, artifactPath), "/download")
	err := s.Artifacts.Serve(w, r, id, download)
	if errors.Is(err, artifact.ErrNotFound) {
		// Artifacts belong to the task API, so refusals use its format.
		rest.WriteJSON(r.Context(), w, http.StatusNotFound, struct {
			Error   string `json:"error"`
			ID      string `json:"artifact_id"`
			Message string `json:"message"`
		}{"artifact_not_found", id, "no such artifact, or it was pruned"})
		return
	}
	if err != nil {
		s.failRaw(w, r, err)
	}
}
