package manager

import (
	"errors"
	"strings"
	"testing"

	"harness/internal/runtime"
	"harness/internal/services/session"
)

func level(text string) *string { return &text }

// With full access, nothing restricts the network. It is enabled unless a client sets it. A client that names the
// runtime is refused if it restricts the network. A client of codex-manager sees the values it sent, with their
// effective values.
func TestTheNetworkInFullAccess(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		for name, test := range map[string]struct {
			keeps, named     bool
			network          *string
			shown, effective string
			refused          bool
		}{
			"not named": {network: nil, shown: "enabled"},
			"not named, of a client of codex-manager":  {keeps: true, shown: "restricted", effective: "enabled"},
			"not named, of codex, named":               {keeps: true, named: true, shown: "enabled"},
			"enabled":                                  {network: level("enabled"), shown: "enabled"},
			"restricted":                               {network: level("restricted"), refused: true},
			"restricted, of codex, named":              {keeps: true, named: true, network: level("restricted"), refused: true},
			"restricted, of a client of codex-manager": {keeps: true, network: level("restricted"), shown: "restricted", effective: "enabled"},
		} {
			k.fake.keepsPair = test.keeps
			s, err := k.Create(t.Context(), session.Create{FilesystemSandbox: level(session.SandboxFullAccess), NetworkAccess: test.network,
				RuntimeNamed: test.named})
			var control *runtime.ControlError
			if errors.As(err, &control) != test.refused || test.refused && (control.Field != "networkAccess" || len(control.Enforced) != 1) {
				t.Errorf("%s: %v", name, err)
			}
			if test.refused {
				continue
			}
			again, err := k.Lookup(t.Context(), s.ID)
			k.do(err)
			for _, one := range []session.Session{s, again} {
				said := string(encode(one.Controls))
				if one.Controls.NetworkAccess != test.shown || strings.Contains(said, "networkBefore") ||
					strings.Contains(said, `"effective":{"networkAccess":"`+test.effective+`"}`) != (test.effective != "") {
					t.Errorf("%s: shown as %s", name, said)
				}
			}
		}
	})
}

// If only full access enabled the network, it returns to its previous value when the sandbox is restricted again.
func TestFullAccessLeavesNoNetworkBehind(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		s := k.create() // restricted
		for _, test := range []struct {
			sandbox, network *string
			want             string
		}{
			{level(session.SandboxFullAccess), nil, "enabled"}, {nil, nil, "enabled"}, {level("workspace-write"), nil, "restricted"},
			{level(session.SandboxFullAccess), nil, "enabled"}, {level("read-only"), level("enabled"), "enabled"},
			{level(session.SandboxFullAccess), nil, "enabled"}, {level("workspace-write"), nil, "enabled"},
		} {
			turn, err := turnOf(k.Send(t.Context(), s.ID, session.Message{Text: "hi", FilesystemSandbox: test.sandbox, NetworkAccess: test.network}))
			k.do(err)
			k.fake.end(s.ID, turn, runtime.TurnDone)
			k.flush()
			now, err := k.Lookup(t.Context(), s.ID)
			k.do(err)
			turns, _ := k.fake.seen()
			if now.Controls.NetworkAccess != test.want || turns[len(turns)-1].NetworkAccess != test.want {
				t.Errorf("%v: the network is %s, the turn ran with %s, want %s", test, now.Controls.NetworkAccess,
					turns[len(turns)-1].NetworkAccess, test.want)
			}
		}
		_, err := k.Send(t.Context(), s.ID, session.Message{Text: "hi", FilesystemSandbox: level(session.SandboxFullAccess),
			NetworkAccess: level("restricted")})
		if !errors.As(err, new(*runtime.ControlError)) {
			t.Errorf("the pair in a message: %v", err)
		}
	})
}
