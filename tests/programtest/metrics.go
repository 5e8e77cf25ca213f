package programtest

import (
	"net/http"
	"strconv"
	"strings"
)

// Metric returns the sum of a metric's series, 0 if there is none.
func (i *Server) Metric(name string) float64 {
	i.T.Helper()
	_, raw, err := i.Try(http.MethodGet, "/metrics", nil)
	if err != nil {
		i.T.Fatal(err)
	}
	sum := 0.0
	for line := range strings.Lines(string(raw)) {
		series, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if series != name && !strings.HasPrefix(series, name+"{") {
			continue
		}
		n, err := strconv.ParseFloat(value, 64)
		if err != nil {
			i.T.Fatal(err)
		}
		sum += n
	}
	return sum
}

// Metrics returns the whole metrics page.
func (i *Server) Metrics() string {
	i.T.Helper()
	_, raw, err := i.Try(http.MethodGet, "/metrics", nil)
	if err != nil {
		i.T.Fatal(err)
	}
	return string(raw)
}
