package server

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"harness/internal/lib/version"
	"harness/internal/platform/telemetry"
	"harness/internal/runtime"
	"harness/internal/runtime/codex"
	"harness/internal/runtime/process"
	"harness/internal/runtime/process/shim"
)

// RunDir returns the folder of the runtimes that outlive servers.
func RunDir(dataDir string) string { return filepath.Join(dataDir, "run") }

// shimHost returns the host of this server's runtime processes.
func (s *core) shimHost() (*shim.Host, error) {
	own, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find the program to start shims with: %w", err)
	}
	path, err := filepath.Abs(s.dir.Path)
	if err != nil {
		return nil, fmt.Errorf("find the data directory: %w", err)
	}
	return &shim.Host{
		RunDir: RunDir(path), Command: []string{own, "shim"}, Version: version.Program(), DetachGrace: s.cfg.DetachGrace,
	}, nil
}

// register registers the metrics of the runtimes, which are read at each scrape.
func (s *runtimes) register() {
	for _, adapter := range s.adapters {
		s.metrics.Registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: telemetry.MetricName("sessions", "active"), Help: "Sessions of this server in which a turn runs.",
			ConstLabels: prometheus.Labels{"runtime": adapter.Name()},
		}, func() float64 { return float64(s.sessions.Slots.Load(adapter.Name()).Turns) }))
		s.metrics.Registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: telemetry.MetricName("runtime", "up"), Help: "1 while sessions of a runtime can run.",
			ConstLabels: prometheus.Labels{"runtime": adapter.Name()},
		}, func() float64 {
			if adapter.Status().State == runtime.StateReady {
				return 1
			}
			return 0
		}))
	}
	s.metrics.Registry.MustRegister(
		runtimeGauge("unresponsive", "1 while a runtime leaves a health probe unanswered.", func() float64 {
			for _, adapter := range s.adapters {
				if adapter.Status().State == runtime.StateUnresponsive {
					return 1
				}
			}
			return 0
		}),
		runtimeGauge("waiting", "Sessions that wait for a process because a runtime has as many as it may.", func() float64 {
			waiting := 0
			for _, adapter := range s.adapters {
				waiting += adapter.Status().Queued
			}
			return float64(waiting)
		}),
	)
	s.registerProcesses()
	s.registerCodex()
}

// registerProcesses registers the metrics of the processes and of the shims that hold them.
func (s *runtimes) registerProcesses() {
	folder := s.shims.RunDir
	s.metrics.Registry.MustRegister(
		runtimeGauge("resident_bytes", "Memory the runtimes have in RAM; 0 while there is none, and where the system does not report it.",
			func() float64 {
				total := int64(0)
				for _, pid := range s.pids() {
					total += process.Resident(pid)
				}
				return float64(total)
			}),
		runtimeGauge("processes", "Runtime processes of this server.", func() float64 { return float64(len(s.pids())) }),
		runtimeGauge("shims", "Shims of this data directory that are alive.", func() float64 {
			found, err := shim.Discover(folder)
			if err != nil {
				return -1
			}
			alive := 0
			for _, f := range found {
				if f.Alive {
					alive++
				}
			}
			return float64(alive)
		}),
		runtimeGauge("spool_bytes", "Bytes on disk of runtime output that the server has not released.", func() float64 {
			return float64(shim.SpoolBytes(folder))
		}),
	)
}

// registerCodex registers the counters of codex, 0 without it.
func (s *runtimes) registerCodex() {
	counters := func() (total codex.Counters) {
		if s.codex != nil {
			total = s.codex.Counters()
		}
		return total
	}
	counter := func(name, help string, value func() int64) prometheus.Collector {
		opts := prometheus.CounterOpts{Name: telemetry.MetricName("runtime", name), Help: help}
		return prometheus.NewCounterFunc(opts, func() float64 { return float64(value()) })
	}
	s.metrics.Registry.MustRegister(
		counter("unloads_total", "Idle sessions unloaded from the runtime's memory.", func() int64 { return counters().Unloads }),
		counter("recycles_total", "Idle runtime processes replaced because of their memory.", func() int64 { return counters().Recycles }),
		counter("hangs_total", "Runtime processes killed because they did not answer.", func() int64 { return counters().Hangs }),
		runtimeGauge("orphans", "Runtime processes found without an owner and killed, since this server started.", func() float64 {
			return float64(counters().Orphans)
		}),
	)
}

func runtimeGauge(name, help string, value func() float64) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: telemetry.MetricName("runtime", name), Help: help}, value)
}

// pids returns the ids of the running processes.
func (r *runtimes) pids() []int {
	var pids []int
	for _, adapter := range r.adapters {
		status := adapter.Status()
		for _, process := range status.Processes {
			if process.PID > 0 {
				pids = append(pids, process.PID)
			}
		}
		if status.Processes == nil && status.PID > 0 {
			pids = append(pids, status.PID)
		}
	}
	return pids
}

// warningNewer passes on a runtime's events, and warns once if its agent is newer than the tested versions.
func (s *runtimes) warningNewer(name string, sink runtime.Sink) runtime.Sink {
	var once sync.Once
	return func(batch runtime.Batch) {
		sink(batch)
		for _, signal := range batch.Signals {
			if signal.Kind == runtime.SignalStarted {
				go s.warnNewer(name, &once) // the adapter may hold a lock that its status needs
			}
		}
	}
}

func (s *runtimes) warnNewer(name string, once *sync.Once) {
	for _, adapter := range s.adapters {
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
