package remote

import (
	"cmp"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os/exec"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"harness/client"
	"harness/internal/runtime"
)

// Codex returns the path of the installed codex, and the environment to run it in.
type Codex func() (path string, env []string, err error)

// attachToken is the variable that hands the token to codex: other users of a machine can read command lines.
const attachToken = "HARNESS_TOKEN"

// attach runs codex's TUI on a server.
func (c *commands) attach(codex Codex) *cobra.Command {
	var agent, model, sandbox, policy, cwd string
	cmd := &cobra.Command{
		Use:   "attach [SESSION]",
		Short: "Work on a session of any runtime in codex's TUI: harness attach --runtime claude",
		Long: "Work on a session of any runtime in codex's TUI, in this terminal. Without SESSION it starts one.\n" +
			"It runs the codex that is installed here, 0.169 or later; the agent runs on the server.",
		Args:              ArgumentsError,
		ValidArgsFunction: c.completeSessions,
		RunE: func(cmd *cobra.Command, args []string) error {
			model = strings.Trim(agent+"/"+model, "/")
			var own []string
			for _, flag := range [][2]string{{"-m", model}, {"-s", sandbox}, {"-a", policy}, {"-C", cwd}} {
				if flag[1] != "" {
					own = append(own, flag[:]...)
				}
			}
			switch {
			case len(args) == 0:
				return c.becomeTUI(cmd, codex, own)
			case len(own) > 0:
				return usage("%s needs a new session; it cannot be combined with SESSION", own[0])
			}
			return c.becomeTUI(cmd, codex, []string{"resume", args[0]})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&agent, "runtime", "", "runtime of the new session (default: the server's default)")
	flags.StringVarP(&model, "model", "m", "", "the model")
	flags.StringVarP(&sandbox, "sandbox", "s", "", "what the agent may change: read-only, workspace-write or danger-full-access")
	flags.StringVarP(&policy, "ask-for-approval", "a", "", "when the agent asks for approval: on-request or never (default: the runtime's)")
	flags.StringVar(&cwd, "cwd", "", "working folder on the server (default: its workspace)")
	return cmd
}

// becomeTUI replaces this process with codex, so that terminal, signals and exit code are codex's own. It returns only
// on failure. What the TUI cannot explain is found before.
func (c *commands) becomeTUI(cmd *cobra.Command, codex Codex, args []string) error {
	path, env, err := codex()
	if err != nil {
		return err
	}
	said, err := exec.CommandContext(cmd.Context(), path, "--version").Output() //nolint:gosec // what the user installed
	if version, _, _ := strings.Cut(string(said), "\n"); err != nil || !runtime.Newer(version, []string{"0.168.9999"}) {
		return fmt.Errorf("%s (%s) cannot attach: install 0.169 or later with npm install -g @openai/codex, or set CODEX_BIN",
			path, cmp.Or(version, "not a codex"))
	}
	base, token, err := c.Find(c.local)
	if err != nil {
		return err
	}
	api, err := c.connect()
	if err != nil {
		return err
	}
	at, err := url.Parse(base)
	if err != nil || strings.Trim(at.Path, "/") != "" {
		return usage("codex's TUI accepts no path, and %s has one: name the server's own port with --url", base)
	}
	if err := checkDoor(cmd, base, token); err != nil {
		return err
	}
	if len(args) > 0 && args[0] == "resume" {
		if _, err := read[client.ReadSession200JSONResponseBody](api.ReadSession(cmd.Context(), args[1], nil)); err != nil {
			return err
		}
	}
	port := cmp.Or(at.Port(), map[string]string{"http": "80", "https": "443"}[at.Scheme])
	own := []string{"codex", "--remote", "ws" + strings.TrimPrefix(at.Scheme, "http") + "://" + net.JoinHostPort(at.Hostname(), port)}
	if token != "" {
		own, env = append(own, "--remote-auth-token-env", attachToken), append(env, attachToken+"="+token)
	}
	return fmt.Errorf("start %s: %w", path, syscall.Exec(path, append(own, args...), env)) //nolint:gosec // what the user installed
}

// checkDoor tries the connection that the TUI makes.
func checkDoor(cmd *cobra.Command, base, token string) error {
	request, err := http.NewRequestWithContext(cmd.Context(), http.MethodGet, base+"/", nil)
	if err != nil {
		return err
	}
	request.Header = http.Header{"Connection": {"Upgrade"}, "Upgrade": {"websocket"}, "Sec-Websocket-Version": {"13"},
		"Sec-Websocket-Key": {"aGFybmVzcyBhdHRhY2ghIQ=="}}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := doer{base}.Do(request)
	if err != nil {
		return err
	}
	switch response.StatusCode {
	case http.StatusSwitchingProtocols:
		return response.Body.Close()
	case http.StatusOK, http.StatusNotFound: // the console answers, or nothing does
		_ = response.Body.Close()
		return fmt.Errorf("%s does not serve codex's TUI: add app-server to its HARNESS_DOORS", base)
	}
	_, err = read[struct{}](response, nil)
	return err
}
