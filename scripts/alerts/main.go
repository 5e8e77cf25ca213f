// Command alerts parses alert rules and Grafana dashboards as Prometheus does, and prints each metric of their
// expressions with the required labels: NAME LABEL="VALUE"... It exits with 1 if it cannot read something.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
)

func main() {
	if err := read(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "alerts:", err)
		os.Exit(1)
	}
}

func read(files []string) error {
	asked := map[string]bool{}
	var failed error
	for _, file := range files {
		expressions, err := rules(file)
		if strings.HasSuffix(file, ".json") {
			expressions, err = dashboard(file)
		}
		failed = errors.Join(failed, err)
		if err == nil && len(expressions) == 0 {
			failed = errors.Join(failed, fmt.Errorf("%s asks for nothing", file))
		}
		for _, expression := range expressions {
			parsed, err := parser.ParseExpr(expression)
			if err != nil {
				failed = errors.Join(failed, fmt.Errorf("%s: %s: %w", file, expression, err))
				continue
			}
			parser.Inspect(parsed, func(node parser.Node, _ []parser.Node) error {
				if selector, ok := node.(*parser.VectorSelector); ok {
					asked[metric(selector)] = true
				}
				return nil
			})
		}
	}
	var lines []string
	for line := range asked {
		lines = append(lines, line)
	}
	slices.Sort(lines)
	fmt.Println(strings.Join(lines, "\n"))
	return failed
}

// metric returns a selector's name and its label conditions.
func metric(selector *parser.VectorSelector) string {
	var by []string
	for _, matcher := range selector.LabelMatchers {
		if matcher.Name != labels.MetricName {
			by = append(by, fmt.Sprintf("%s=%q", matcher.Name, matcher.Value))
		}
	}
	slices.Sort(by)
	return strings.Join(append([]string{selector.Name}, by...), " ")
}

// rules returns the expressions of a file of rules.
func rules(file string) (expressions []string, err error) {
	if strings.HasSuffix(file, ".json") {
		return nil, nil
	}
	groups, faults := rulefmt.ParseFile(file, false, model.UTF8Validation)
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	for _, group := range groups.Groups {
		for _, rule := range group.Rules {
			expressions = append(expressions, rule.Expr)
		}
	}
	return expressions, nil
}

// dashboard returns the expressions of a Grafana dashboard, with its variable for the step width replaced by a minute.
func dashboard(file string) (expressions []string, err error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var read struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(content, &read); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	for _, panel := range read.Panels {
		if len(panel.Targets) == 0 {
			return nil, fmt.Errorf("%s: %q shows nothing", file, panel.Title)
		}
		for _, target := range panel.Targets {
			expressions = append(expressions, strings.ReplaceAll(target.Expr, "$__rate_interval", "1m"))
		}
	}
	return expressions, nil
}
