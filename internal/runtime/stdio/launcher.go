package stdio

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/rs/zerolog"

	"harness/internal/lib/ids"
	"harness/internal/runtime/process"
	"harness/internal/runtime/process/confine"
	"harness/internal/runtime/process/shim"
)

const (
	// stopGrace is the time between SIGTERM and SIGKILL.
	stopGrace = 3 * time.Second
	// sweepLimit bounds the wait for killed leftover processes to exit.
	sweepLimit = 5 * time.Second
)

// colours are terminal escapes, which some agents also write to pipes.
var colours = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\x1b\[[0-9;]*m`) })

// Launch configures the start of a runtime's processes.
type Launch struct {
	// Name is the runtime's name.
	Name string
	// Command finds the program and its arguments before each start. Its error names the remedy.
	Command func() (path string, args []string, err error)
	// Remedy ends the error of a failed start. It lists the things to check.
	Remedy string
	// Dir is the working directory, "" for the server's.
	Dir string
	// Marker identifies this runtime of this server for process.Sweep, see process.Marker. Two running runtimes must
	// not share a marker.
	Marker string
	// Confine hides files from the processes. Stage is the program, with its first arguments, that does so
	// (process.Spec).
	Confine confine.Plan
	Stage   []string
	// Inherits selects by name the variables of the server's environment that the processes get; nil selects all. Env
	// has additional variables as NAME=value.
	Inherits func(name string) bool
	Env      []string
	// Shims, when set, is the host of processes that outlive a server. With Detach, new processes start behind a shim
	// there.
	Shims  *shim.Host
	Detach bool
	Logger zerolog.Logger
	// Called, when set, gets every completed call: its method, its duration with retries, and its error. It must not
	// block.
	Called Called
}

// Called gets a completed call of a runtime.
type Called func(ctx context.Context, method string, took time.Duration, err error)

// Program has the settings of one process in addition to its Launch.
type Program struct {
	path string
	// Args follow those of Launch.Command, Env that of the Launch. Dir, when set, replaces Launch.Dir.
	Args, Env []string
	Dir       string
	// Keep are more folders that stay visible to it (confine.Plan.Keep).
	Keep []string
}

// Launcher starts the processes of one runtime and kills leftover ones. All supervisors of a runtime share a
// Launcher: it kills the processes with the runtime's marker that belong to no live generation.
type Launcher struct {
	launch   Launch
	Counters Counters
	// Natives are the long ids of this runtime.
	Natives *Natives

	mu     sync.Mutex
	living map[string]bool
}

// NewLauncher makes a Launcher. It starts no process.
func NewLauncher(launch Launch) *Launcher {
	return &Launcher{launch: launch, Natives: newNatives(), living: map[string]bool{}}
}

// spare excludes the processes of a generation from the sweep.
func (l *Launcher) spare(generation string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.living[generation] = true
}

// Spare excludes processes of earlier servers from the sweep and from Found. A supervisor attaches to each.
func (l *Launcher) Spare(found []shim.Found) {
	for _, f := range found {
		l.spare(f.Generation)
	}
}

// ended removes a generation from the live ones.
func (l *Launcher) ended(generation string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.living, generation)
}

func (l *Launcher) lives(generation string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.living[generation]
}

// Found returns the shims of this runtime from earlier servers that have no server yet, oldest first.
func (l *Launcher) Found() []shim.Found {
	if l.launch.Shims == nil {
		return nil
	}
	all, err := shim.Discover(l.launch.Shims.RunDir)
	if err != nil {
		l.launch.Logger.Error().Err(err).Msg("shims of earlier servers could not be looked for")
	}
	return slices.DeleteFunc(all, func(f shim.Found) bool {
		return f.State.Runtime != l.launch.Name && f.State.Runtime != "" || l.lives(f.Generation) || beingMade(f)
	})
}

// nameless is how long a folder without a runtime's name may belong to a runtime that is starting.
const nameless = time.Minute

// beingMade reports whether another runtime may be starting the shim of a folder. No process runs in the folder yet:
// the runtime writes the command first.
func beingMade(f shim.Found) bool {
	id, err := uuid.Parse(f.Generation)
	if err != nil || f.State.Runtime != "" {
		return false
	}
	made := time.Unix(id.Time().UnixTime())
	return time.Since(made) < nameless
}

// open starts a process, behind a shim if it should outlive the server. The caller must call over when the link ends.
func (l *Launcher) open(ctx context.Context, limit time.Duration, own func() (Program, error)) (*link, error) {
	path, args, err := l.launch.Command()
	if err != nil {
		return nil, err
	}
	program := Program{Dir: l.launch.Dir}
	if own != nil {
		if program, err = own(); err != nil {
			return nil, err
		}
		program.Dir = cmp.Or(program.Dir, l.launch.Dir)
	}
	program.path, program.Args = path, slices.Concat(args, program.Args)
	generation := ids.New()
	l.spare(generation)
	opened, err := l.start(ctx, limit, generation, program)
	if err != nil {
		l.ended(generation)
		return nil, fmt.Errorf("%s does not start (%w): %s", l.launch.Name, err, l.launch.Remedy)
	}
	return opened, nil
}

func (l *Launcher) start(ctx context.Context, limit time.Duration, generation string, program Program) (*link, error) {
	env, plan := append(l.environment(), program.Env...), l.launch.Confine
	plan.Keep = slices.Concat(plan.Keep, program.Keep)
	if l.launch.Shims != nil && l.launch.Detach {
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		a, err := l.launch.Shims.Spawn(ctx, shim.Spec{
			Generation: generation, Runtime: l.launch.Name, Path: program.path, Args: program.Args, Dir: program.Dir,
			Marker: l.launch.Marker, StopGrace: stopGrace, Confine: plan, Stage: l.launch.Stage,
		}, env, l.stderr(generation))
		if err != nil {
			return nil, err
		}
		return shimLink(generation, a), nil
	}
	p, err := process.Start(ctx, process.Spec{
		Path: program.path, Args: program.Args, Env: append(env, shim.GenerationVariable+"="+generation), Dir: program.Dir,
		Marker: l.launch.Marker, Stderr: l.stderr(generation), Confine: plan, Stage: l.launch.Stage,
	})
	if err != nil {
		return nil, err
	}
	return childLink(generation, p), nil
}

func (l *Launcher) stderr(generation string) func([]byte) {
	log := l.launch.Logger.With().Str("generation", generation).Logger()
	return func(line []byte) {
		log.Info().Str("stream", "stderr").Msg(colours().ReplaceAllString(string(line), ""))
	}
}

// Variable returns the value of a variable in a process, "" if unset.
func (l *Launcher) Variable(name string) (value string) {
	for _, assignment := range l.environment() {
		if set, found := strings.CutPrefix(assignment, name+"="); found {
			value = set // the last one counts
		}
	}
	return value
}

func (l *Launcher) environment() []string {
	env := slices.DeleteFunc(os.Environ(), func(assignment string) bool {
		name, _, _ := strings.Cut(assignment, "=")
		inherited := l.launch.Inherits == nil || l.launch.Inherits(name)
		return !inherited || name == process.MarkVariable || name == shim.GenerationVariable
	})
	return append(env, l.launch.Env...)
}

// sweep kills processes with this runtime's marker that belong to no live generation.
func (l *Launcher) sweep() {
	l.mu.Lock()
	var spared []string
	for generation := range l.living {
		spared = append(spared, shim.GenerationVariable+"="+generation)
	}
	l.mu.Unlock()
	// Not the supervision's context: the last sweep runs after that has ended.
	ctx, cancel := context.WithTimeout(context.Background(), sweepLimit)
	defer cancel()
	killed, err := process.Sweep(ctx, l.launch.Marker, append(spared, shim.Own)...)
	if err == nil {
		_, err = process.Sweep(ctx, l.launch.Marker, spared...) // shims end with their runtime, so a sweep need not kill them
	}
	if err != nil {
		l.launch.Logger.Error().Err(err).Msg("leftover " + l.launch.Name + " processes remain")
	}
	if killed > 0 {
		l.Counters.Orphans.Add(int64(killed))
		l.launch.Logger.Warn().Int("processes", killed).Msg("killed what a " + l.launch.Name + " process left behind")
	}
}
