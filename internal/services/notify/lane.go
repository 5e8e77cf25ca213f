package notify

import (
	"context"

	"harness/internal/lib/wake"
	"harness/internal/platform/database"
)

// lane sends messages one after another: to a target, or to all browsers.
type lane struct {
	// name is the target's; metrics count messages by it.
	name string
	// where selects the messages, with arg as its $1.
	where, arg string
	// targets lists the targets to store messages for, at most room pending each.
	targets func(ctx context.Context, tx database.Tx) ([]string, error)
	room    int
	// targetOf returns the target of a message, nil for none; gone is called if a target no longer exists.
	targetOf func(ctx context.Context, m stored) (Target, error)
	gone     func(ctx context.Context, m stored) error
	wake     wake.Signal
}

// lanes returns the lanes of all targets.
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
