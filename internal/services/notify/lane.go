package notify

import (
	"context"

	"harness/internal/lib/wake"
	"harness/internal/platform/database"
)

// lane is a place that messages are sent to one after another: a target, or the browsers together.
type lane struct {
	// name is the target's, which messages are counted by.
	name string
	// where chooses the messages, with arg as its $1.
	where, arg string
	// targets are those that messages are stored for, of each of which room wait at most.
	targets func(ctx context.Context, tx database.Tx) ([]string, error)
	room    int
	// targetOf is where a message goes, nil for nowhere; gone is called when a target no longer exists.
	targetOf func(ctx context.Context, m stored) (Target, error)
	gone     func(ctx context.Context, m stored) error
	wake     wake.Signal
}

// lanes are those of all targets.
func lanes(opts Options) (all []*lane) {
	for _, target := range opts.Targets {
		all = append(all, &lane{name: target.Name(), where: "target = $1", arg: target.Name(), room: maxWaiting,
			targets:  func(context.Context, database.Tx) ([]string, error) { return []string{target.Name()}, nil },
			targetOf: func(context.Context, stored) (Target, error) { return target, nil },
			wake:     wake.New()})
	}
	if opts.Push != nil {
		all = append(all, &lane{name: PushName, arg: pushPrefix + "%", room: maxForBrowser,
			where:   "target like $1",
			targets: opts.Push.targets, targetOf: opts.Push.targetOf,
			gone: func(ctx context.Context, m stored) error { return opts.Push.end(ctx, m.target[len(pushPrefix):]) },
			wake: wake.New()})
	}
	return all
}
