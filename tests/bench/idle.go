package main

import (
	"fmt"
	"time"
)

// settle lets a server finish its current work before its memory is read.
func settle() { time.Sleep(1500 * time.Millisecond) }

func idle(opts *options) error {
	sizes := []int{1000, 5000}
	if !opts.full {
		sizes = sizes[:1]
	}
	t := newTable("Memory per idle connection (growth of the server's resident memory)", "sockets", "way",
		"KiB per connection", "RSS MiB")
	for _, size := range sizes {
		running, first, err := product(opts)
		if err != nil {
			return err
		}
		targets := []*target{first}
		for _, way := range []string{"coder", "gorilla"} {
			other, err := baseline(opts, way, 1100)
			if err != nil {
				return err
			}
			targets = append(targets, other)
		}
		for _, one := range targets {
			query := ""
			if one == first {
				query = "?threadId=" + running.session
			}
			settle()
			before := one.child.rss()
			if one.group, err = join(one.child.url, size, query); err != nil {
				return fmt.Errorf("%s: %w", one.name, err)
			}
			settle()
			after := one.child.rss()
			t.add(size, one.name, float64(after-before)/1024/float64(size), float64(after)/(1<<20))
			one.group.close()
			one.child.stop()
		}
	}
	t.print()
	return nil
}
