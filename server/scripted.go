//go:build scripted

package server

import (
	"os"

	"harness/internal/runtime"
	"harness/tests/runtimetest/scripted"
)

// asScripted makes the program run as the scripted agent; its value is the agent's folder.
const asScripted = "HARNESS_SCRIPTED_AGENT"

// FurtherRuntimes adds the scripted agent, which is this program itself, to the built-in runtimes. Only the end-to-end
// tests build it like this. In a process that a server started as that agent, FurtherRuntimes runs the agent and does
// not return.
func FurtherRuntimes() []RuntimeMaker {
	if dir := os.Getenv(asScripted); dir != "" && len(os.Args) == 1 {
		os.Exit(scripted.Agent(os.Stdin, os.Stdout, dir))
	}
	return []RuntimeMaker{{name: scripted.Name, make: newScripted}}
}

// newScripted makes the adapter, as newCodex does, from the options that the server gives every adapter.
func newScripted(s *runtimes, confined Confinement) (runtime.Adapter, error) {
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
		Bin: own, Env: append(launch.Env, asScripted+"="+setup.Home.Dir, scripted.TokenVariable+"="+scripted.PlantedToken),
		EnvOf:  func(thread string) []string { return runtime.DoorEnv(setup.Door.URL(), setup.Door.Of(thread)) },
		Marker: launch.Marker, Sink: supervise.Sink, Resume: supervise.Resume, Logger: launch.Logger, Shims: launch.Shims,
		KeepOnStop: supervise.KeepOnStop, StartTimeout: supervise.StartTimeout, Max: setup.MaxProcesses, Idle: setup.Idle,
	}), nil
}
