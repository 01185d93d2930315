package operator

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"

	"parley.internal/services/hub/internal/doctor"
	"parley.internal/shared/keys"
	"parley.internal/shared/passkeys"
	"parley.internal/shared/team"
)

// Remote is the operator of the server at the other end of a socket.
type Remote struct {
	client *http.Client
	token  string
}

// NewRemote returns the operator of a server. Every call dials a connection of its own.
func NewRemote(dial func(context.Context) (net.Conn, error), token string) *Remote {
	transport := &http.Transport{DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) }}
	return &Remote{&http.Client{Transport: transport}, token}
}

// post sends a call and returns the answer to one that was not refused; the caller closes it.
func (r *Remote) post(ctx context.Context, name string, in any) (*http.Response, error) {
	body, err := json.Marshal(in)
	if err != nil {
		return nil, err
	}
	return r.send(ctx, name, bytes.NewReader(body), http.Header{"Content-Type": {"application/json"}})
}

// send is post with a body of any kind.
func (r *Remote) send(ctx context.Context, name string, body io.Reader, header http.Header) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://server/"+name, body)
	if err != nil {
		return nil, err
	}
	req.Header = header
	req.Header.Set("Authorization", "Bearer "+r.token)
	res, err := r.client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("the server that has the data directory does not answer: %w", errors.Unwrap(err))
	}
	if res.StatusCode == http.StatusOK {
		return res, nil
	}
	var f failure
	err = json.NewDecoder(res.Body).Decode(&f)
	if err = errors.Join(err, res.Body.Close()); err != nil {
		return nil, fmt.Errorf("the server answers with the status %d: %w", res.StatusCode, err)
	}
	return nil, errorOf(f.Code, f.Message)
}

func call[Out any](ctx context.Context, r *Remote, name string, in any) (out Out, err error) {
	res, err := r.post(ctx, name, in)
	if err != nil {
		return out, err
	}
	err = json.NewDecoder(res.Body).Decode(&out)
	return out, errors.Join(err, res.Body.Close())
}

// Issue implements [Operator].
func (r *Remote) Issue(ctx context.Context, user string, in keys.CreateInput) (keys.CreateOutput, error) {
	return call[keys.CreateOutput](ctx, r, "issue", issueInput{user, in})
}

// Keys implements [Operator].
func (r *Remote) Keys(ctx context.Context, user string, in keys.ListInput) (keys.ListOutput, error) {
	return call[keys.ListOutput](ctx, r, "keys", listInput{user, in})
}

// Devices implements [Operator].
func (r *Remote) Devices(ctx context.Context, user string) ([]keys.View, error) {
	return call[[]keys.View](ctx, r, "devices", userInput{user})
}

// Revoke implements [Operator].
func (r *Remote) Revoke(ctx context.Context, user, id string) (keys.View, error) {
	return call[keys.View](ctx, r, "revoke", revokeInput{user, id})
}

// Link implements [Operator].
func (r *Remote) Link(ctx context.Context, user string, console bool) (keys.Link, error) {
	return call[keys.Link](ctx, r, "link", linkInput{user, console})
}

// Passkeys implements [Operator].
func (r *Remote) Passkeys(ctx context.Context, user string) ([]passkeys.View, error) {
	return call[[]passkeys.View](ctx, r, "passkeys", userInput{user})
}

// DiscardPasskey implements [Operator].
func (r *Remote) DiscardPasskey(ctx context.Context, user, id string) (passkeys.View, error) {
	return call[passkeys.View](ctx, r, "discard-passkey", revokeInput{user, id})
}

// ImportTeam implements [Operator].
func (r *Remote) ImportTeam(ctx context.Context, user, program string, a team.Archive) error {
	_, err := call[nothing](ctx, r, "import-team", importInput{user, program, archive{a.Config, a.Inboxes, a.Tasks}})
	return err
}

// ExportTeam implements [Operator].
func (r *Remote) ExportTeam(ctx context.Context, user, name string) (team.Archive, error) {
	a, err := call[archive](ctx, r, "export-team", teamInput{user, name})
	return team.Archive{Config: a.Config, Inboxes: a.Inboxes, Tasks: a.Tasks}, err
}

// Export implements [Operator].
func (r *Remote) Export(ctx context.Context, user string, to io.Writer) (int, error) {
	res, err := r.post(ctx, "export", userInput{user})
	if err != nil {
		return 0, err
	}
	return streamed(res, to)
}

// Erase implements [Operator].
func (r *Remote) Erase(ctx context.Context, user string) (int, error) {
	return call[int](ctx, r, "erase", userInput{user})
}

// Examine implements [Operator].
func (r *Remote) Examine(ctx context.Context, check string) (doctor.Result, error) {
	return call[doctor.Result](ctx, r, "examine", examineInput{check})
}

// Served implements [Operator].
func (r *Remote) Served() bool { return true }
