package remote

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"harness/client"
)

// Login logs in a person at an OpenID Connect provider of a server, with a code that the person enters in a browser
// (RFC 8628). It stores the login in the profile of that server; without a profile it creates one with the provider's
// name.
func Login(cmd *cobra.Command, server *Connection, local Local, provider string, inKeyring bool) error {
	base, _, err := server.Find(local)
	if err != nil {
		return err
	}
	all, err := readProfiles()
	if err != nil {
		return err
	}
	name, err := all.forLogin(server.profile, base, provider)
	if err != nil {
		return err
	}
	api, err := client.Connect(base, "", client.WithHTTPClient(doer{base}))
	if err != nil {
		return &UsageError{err}
	}
	began, err := client.Read[client.BeginDeviceLogin200JSONResponseBody](api.BeginDeviceLogin(cmd.Context(), provider))
	if err != nil {
		return err
	}
	at := began.VerificationURI
	if began.VerificationURIComplete != nil {
		at = *began.VerificationURIComplete
	}
	_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "open %s\nand enter or compare the code %s\n", at, began.UserCode)
	login, err := confirmed(cmd.Context(), api, provider, began)
	if err != nil {
		return err
	}
	before := all.Servers[name]
	one := before
	one.URL = base
	if one, err = keepToken(before, one, name, login.Secret, inKeyring); err != nil {
		return err
	}
	all.Servers[name] = one
	if all.Current == "" {
		all.Current = name
	}
	if err := all.write(); err != nil {
		return err
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "Signed in as %s (%s) at %s; saved in the profile %s\n", login.Name, login.Role, base, name)
	return err
}

// forLogin returns the name of the profile that stores a login at a server.
func (p profiles) forLogin(named, base, provider string) (string, error) {
	if named != "" {
		return named, nil
	}
	if p.Servers[p.Current].URL == base {
		return p.Current, nil
	}
	for name, one := range p.Servers {
		if one.URL == base {
			return name, nil
		}
	}
	if _, taken := p.Servers[provider]; taken {
		return "", usage("the profile %s is another server's: harness profiles set NAME --server %s, then log in with --profile NAME",
			provider, base)
	}
	return provider, nil
}

// answered is a confirmed login, or the status that it is not confirmed yet.
type answered struct {
	client.FinishDeviceLogin200JSONResponseBody
	Status   string `json:"status"`
	SlowDown bool   `json:"slowDown"`
}

// confirmed waits until the person has confirmed the login.
func confirmed(ctx context.Context, api *client.Client, provider string, began client.BeginDeviceLogin200JSONResponseBody) (
	answered, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(began.ExpiresIn)*time.Second)
	defer cancel()
	interval := time.Duration(began.Interval) * time.Second
	for {
		wait := time.NewTimer(interval)
		select {
		case <-wait.C:
		case <-ctx.Done():
			wait.Stop()
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return answered{}, errors.New("the sign-in was not confirmed in time; run harness login again")
			}
			return answered{}, ctx.Err()
		}
		got, err := client.Read[answered](api.FinishDeviceLogin(ctx, provider,
			client.FinishDeviceLoginJSONRequestBody{DeviceCode: began.DeviceCode}))
		var refused *client.StatusError
		switch {
		case errors.As(err, &refused) && refused.Status == http.StatusServiceUnavailable: // poll again, as RFC 8628 requires after timeouts
		case err != nil:
			return answered{}, err
		case got.Status != "pending":
			return got, nil
		case got.SlowDown:
			interval += 5 * time.Second
		}
	}
}
