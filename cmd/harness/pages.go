package main

import (
	"net/http"

	"harness/console"
)

// pages are what browsers are shown beside the API; none without HARNESS_CONSOLE.
type pages struct {
	open   func(*http.Request) bool
	beside func(api http.Handler) http.Handler
}

func (s *Server) pages() (pages, error) {
	if !s.cfg.Console {
		return pages{}, nil
	}
	site, err := console.New(s.cfg.BasePath)
	if err != nil {
		return pages{}, err
	}
	return pages{open: site.Serves, beside: site.Beside}, nil
}
