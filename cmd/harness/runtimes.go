package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/prometheus/client_golang/prometheus"

	"harness/runtime"
	"harness/runtime/codex"
	"harness/runtime/process"
	"harness/runtime/process/shim"
	"harness/telemetry"
)

// runDir is the folder of the runtimes that outlive servers.
func runDir(dataDir string) string { return filepath.Join(dataDir, "run") }

// shims says how this server keeps its runtimes alive.
func (s *Server) shims() (*shim.Host, error) {
	own, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find the program to start shims with: %w", err)
	}
	path, err := filepath.Abs(s.dir.path)
	if err != nil {
		return nil, fmt.Errorf("find the data directory: %w", err)
	}
	return &shim.Host{
		RunDir: runDir(path), Command: []string{own, "shim"}, Version: version, DetachGrace: s.cfg.DetachGrace, SpoolBytes: int64(s.cfg.SpoolBytes),
	}, nil
}

// surviving are the generations of the runtimes an earlier server left, living or with something left to read.
func surviving(host *shim.Host) ([]string, error) {
	found, err := shim.Discover(host.RunDir)
	if err != nil {
		return nil, err
	}
	var generations []string
	for _, f := range found {
		if f.State.Runtime == codex.Name || f.State.Runtime == "" {
			generations = append(generations, f.Generation)
		}
	}
	return generations, nil
}

// watchRuntimes registers the metrics of the runtimes behind shims. They are looked up when somebody asks.
func (s *Server) watchRuntimes(host *shim.Host) {
	gauge := func(name, help string, value func() float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: telemetry.MetricName("runtime", name), Help: help}, value)
	}
	counter := func(name, help string, value func() int64) prometheus.Collector {
		opts := prometheus.CounterOpts{Name: telemetry.MetricName("runtime", name), Help: help}
		return prometheus.NewCounterFunc(opts, func() float64 { return float64(value()) })
	}
	s.metrics.registry.MustRegister(
		gauge("unresponsive", "1 while the runtime leaves a health probe unanswered.", func() float64 {
			if s.codex.Status().State == runtime.StateUnresponsive {
				return 1
			}
			return 0
		}),
		gauge("resident_bytes", "Memory the runtime has in RAM; 0 while there is none, and where the system does not tell.", func() float64 {
			return float64(process.Resident(s.codex.Status().PID))
		}),
		counter("unloads_total", "Idle sessions unloaded from the runtime's memory.", func() int64 { return s.codex.Counters().Unloads }),
		counter("recycles_total", "Idle runtime processes replaced because of their memory.", func() int64 { return s.codex.Counters().Recycles }),
		counter("hangs_total", "Runtime processes killed because they did not answer.", func() int64 { return s.codex.Counters().Hangs }),
		gauge("shims", "Shims of this data directory that are alive.", func() float64 {
			found, err := shim.Discover(host.RunDir)
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
		gauge("orphans", "Runtime processes found without an owner and killed, since this server started.", func() float64 {
			return float64(s.codex.Counters().Orphans)
		}),
		gauge("spool_bytes", "Bytes on disk of what runtimes wrote and the server has not yet let go.", func() float64 {
			return float64(shim.SpoolBytes(host.RunDir))
		}),
	)
}
