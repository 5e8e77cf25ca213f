package config

import (
	"fmt"
	"io"
	"strings"
)

// WriteDocs writes docs/configuration.md.
func WriteDocs(w io.Writer) error {
	var b strings.Builder
	b.WriteString(docsIntro)
	group := ""
	for _, v := range Variables() {
		if v.Group != group {
			group = v.Group
			fmt.Fprintf(&b, "\n## %s\n\n| variable | flag | default | allowed | meaning |\n| --- | --- | --- | --- | --- |\n",
				group)
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n",
			v.Name, code("--", v.Flag()), code("", v.Default), cell(v.Accepts()), cell(docLine(v)))
	}
	_, err := io.WriteString(w, b.String())
	if err != nil {
		return fmt.Errorf("config: write the documentation: %w", err)
	}
	return nil
}

func docLine(v Variable) string {
	if v.Secret {
		return v.Doc + " Secret: never printed, no flag."
	}
	return v.Doc
}

func code(prefix, text string) string {
	if text == "" {
		return "–"
	}
	return "`" + prefix + text + "`"
}

func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

const docsIntro = `# Configuration

<!-- Generated from the table in package config by "make docs"; edit there. -->

A value is taken from the first of these that has one:

1. the command-line flag,
2. the environment,
3. ` + "`.env`" + ` in the working directory, once you consented to it with ` + "`harness trust .env`" + `,
4. the config file named by ` + "`--config` or `HARNESS_CONFIG`" +
	` (YAML or JSON, one flat object; keys are the variable names in any case),
5. the default.

An empty variable counts as unset, but for ` + "`HARNESS_ALLOWED_ORIGINS`" + `. Booleans are ` + "`true` or `false`" +
	`, nothing else. Times are whole milliseconds. Lists are
separated by commas (extension roots by ` + "`:`" +
	`); a config file may use a real list. Relative paths start at the working directory.
A value of ours in ` + "`.env`" + ` that contains ` + "`$`" + ` must stand in single quotes.
All else in that file is passed over, whatever program it is of
(` + "`harness doctor`" + ` says what was no assignment), and so is what is no file there or longer than 1 MiB.

A ` + "`.env`" + ` that sets a variable of ours and is not consented to, or was edited since, stops every command with exit code 2,` +
	` its hash and the
command to consent with. ` + "`--trust`, or `HARNESS_TRUST=true`" +
	` in the environment, consents for one run: for scripts and containers.

A value that is not allowed stops the start with exit code 2 and one line that names the variable, the value and what is allowed.
` + "`harness config print`" + ` shows what is in force and where each value came from; secrets and the password inside
` + "`DATABASE_URL`" + ` are shown as ` + "`[redacted]`" + `.
`
