package main

import (
	"os"

	"harness/runtime"
	"harness/runtime/runtimetest/scripted"
)

// plantedToken is what the scripted agent is logged in with.
const plantedToken = "planted-4711-token"

// newScripted makes the adapter of the agent that is not codex, as newCodex does: from what the server gives every
// adapter.
func newScripted(s *Server, confined confinement) (runtime.Adapter, error) {
	setup, err := s.setupWithHome(scripted.Name, confined)
	if err != nil {
		return nil, err
	}
	own, err := os.Executable()
	if err != nil {
		return nil, err
	}
	launch, supervise := setup.Launch, setup.Supervise
	return scripted.New(scripted.Options{
		Bin: own, Env: append(launch.Env, runAsAgent+"="+setup.Home.Dir, scripted.TokenVariable+"="+plantedToken),
		Mark: launch.Mark, Sink: supervise.Sink, Resume: supervise.Resume, Logger: launch.Logger, Shims: launch.Shims,
		KeepOnStop: supervise.KeepOnStop, StartTimeout: supervise.StartTimeout, Max: setup.MaxProcesses, Idle: setup.Idle,
	}), nil
}
