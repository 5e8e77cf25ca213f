//go:build containers && linux

package containers_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"harness/tests/codextest"
	"harness/tests/dbtest"
	"harness/tests/programtest"
)

// project is the project in deploy/postgres/compose.yml. Its secrets are made as the file's comment describes. The
// agents of its nodes use an additional scripted model.
type project struct {
	*engine
	arguments []string
	token     string
}

// user is the user id of agents in the image.
const user = 10001

// newProject creates the project without starting it.
func newProject(e *engine) *project {
	e.t.Helper()
	dir := e.t.TempDir()
	file, err := filepath.Abs("../../../deploy/postgres/compose.yml")
	if err != nil {
		e.t.Fatal(err)
	}
	if err := programtest.Build("../../..", "./tests/mockmodel/cmd/mockmodel", filepath.Join(dir, "mockmodel")); err != nil {
		e.t.Fatal(err)
	}
	beside := &strings.Builder{}
	fmt.Fprintf(beside, "services:\n  model:\n    image: debian:bookworm-slim\n    command: [/mockmodel, -listen, '0.0.0.0:8080']\n"+
		"    volumes: ['%s/mockmodel:/mockmodel:ro']\n    networks: [nodes]\n", dir)
	p := &project{engine: e, arguments: []string{"compose", "--env-file", filepath.Join(dir, "compose.env"), "--file", file,
		"--file", filepath.Join(dir, "beside.yml")}}
	for node := 1; node <= 2; node++ {
		home := codextest.Home(e.t, "http://model:8080/v1")
		settings := filepath.Join(home, "config.toml")
		text, err := os.ReadFile(settings)
		if err == nil {
			err = os.WriteFile(settings, []byte(strings.ReplaceAll(string(text), home, "/codex-home")), 0o644) //nolint:gosec // agents read it
		}
		if err == nil {
			err = exec.Command("chown", "-R", fmt.Sprint(user), home).Run()
		}
		if err != nil {
			e.t.Fatal(err)
		}
		fmt.Fprintf(beside, "  node-%d:\n    volumes: ['%s:/codex-home']\n", node, home)
		_, number, err := net.SplitHostPort(dbtest.FreeAddress(e.t, "127.0.0.1"))
		if err != nil {
			e.t.Fatal(err)
		}
		p.environment = append(p.environment, fmt.Sprintf("PORT_%d=%s", node, number))
	}
	if err := os.WriteFile(filepath.Join(dir, "beside.yml"), []byte(beside.String()), 0o600); err != nil {
		e.t.Fatal(err)
	}
	p.makeSecrets(file, dir)
	e.t.Cleanup(func() {
		if e.t.Failed() {
			out, _ := p.command(p.with("logs", "--tail", "40")...).CombinedOutput()
			e.t.Logf("%s", out)
		}
		p.run(p.with("down", "--volumes", "--timeout", "20")...)
	})
	return p
}

// makeSecrets runs the commands in the comment at the top of the file.
func (p *project) makeSecrets(file, dir string) {
	p.t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		p.t.Fatal(err)
	}
	line := regexp.MustCompile(`(?m)^#\s+(\[ -e compose.env \].*)$`).FindSubmatch(text)
	if line == nil {
		p.t.Fatalf("%s does not say how its secrets are made", file)
	}
	cmd := exec.Command("sh", "-ec", string(line[1]))
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		p.t.Fatalf("%s: %v\n%s", line[1], err, out)
	}
	secrets, err := os.ReadFile(filepath.Join(dir, "compose.env"))
	if err != nil {
		p.t.Fatal(err)
	}
	token := regexp.MustCompile(`(?m)^HARNESS_AUTH_TOKEN=(.*)$`).FindSubmatch(secrets)
	if token == nil {
		p.t.Fatalf("%s makes no token", line[1])
	}
	p.token = string(token[1])
}

func (p *project) with(args ...string) []string {
	return append(append([]string{}, p.arguments...), args...)
}

// compose runs a docker compose command that must succeed.
func (p *project) compose(args ...string) string {
	p.t.Helper()
	return p.run(p.with(args...)...)
}

// server returns the server of a service, as clients of this machine reach it.
func (p *project) server(name string) *programtest.Server {
	p.t.Helper()
	return &programtest.Server{Site: &programtest.Site{T: p.t}, URL: "http://" + strings.TrimSpace(p.compose("port", name, "3001")),
		Headers: map[string]string{"Authorization": "Bearer " + p.token}}
}
