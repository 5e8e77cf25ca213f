// Command mutants breaks the product on purpose, one promise at a time, and fails if the promise's tests do not notice.
//
// It compiles each mutant of tests/promises with an overlay, so it changes no file of the repository. It runs the tests
// of the mutant's row; at least one must fail.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"harness/tests/promises"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	budget := flag.Duration("time", 0, "begin no mutant after this time; the order changes every day (0: all)")
	rows := flag.String("rows", "", "only mutants of rows that match this regular expression")
	flag.Parse()
	if err := run(ctx, *budget, *rows); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, budget time.Duration, rows string) error {
	mutants, err := chosen(rows, budget > 0)
	if err != nil {
		return err
	}
	began := time.Now()
	killed, failed := 0, 0
	for _, mutant := range mutants {
		if budget > 0 && time.Since(began) > budget {
			break
		}
		by, err := kill(ctx, mutant)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			failed++
			_, _ = fmt.Fprintf(os.Stdout, "FAILED   %s %s %v\n", mutant.Row, mutant.What, err)
			continue
		}
		killed++
		_, _ = fmt.Fprintf(os.Stdout, "killed   %s %s (%s)\n", mutant.Row, mutant.What, by)
	}
	_, _ = fmt.Fprintf(os.Stdout, "mutants: %d passed, %d failed\n", killed, failed)
	if failed > 0 {
		return fmt.Errorf("%d of %d mutants were not noticed by the tests of the promise they break", failed, killed+failed)
	}
	return nil
}

// chosen returns the mutants of matching rows; a sample takes them in an order that changes every day.
func chosen(rows string, sample bool) ([]promises.Mutant, error) {
	match, err := regexp.Compile(rows)
	if err != nil {
		return nil, fmt.Errorf("-rows: %w", err)
	}
	mutants, err := promises.Mutants()
	if err != nil {
		return nil, err
	}
	mutants = slices.DeleteFunc(mutants, func(m promises.Mutant) bool { return !match.MatchString(m.Row) })
	if len(mutants) == 0 {
		return nil, fmt.Errorf("no mutant is of a row that matches %q", rows)
	}
	if sample {
		day := uint64(time.Now().Unix() / (24 * 60 * 60)) //nolint:gosec // days since 1970 are positive
		rand.New(rand.NewPCG(day, 0)).Shuffle(len(mutants), func(i, j int) { mutants[i], mutants[j] = mutants[j], mutants[i] })
	}
	return mutants, nil
}

// kill runs the tests of a mutant until one fails, and returns that one. It returns an error if none fails, or if the
// mutant does not compile.
func kill(ctx context.Context, mutant promises.Mutant) (by string, err error) {
	folder, err := os.MkdirTemp("", "mutant")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(folder) }() // a leftover temporary folder does no harm
	overlay, err := write(folder, mutant)
	if err != nil {
		return "", err
	}
	byFolder := map[string][]string{}
	for _, test := range mutant.Tests {
		of, name := promises.Split(test)
		byFolder[of] = append(byFolder[of], name)
	}
	var folders []string
	for of := range byFolder {
		folders = append(folders, of)
	}
	slices.Sort(folders)
	for _, of := range folders {
		// From the folder: the client is a separate module.
		//nolint:gosec // names of tests, from a file of the repository
		test := exec.CommandContext(ctx, "go", "-C", of, "test", "-vet=off", "-timeout=5m", "-run",
			"^("+strings.Join(byFolder[of], "|")+")$", ".")
		// Programs that tests build themselves must contain the mutant, too.
		test.Env = append(os.Environ(), "GOFLAGS="+strings.TrimSpace(os.Getenv("GOFLAGS")+" -overlay="+overlay))
		said, err := test.CombinedOutput()
		if by, over := verdict(string(said), err); over != nil || by != "" {
			return by, over
		}
	}
	return "", fmt.Errorf("survived %s", strings.Join(mutant.Tests, " "))
}

var failedTest = regexp.MustCompile(`(?m)^--- FAIL: (\w+)`)

// verdict parses the output of go test: the failed test, "" if all passed, or an error if it shows neither.
func verdict(said string, err error) (by string, over error) {
	switch {
	case err == nil && strings.Contains(said, "no tests to run"):
		return "", fmt.Errorf("names tests that are not there:\n%s", said)
	case err == nil:
		return "", nil
	case strings.Contains(said, "[build failed]"), strings.Contains(said, "[setup failed]"):
		return "", fmt.Errorf("does not compile:\n%s", said)
	}
	if found := failedTest.FindStringSubmatch(said); found != nil {
		return found[1], nil
	}
	if strings.Contains(said, "panic: ") {
		return "a panic", nil
	}
	return "", fmt.Errorf("go test says neither ok nor which test failed (%w):\n%s", err, said)
}

// write writes the mutant's file and its overlay into a folder.
func write(folder string, mutant promises.Mutant) (overlay string, err error) {
	original, err := filepath.Abs(filepath.FromSlash(mutant.File))
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile(original) //nolint:gosec // a file of the repository
	if err != nil {
		return "", err
	}
	changed, err := mutant.Apply(string(text))
	if err != nil {
		return "", err
	}
	replacement := filepath.Join(folder, "mutant.go")
	if err := os.WriteFile(replacement, []byte(changed), 0o600); err != nil {
		return "", err
	}
	content, err := json.Marshal(map[string]map[string]string{"Replace": {original: replacement}})
	if err != nil {
		return "", err
	}
	overlay = filepath.Join(folder, "overlay.json")
	return overlay, os.WriteFile(overlay, content, 0o600)
}
