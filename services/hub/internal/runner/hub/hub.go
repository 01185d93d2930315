package hub

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"parley.internal/services/hub/internal/rest"
)

// The states of a process, and what may be wanted of it.
const (
	Requested = "requested"
	Starting  = "starting"
	Running   = "running"
	Exited    = "exited"
	Failed    = "failed"
	Killed    = "killed"
	Lost      = "lost"

	WantEnded = "ended"
)

// Process is a teammate's process, as the server knows it.
type Process struct {
	ProcessID        string `json:"process_id"`
	TeamName         string `json:"team_name"`
	Name             string `json:"name"`
	AgentID          string `json:"agent_id"`
	AgentType        string `json:"agent_type"`
	Model            string `json:"model"`
	Color            string `json:"color"`
	PlanModeRequired bool   `json:"plan_mode_required"`
	CWD              string `json:"cwd"`
	LeadSessionID    string `json:"lead_session_id"`
	State            string `json:"state"`
	Wanted           string `json:"wanted"`
}

// maxError is how many characters of an error a report may have.
const maxError = 2000

// Report is what became of a process.
type Report struct {
	State     string `json:"state"`
	PID       int    `json:"pid,omitempty"`
	StartedAt string `json:"started_at,omitempty"`
	ExitCode  *int   `json:"exit_code,omitempty"`
	Signal    string `json:"signal,omitempty"`
	Error     string `json:"error,omitempty"`
	LogFile   string `json:"log_file,omitempty"`
}

const (
	// prompt is how long a server may take to answer, beside what it was told to wait.
	prompt = 30 * time.Second
	// maxAnswer bounds an answer of the server, in bytes.
	maxAnswer = 16 << 20
)

// Team is one team on a server, as one runner sees it.
type Team struct {
	// Base is the server's URL, to which /v1 is appended.
	Base, Name string
	// Key is the bearer key, and KeyFrom says where it came from, for messages.
	Key, KeyFrom string
	// Runner is the runner's own id. Who has it speaks for its processes.
	Runner string
	HTTP   *http.Client
}

// Wanted is what this runner should act on. It waits until there is something, at most
// as long as it is told.
func (t *Team) Wanted(ctx context.Context, wait time.Duration) ([]Process, error) {
	return t.list(ctx, url.Values{"wait_ms": {strconv.FormatInt(wait.Milliseconds(), 10)}}, wait)
}

// Held is all that the runner claimed and did not report as ended.
func (t *Team) Held(ctx context.Context) ([]Process, error) {
	return t.list(ctx, url.Values{"held": {"true"}}, 0)
}

func (t *Team) list(ctx context.Context, in url.Values, wait time.Duration) ([]Process, error) {
	in.Set("runner", t.Runner)
	var out struct {
		Processes []Process `json:"processes"`
	}
	err := t.call(ctx, http.MethodGet, "?"+in.Encode(), nil, &out, wait)
	return out.Processes, err
}

type claim struct {
	Runner string `json:"runner"`
}

// Claim takes a process for this runner. [Refused] is its error where another has it
// or nobody wants it any more.
func (t *Team) Claim(ctx context.Context, processID string) (Process, error) {
	var out struct {
		Process Process `json:"process"`
	}
	err := t.call(ctx, http.MethodPost, "/"+url.PathEscape(processID)+"/claim", claim{t.Runner}, &out, 0)
	return out.Process, err
}

// Report tells what became of a process, and is what the server knows then.
func (t *Team) Report(ctx context.Context, processID string, r Report) (Process, error) {
	if text := []rune(r.Error); len(text) > maxError {
		r.Error = string(text[:maxError-1]) + "…"
	}
	var out struct {
		Process Process `json:"process"`
	}
	err := t.call(ctx, http.MethodPost, "/"+url.PathEscape(processID)+"/report", struct {
		claim
		Report
	}{claim{t.Runner}, r}, &out, 0)
	return out.Process, err
}

func (t *Team) call(ctx context.Context, method, path string, body, out any, wait time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, prompt+wait)
	defer cancel()
	var text []byte
	var err error
	if body != nil {
		if text, err = json.Marshal(body); err != nil {
			return err
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, t.Base+"/v1/teams/"+url.PathEscape(t.Name)+"/processes"+path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+t.Key)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := t.HTTP.Do(req)
	if err != nil {
		return t.away(err)
	}
	defer func() { _ = res.Body.Close() }()
	if text, err = io.ReadAll(io.LimitReader(res.Body, maxAnswer)); err != nil {
		return t.away(err)
	}
	return t.read(res, text, out)
}

func (t *Team) away(err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err // its URL holds the runner's id
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = errors.New("it is silent")
	}
	return &Fault{Message: fmt.Sprintf("no server answers at %s (%v)", t.Base, err)}
}

// read opens the envelope.
func (t *Team) read(res *http.Response, text []byte, out any) error {
	var envelope struct {
		Success bool            `json:"success"`
		Data    json.RawMessage `json:"data"`
		Error   rest.Error      `json:"error"`
	}
	if err := json.Unmarshal(text, &envelope); err != nil || envelope.Success == (envelope.Error.Code != "") || envelope.Success != (res.StatusCode < 300) {
		return &Fault{Message: fmt.Sprintf("what answers at %s with status %d is no Parley server", t.Base, res.StatusCode), After: after(res)}
	}
	if envelope.Success {
		if err := json.Unmarshal(envelope.Data, out); err != nil {
			return &Fault{Message: fmt.Sprintf("the answer of %s cannot be read; is it of the same version? (%v)", t.Base, err)}
		}
		return nil
	}
	said := strings.NewReplacer(t.Key, "…", t.Runner, "…").Replace(envelope.Error.Message)
	switch res.StatusCode {
	case http.StatusUnauthorized:
		said = fmt.Sprintf("%s does not take the key of %s: %s; put a good one there, which `parley key create --user YOU` makes", t.Base, t.KeyFrom, said)
	case http.StatusForbidden:
		said = fmt.Sprintf("the key of %s may not do this: %s; it takes one that may read and write teams, which `parley key create --user YOU` makes", t.KeyFrom, said)
	}
	return &Fault{res.StatusCode, envelope.Error.Code, said, after(res)}
}

// after is how long the server asks to be left alone.
func after(res *http.Response) time.Duration {
	text := res.Header.Get("Retry-After")
	if seconds, err := strconv.Atoi(text); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return time.Until(at)
	}
	return 0
}
