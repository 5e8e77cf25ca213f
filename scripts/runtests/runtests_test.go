package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// runIn runs the tests of a new module with these files.
func runIn(t *testing.T, files map[string]string, command ...string) (code int, output string) {
	t.Helper()
	dir := t.TempDir()
	files["go.mod"] = "module example\n\ngo 1.26\n"
	for name, text := range files {
		write(t, filepath.Join(dir, name), text)
	}
	var out bytes.Buffer
	code, err := run(dir, append([]string{"go", "test"}, command...), "", 2, &out)
	if err != nil {
		t.Fatal(err)
	}
	return code, out.String()
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

const (
	passing = "package a\n\nimport (\n\t\"fmt\"\n\t\"testing\"\n)\n\nfunc TestQuiet(t *testing.T) { fmt.Println(\"not shown\"); t.Log(\"nor this\") }\n" +
		"func TestNoAgent(t *testing.T) { t.Run(\"x\", func(t *testing.T) { t.Skip(\"left out of make check: needs an agent\") }) }\n" +
		"func TestThird(t *testing.T) {}\n"
	failing = "package b\n\nimport \"testing\"\n\nfunc TestGood(t *testing.T) { t.Log(\"of a good one\") }\n" +
		"func TestBad(t *testing.T) { t.Run(\"sub\", func(t *testing.T) { t.Error(\"the cause\") }) }\n"
)

func TestPassedRunPrintsSlowestAndLeftOut(t *testing.T) {
	t.Parallel()
	code, out := runIn(t, map[string]string{"a/a_test.go": passing}, "-count=1", "./...")
	for _, want := range []string{"ok  \texample/a", "== the slowest 2 of 3 tests\n", " s  example/a.Test",
		"== left out: 1 tests and subtests that need a part from outside (an agent 1)"} {
		if !strings.Contains(out, want) {
			t.Errorf("the output does not have %q:\n%s", want, out)
		}
	}
	if code != 0 || strings.Contains(out, "shown") || strings.Contains(out, "nor this") || strings.Contains(out, "FAIL") {
		t.Errorf("exit code %d:\n%s", code, out)
	}
}

func TestFailuresAreShownOnceAndListedLast(t *testing.T) {
	t.Parallel()
	code, out := runIn(t, map[string]string{"a/a_test.go": passing, "b/b_test.go": failing, "c/c.go": "package c\n\nvar x int = \"\"\n",
		"c/c_test.go": "package c\n"}, "./...")
	for _, want := range []string{"--- FAIL: TestBad (", "--- FAIL: TestBad/sub (", "the cause", "FAIL\texample/b", "ok  \texample/a",
		"cannot use"} {
		if strings.Count(out, want) != 1 {
			t.Errorf("the output has %q %d times:\n%s", want, strings.Count(out, want), out)
		}
	}
	if code != 1 || !strings.HasSuffix(out, "== FAILED: 2\n  example/b.TestBad\n  example/c\n") || strings.Contains(out, "of a good one") {
		t.Errorf("exit code %d:\n%s", code, out)
	}
}

func TestVerboseRunPrintsEverything(t *testing.T) {
	t.Parallel()
	code, out := runIn(t, map[string]string{"a/a_test.go": passing}, "-v", "./...")
	if code != 0 || !strings.Contains(out, "nor this") || !strings.Contains(out, "=== RUN   TestQuiet") {
		t.Errorf("exit code %d:\n%s", code, out)
	}
}

// A test that ends its process has no separate event.
func TestPanicIsShown(t *testing.T) {
	t.Parallel()
	code, out := runIn(t, map[string]string{"a/a_test.go": "package a\n\nimport \"testing\"\n\nfunc TestPanic(t *testing.T) { panic(\"broken\") }\n"}, "./...")
	if code != 1 || !strings.Contains(out, "panic: broken") || !strings.HasSuffix(out, "== FAILED: 1\n  example/a.TestPanic\n") {
		t.Errorf("exit code %d:\n%s", code, out)
	}
}

func TestOtherCommandsAreRefused(t *testing.T) {
	t.Parallel()
	if _, err := run(".", []string{"make", "test"}, "", 1, os.Stdout); err == nil {
		t.Error("it ran make")
	}
}
