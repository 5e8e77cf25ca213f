package v1

import (
	"fmt"
	"net/http"
	"slices"
)

// checkCredentials refuses a credential namespace or isolation level that sessions of a runtime cannot have here. One
// server has one namespace, because agents of another namespace would see its files.
func (s *Server) checkCredentials(b body, runtime string) error {
	namespace, err := b.text("credential_namespace")
	if err != nil {
		return err
	}
	wanted, err := b.text("isolation_level")
	if err != nil {
		return err
	}
	if !slices.Contains([]string{"", "shared", "namespaced", "ephemeral"}, wanted) {
		return invalid("isolation_level is shared, namespaced or ephemeral")
	}
	if runtime == "" {
		states, err := s.opts.Operations.RuntimeStates()
		if err != nil {
			return err
		}
		if len(states) > 0 {
			runtime = states[0].Name // the default one
		}
	}
	level, own := s.opts.Credentials(runtime)
	if namespace != "" && namespace != own {
		return &refusal{http.StatusServiceUnavailable, "namespace_unavailable", fmt.Sprintf("sessions of this server have the credential "+
			"namespace %q, and the files of another one could not be hidden from them: start a server for the namespace, as a user of "+
			"its own, with a data directory of its own and HARNESS_CREDENTIAL_NAMESPACE=%s", own, namespace),
			members{"field": "credential_namespace", "credential_namespace": own}}
	}
	if wanted != "" && wanted != level {
		return &refusal{http.StatusBadRequest, "not_supported", fmt.Sprintf("isolation_level: sessions of %s are %s here; leave it out, or "+
			"start the server with another HARNESS_RUNTIME_CREDENTIALS (for codex, another CODEX_HOME)", runtime, level),
			members{"field": "isolation_level", "isolation_level": level}}
	}
	return nil
}
