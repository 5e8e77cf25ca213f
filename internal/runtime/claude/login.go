package claude

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"harness/internal/runtime"
)

var _ runtime.LoginFinisher = (*Runtime)(nil)

// loginLimit is how long a user may take for a login.
const loginLimit = 15 * time.Minute

// login is a login that waits for the user's code. Its process has the secret for that code.
type login struct {
	id, state string
	p         *process
	end       func() // requests its end; repeatable
}

// loginCode is the code of a login, for callLoginCode.
type loginCode struct{ Code, State string }

// aside starts a process without a session in an empty folder. end ends the process and deletes its files.
func (r *Runtime) aside(ctx context.Context) (p *process, end func(context.Context) error, err error) {
	dir, err := os.MkdirTemp("", "harness-aside-")
	if err != nil {
		return nil, nil, fmt.Errorf("make an empty folder: %w", err)
	}
	t := &conversation{native: uuid.NewString()}
	p = r.newProcess(t, hello{Native: t.native, Controls: controls{Cwd: dir}.strict()}, state{}, nil)
	end = func(ctx context.Context) error {
		err := p.Stop(context.WithoutCancel(ctx))
		if r.setup.ForgetHome != nil {
			err = errors.Join(err, r.setup.ForgetHome(t.native))
		}
		_ = os.RemoveAll(dir) // a temporary folder
		return err
	}
	_ = p.Start(ctx) // Start itself never fails
	_, used, err := p.Use(ctx)
	if err != nil {
		return nil, nil, errors.Join(err, end(ctx))
	}
	used()
	return p, end, nil
}

// Login implements runtime.Authenticator. A user logs in on a page of the provider, on any machine, and enters the
// code from that page (FinishLogin). Login cancels an earlier login.
func (r *Runtime) Login(ctx context.Context) (runtime.Login, error) {
	if r.setup.SessionHome != nil {
		return runtime.Login{}, &runtime.UnsupportedError{Runtime: Name, Operation: runtime.OpLogin,
			Remedy: "each session has a home of its own, which has no login: " + remedy}
	}
	p, end, err := r.aside(ctx)
	if err != nil {
		return runtime.Login{}, err
	}
	var pages struct {
		Manual string `json:"manualUrl"`
	}
	err = r.request(ctx, p, callLogin, nil, &pages)
	page, bad := url.Parse(pages.Manual)
	if err == nil && (bad != nil || page.Scheme != "https") {
		err = errors.New("claude code started a sign-in without a page; sign in as the server's user with: claude auth login")
	}
	if err != nil {
		return runtime.Login{}, errors.Join(err, end(ctx))
	}
	asked := make(chan struct{})
	l := &login{id: uuid.NewString(), state: page.Query().Get("state"), p: p, end: sync.OnceFunc(func() { close(asked) })}
	r.mu.Lock()
	before, stopping := r.login, r.stopping
	r.login = l
	r.mu.Unlock()
	if before != nil {
		before.end()
	}
	if stopping {
		l.end()
	}
	r.working.Go(func() {
		limit := time.NewTimer(loginLimit)
		defer limit.Stop()
		select {
		case <-asked:
		case <-limit.C:
		case <-p.Done():
		}
		r.mu.Lock()
		if r.login == l {
			r.login = nil
		}
		r.mu.Unlock()
		if err := end(context.WithoutCancel(ctx)); err != nil {
			r.setup.Launch.Logger.Warn().Err(err).Msg("the process of a login did not end well")
		}
	})
	return runtime.Login{ID: l.id, URL: pages.Manual, ExpectsCode: true}, nil
}

// FinishLogin implements runtime.LoginFinisher.
func (r *Runtime) FinishLogin(ctx context.Context, id, code string) error {
	r.mu.Lock()
	l := r.login
	r.mu.Unlock()
	refused := func(kind error, why string) error {
		return &runtime.Error{Runtime: Name, Method: callLoginCode, Message: why, Kind: kind}
	}
	if l == nil || l.id != id {
		return refused(runtime.ErrInvalidState, "no such login waits for a code; begin another one")
	}
	given, state, _ := strings.Cut(strings.TrimSpace(code), "#") // as the page shows it
	if given == "" {
		return refused(runtime.ErrInvalidParams, "the code is empty; it is what the page shows at the end")
	}
	defer l.end() // a rejected code ends it, too
	err := r.request(ctx, l.p, callLoginCode, loginCode{given, cmp.Or(state, l.state)}, nil)
	var native *runtime.Error
	if errors.As(err, &native) {
		return refused(runtime.ErrInvalidState, "the code was not taken ("+native.Message+"); begin another login")
	}
	return err
}

// request makes a request to a process without a session; answer may be nil.
func (r *Runtime) request(ctx context.Context, p *process, method string, params, answer any) error {
	line, done, err := p.Use(ctx)
	if err != nil {
		return err
	}
	defer done()
	result, err := line.Call(ctx, r.setup.Supervise.CallTimeout, method, params)
	if err != nil || answer == nil {
		return err
	}
	if err := json.Unmarshal(result, answer); err != nil {
		return fmt.Errorf("read the answer to %s: %w", method, err)
	}
	return nil
}
