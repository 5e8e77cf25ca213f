package main

import (
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
)

// originalScript stands in for codex-manager's storage of entries. Its comments list what it does and what it omits.
//
//go:embed original.mjs
var originalScript []byte

// serveOriginal starts the stand-in on Node and the real codex. It has one conversation, and a number of entries in
// another.
func serveOriginal(opts *options, stored int) (*server, error) {
	dir, err := os.MkdirTemp(opts.dir, "original-")
	if err != nil {
		return nil, err
	}
	node, err := exec.LookPath("node")
	if err != nil {
		return nil, fmt.Errorf("the stand-in for codex-manager runs on Node: %w", err)
	}
	codex, home, err := realCodex(dir, "http://127.0.0.1:1")
	if err != nil {
		return nil, err
	}
	script := filepath.Join(dir, "original.mjs")
	if err := os.WriteFile(script, originalScript, 0o600); err != nil {
		return nil, err
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	c, err := startChild(dir, "original", []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "CODEX_HOME=" + home},
		"http://127.0.0.1:"+strconv.Itoa(port), node, script, strconv.Itoa(port), codex, dir, strconv.Itoa(stored))
	if err != nil {
		return nil, err
	}
	made := &server{child: c, store: &store{engine: engine{synchronous: "none"}, dir: dir}}
	if made.session, err = made.newSession(); err != nil {
		made.stop()
		return nil, err
	}
	return made, nil
}

// original compares the product with the stand-in for codex-manager, in turn, each round on a new store. The stand-in
// rewrites all its entries again and again. So the benchmark measures it empty and with the most entries that it
// keeps of one conversation.
func original(opts *options) error {
	t := newTable("Single upserts of new 1 KiB entries beside a stand-in for codex-manager's storage, which does not sync, in turns"+
		" (ratio: product to stand-in; medians of the rounds)",
		"store", "stored before", "clients", "stand-in/s", "product/s", "ratio", "lowest", "highest",
		"p99 ms stand-in", "product")
	for _, e := range opts.engines() {
		for _, stored := range []int{0, 5000} {
			for _, clients := range []int{1, 32} {
				if opts.clients != 0 && opts.clients != clients {
					continue
				}
				if err := originalRounds(opts, e, stored, clients, t); err != nil {
					return err
				}
			}
		}
	}
	t.print()
	return nil
}

func originalRounds(opts *options, e engine, stored, clients int, t *table) error {
	var speed, p99 series
	for round := range pairRounds {
		for i := range 2 {
			build := (i + round) % 2
			got, err := originalRound(opts, e, build, stored, clients)
			if err != nil {
				return err
			}
			speed.note(build, got.perSecond)
			p99.note(build, got.p99)
		}
	}
	ratio, lowest, highest := speed.ratios()
	t.add(e.name, stored, clients, middle(speed[0]), middle(speed[1]), ratio, lowest, highest, middle(p99[0]),
		middle(p99[1]))
	return nil
}

func originalRound(opts *options, e engine, build, stored, clients int) (got rate, err error) {
	var s *server
	if build == 0 {
		s, err = serveOriginal(opts, stored)
	} else {
		s, err = serve(opts, e)
	}
	if err != nil {
		return rate{}, err
	}
	defer s.stop()
	if build == 1 && stored > 0 {
		if err := s.write(stored); err != nil {
			return rate{}, err
		}
	}
	return upsertLoad(s, clients, 0, oneKiB, opts.length/2)
}
