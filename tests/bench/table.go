package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// table is printed as Markdown, so that docs/performance.md can include a result unchanged.
type table struct {
	title string
	rows  [][]string
}

func newTable(title string, columns ...string) *table {
	return &table{title: title, rows: [][]string{columns}}
}

func (t *table) add(cells ...any) {
	row := make([]string, len(cells))
	for i, cell := range cells {
		switch value := cell.(type) {
		case float64:
			row[i] = number(value)
		default:
			row[i] = fmt.Sprint(value)
		}
	}
	t.rows = append(t.rows, row)
}

func number(value float64) string {
	switch {
	case value >= 100:
		return fmt.Sprintf("%.0f", value)
	case value >= 10:
		return fmt.Sprintf("%.1f", value)
	}
	return fmt.Sprintf("%.2f", value)
}

func (t *table) print() {
	widths := make([]int, len(t.rows[0]))
	for _, row := range t.rows {
		for i, cell := range row {
			widths[i] = max(widths[i], len([]rune(cell)))
		}
	}
	fmt.Printf("\n### %s\n\n", t.title)
	for n, row := range t.rows {
		var b strings.Builder
		for i, cell := range row {
			fmt.Fprintf(&b, "| %s%s ", cell, strings.Repeat(" ", widths[i]-len([]rune(cell))))
		}
		fmt.Println(b.String() + "|")
		if n == 0 {
			b.Reset()
			for _, width := range widths {
				b.WriteString("| " + strings.Repeat("-", width) + " ")
			}
			fmt.Println(b.String() + "|")
		}
	}
}

// quantile returns a quantile of durations in ms.
func quantile(times []time.Duration, q float64) float64 {
	if len(times) == 0 {
		return 0
	}
	slices.Sort(times)
	at := min(len(times)-1, int(q*float64(len(times))))
	return float64(times[at].Microseconds()) / 1000
}
