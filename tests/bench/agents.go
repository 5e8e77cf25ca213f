package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"harness/tests/mockmodel"
)

// agentSessions is how many sessions of a runtime the benchmark opens.
const agentSessions = 20

// agents opens sessions of the real agents with a scripted model, runs one turn in each, and then measures their
// cost.
func agents(opts *options) error {
	t := newTable(fmt.Sprintf("%d idle sessions of each real agent, opened one after the other, each after one turn",
		agentSessions),
		"runtime", "processes", "memory of one session, MiB (PSS, with shims)", "of all", "per session more",
		"POST session p50 ms", "max", "first turn p50 ms", "max", "later turn p50 ms")
	for _, name := range []string{"codex", "claude", "gemini", "opencode"} {
		if opts.agent != "" && opts.agent != name {
			continue
		}
		if err := agent(opts, name, t); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	t.print()
	return nil
}

func agent(opts *options, name string, t *table) error {
	model, err := mockmodel.New()
	if err != nil {
		return err
	}
	defer model.Close()
	env, err := agentEnv(opts, name, model)
	if err != nil {
		return err
	}
	running, err := serve(opts, engine{"SQLite FULL", "FULL"},
		append(env, "HARNESS_RUNTIMES="+name, "HARNESS_RUNTIME_LIMITS=processes=64,start-ms=120000",
			"DEFAULT_NETWORK_ACCESS=enabled",
			"DEFAULT_SANDBOX_MODE=danger-full-access", "DEFAULT_APPROVAL_POLICY=untrusted")...)
	if err != nil {
		return err
	}
	defer running.stop()
	ends, err := newEnds(running.url)
	if err != nil {
		return err
	}
	defer ends.close()
	if err := running.say(ends, running.session, "MOCK_REPLY[one]"); err != nil {
		return err
	}
	settle()
	one, _, err := running.agentMemory(name)
	if err != nil {
		return err
	}
	var opened, first, later []time.Duration
	for range agentSessions - 1 {
		began := time.Now()
		session, err := running.open(name)
		if err != nil {
			return err
		}
		opened = append(opened, time.Since(began))
		for _, times := range []*[]time.Duration{&first, &later} {
			began = time.Now()
			if err := running.say(ends, session, "MOCK_REPLY[hello]"); err != nil {
				return err
			}
			*times = append(*times, time.Since(began))
		}
	}
	settle()
	all, processes, err := running.agentMemory(name)
	if err != nil {
		return err
	}
	t.add(name, processes, one, all, (all-one)/(agentSessions-1), quantile(opened, 0.5), quantile(opened, 1),
		quantile(first, 0.5), quantile(first, 1), quantile(later, 0.5))
	return nil
}

// agentEnv returns the environment for a server to run a real agent with a model.
func agentEnv(opts *options, name string, model *mockmodel.Server) ([]string, error) {
	if name == "codex" {
		binary, home, err := realCodex(opts.dir, model.URL())
		return []string{"CODEX_BIN=" + binary, "CODEX_HOME=" + home}, err
	}
	root, err := repository()
	if err != nil {
		return nil, err
	}
	out, err := exec.Command(filepath.Join(root, "scripts", "agents.sh"), name).Output()
	if err != nil {
		return nil, fmt.Errorf("install %s: %w", name, err)
	}
	binary := strings.TrimSpace(string(out))
	switch name {
	case "claude":
		return []string{"CLAUDE_BIN=" + binary, "ANTHROPIC_API_KEY=bench", "ANTHROPIC_BASE_URL=" + model.Root()}, nil
	case "gemini":
		return []string{"GEMINI_BIN=" + binary, "GEMINI_API_KEY=bench", "GOOGLE_GEMINI_BASE_URL=" + model.Root()}, nil
	}
	return []string{"OPENCODE_BIN=" + binary,
		`OPENCODE_CONFIG_CONTENT={"enabled_providers":["mock"],"model":"mock/m","small_model":"mock/m","provider":{"mock":{` +
			`"npm":"@ai-sdk/openai-compatible","options":{"apiKey":"bench","baseURL":"` + model.URL() +
			`"},"models":{"m":{"tool_call":true,"limit":{"context":100000,"output":8000}}}}}}`}, nil
}

// agentMemory returns the total memory of a runtime's processes in MiB. Each process counts with its share of common
// pages.
func (s *server) agentMemory(name string) (mebibytes float64, processes int, err error) {
	answer, err := http.Get(s.url + "/api/runtimes/" + name)
	if err != nil {
		return 0, 0, err
	}
	defer answer.Body.Close()
	var health struct {
		Processes []struct {
			PID  int
			Shim struct{ PID int }
		}
	}
	if err := json.NewDecoder(answer.Body).Decode(&health); err != nil {
		return 0, 0, err
	}
	seen := map[int]bool{}
	var add func(pid int)
	add = func(pid int) {
		if pid == 0 || seen[pid] {
			return
		}
		seen[pid] = true
		mebibytes += proportional(pid)
		children, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
		for _, child := range strings.Fields(string(children)) {
			number, _ := strconv.Atoi(child)
			add(number)
		}
	}
	for _, one := range health.Processes {
		add(one.Shim.PID)
		add(one.PID)
	}
	return mebibytes, len(health.Processes), nil
}

// proportional returns the proportional set size of a process in MiB, 0 if it has ended.
func proportional(pid int) float64 {
	raw, _ := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	for line := range strings.Lines(string(raw)) {
		if value, found := strings.CutPrefix(line, "Pss:"); found {
			kib, _ := strconv.ParseFloat(strings.Fields(value)[0], 64)
			return kib / 1024
		}
	}
	return 0
}
