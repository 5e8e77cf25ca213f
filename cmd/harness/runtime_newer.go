package main

import (
	"sync"

	"harness/internal/runtime"
)

// warningNewer passes on what a runtime says, and warns once when its agent is newer than the versions it was tested with.
func (s *Server) warningNewer(name string, sink runtime.Sink) runtime.Sink {
	var once sync.Once
	return func(batch runtime.Batch) {
		sink(batch)
		for _, signal := range batch.Signals {
			if signal.Kind == runtime.SignalStarted {
				go s.warnNewer(name, &once) // the adapter may hold what its status needs
			}
		}
	}
}

func (s *Server) warnNewer(name string, once *sync.Once) {
	for _, adapter := range s.runtimes.adapters {
		installer, knows := adapter.(runtime.Installer)
		if adapter.Name() != name || !knows {
			continue
		}
		version, tested := adapter.Status().Version, installer.Install().Tested
		if runtime.Newer(version, tested) {
			once.Do(func() {
				s.log.Warn().Str("runtime", name).Str("version", version).Str("tested", tested[len(tested)-1]).
					Msg("the agent is newer than the versions this server was tested with; it is used")
			})
		}
	}
}
