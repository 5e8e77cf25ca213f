// Command bench starts the real server and measures it over real sockets. It prints each figure next to a baseline of
// the same run.
//
// It is a separate module, so that the product does not depend on packages that only a benchmark needs. The same
// binary also runs the baseline servers (`bench baseline ...`, `bench inserts ...`) and a runtime that replays a
// recorded turn (`bench app-server`).
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// options are the options that all programs share.
type options struct {
	binary  string        // the server's executable
	dir     string        // scratch folder
	length  time.Duration // of one measurement
	full    bool
	clients int    // of the upserts, 0 for all
	sockets int    // of the fan-out, 0 for all
	store   string // measures only stores with this text in their name
	before  string // another build's executable to compare with
	agent   string // of the runtimes, "" for all
}

type program struct {
	name, doc string
	run       func(*options) error
}

func programs() []program {
	return []program{
		{"upserts", "POST upsert with 1 and 32 clients on SQLite FULL, NORMAL and Postgres against the bare INSERT", upserts},
		{"growth", "cost of an upsert with 10, 10,000 and 1,000,000 entries stored", growth},
		{"latency", "POST upsert to the frame at another socket", latency},
		{"idle", "memory per idle connection", idle},
		{"stalled", "one stalled reader among 1,000", stalled},
		{"turns", "turns and deltas per second from a recorded app-server stream", turns},
		{"fanout", "CPU per delivered frame at 200, 1,000 and 5,000 sockets against three other ways", fanout},
		{"lines", "an agent's line to its frame, and CPU per line, of each kind of runtime against codex's", lines},
		{"runtimes", "20 idle sessions of each real agent: memory, start and turn", agents},
		{"rpc", "CPU per notification of 1,000 JSON-RPC sockets that watch a session, against as many of the stream; fails above 1.3",
			jsonRPC},
		{"soak", "all of it at once for a time (-length, an hour by hand, at least a minute): what grows? fails when something does",
			soak},
		{"pair-upserts", "against another build (-before), in turns: single upserts; only when named", paired(pairSingle)},
		{"pair-beside", "against another build: single upserts beside bulk ones; only when named", paired(pairBeside)},
		{"pair-turns", "against another build: turns from a recorded app-server stream; only when named", paired(pairTurns)},
		{"pair-original", "against a stand-in for codex-manager's storage, on Node and the real codex: single upserts; only when named",
			original},
		{"pair-reads", "against another build: whole reads of 5,000 entries; only when named", paired(pairWhole)},
	}
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) > 0 {
		switch args[0] {
		case "app-server":
			return playRuntime()
		case "-p": // called like Claude Code
			return playClaude(os.Stdin, os.Stdout)
		case "acp-agent":
			return playACP(os.Stdin, os.Stdout)
		case "serve": // called like OpenCode
			return playOpenCode(os.Stdout)
		case "baseline":
			return serveBaseline(args[1:])
		case "inserts":
			return serveInserts(args[1:])
		}
	}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	opts := &options{}
	flags.StringVar(&opts.binary, "server", "", "the server's executable; built from the repository when empty")
	flags.DurationVar(&opts.length, "length", 2*time.Second, "length of one measurement")
	flags.StringVar(&opts.store, "store", "", `only stores whose name has this text, e.g. "FULL"`)
	flags.IntVar(&opts.clients, "clients", 0, "upserts, pair-upserts: only with so many clients")
	flags.StringVar(&opts.before, "before", "", "pair-...: the executable to compare with")
	flags.IntVar(&opts.sockets, "sockets", 0, "fanout: only with so many sockets")
	flags.StringVar(&opts.agent, "agent", "", "runtimes: only this one, e.g. claude")
	flags.BoolVar(&opts.full, "full", true, "all sizes; false leaves out the largest")
	flags.Usage = func() {
		fmt.Fprintln(flags.Output(), "usage: bench [flags] [program...]   (all programs when none is named)")
		for _, p := range programs() {
			fmt.Fprintf(flags.Output(), "  %-12s %s\n", p.name, p.doc)
		}
		flags.PrintDefaults()
	}
	var wanted []string
	for rest := args; ; { // flags may also follow programs
		if err := flags.Parse(rest); err != nil {
			if errors.Is(err, flag.ErrHelp) {
				return nil
			}
			return err
		}
		if flags.NArg() == 0 {
			break
		}
		wanted, rest = append(wanted, flags.Arg(0)), flags.Args()[1:]
	}
	known := map[string]bool{}
	for _, p := range programs() {
		known[p.name] = true
	}
	for _, name := range wanted {
		if !known[name] {
			return fmt.Errorf("there is no program %q; see bench -h", name)
		}
	}
	if err := raiseLimit(); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "harness-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	opts.dir = dir
	if opts.binary == "" {
		if opts.binary, err = buildServer(dir); err != nil {
			return err
		}
	}
	fmt.Printf("%s, %s, %d cores, %s, load average %s\n", time.Now().UTC().Format("2006-01-02 15:04 UTC"), machine(),
		runtime.NumCPU(), runtime.Version(), loadAverage())
	began := time.Now()
	for _, p := range programs() {
		if !contains(wanted, p.name) && (len(wanted) > 0 || strings.HasPrefix(p.name, "pair-")) {
			continue
		}
		if err := p.run(opts); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	fmt.Printf("\nall in %s; load average at the end %s\n", time.Since(began).Round(time.Second), loadAverage())
	return nil
}

func contains(list []string, name string) bool {
	for _, one := range list {
		if one == name {
			return true
		}
	}
	return false
}

// raiseLimit raises the file limit for 5,000 sockets. Child processes inherit it.
func raiseLimit() error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return fmt.Errorf("read the limit of open files: %w", err)
	}
	limit.Cur = limit.Max
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return fmt.Errorf("raise the limit of open files: %w", err)
	}
	if limit.Cur < 6000 {
		return fmt.Errorf("the limit of open files is %d; 5,000 sockets need 6,000 (ulimit -Hn)", limit.Cur)
	}
	return nil
}

func machine() string {
	raw, _ := os.ReadFile("/proc/cpuinfo")
	for _, line := range strings.Split(string(raw), "\n") {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}

func loadAverage() string {
	raw, _ := os.ReadFile("/proc/loadavg")
	first, _, _ := strings.Cut(string(raw), " ")
	return first
}
