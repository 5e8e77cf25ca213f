package doctor

import (
	"fmt"
	"strings"

	"harness/internal/platform/auth/oidc"
	"harness/internal/runtime/environment"
	"harness/server"
)

// providers checks that the clouds chosen for runtimes have the variables they need. It also reports variables of a
// cloud that no runtime gets, with the reason.
func (d *doctor) providers() {
	names := d.cfg.Runtimes
	if len(names) == 0 {
		names = server.FoundRuntimes(d.cfg)
	}
	for _, name := range names {
		for _, one := range server.ProvidersOf(d.cfg, name) {
			d.provider(name, one)
		}
	}
}

func (d *doctor) provider(runtimeName string, one environment.ProviderStatus) {
	const name = "providers"
	var held []string
	for _, variable := range one.HeldBack {
		held = append(held, variable.Name)
	}
	switch {
	case one.Chosen && len(one.Missing) > 0:
		d.warn(name, fmt.Sprintf("%s: %s is chosen, and %s is not there", runtimeName, one.Title, strings.Join(one.Missing, ", ")),
			one.Remedy)
	case one.Chosen:
		d.ok(name, "%s: %s, with %s", runtimeName, one.Title, strings.Join(one.Passed, ", "))
	case len(held) > 0:
		d.ok(name, "%s: %s is not chosen, so it does not get %s; it is with %s", runtimeName, one.Title, strings.Join(held, ", "),
			one.ChooseWith)
	}
}

// logins reads the OpenID Connect providers like the server, which does not start without them.
func (d *doctor) logins() {
	if d.cfg.OIDCFile == "" {
		return
	}
	const name = "logins"
	found, err := oidc.ReadProviders(d.cfg.OIDCFile)
	if err != nil {
		d.broken(name, err.Error(), "")
		return
	}
	d.ok(name, "HARNESS_OIDC_FILE %s names %d providers", d.cfg.OIDCFile, len(found))
}
