package hub

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"parley.internal/shared/client"
	"parley.internal/shared/team"
)

// maxError is how many characters of an error a report may have.
const maxError = 2000

// Team is one team on a server, as one runner sees it.
type Team struct {
	// Client calls the server with the key.
	Client *client.Client
	Name   string
	// Key is the bearer key, and KeyFrom says where it came from, for messages.
	Key, KeyFrom string
	// Runner is the runner's own id. Who has it speaks for its processes.
	Runner string
}

// Wanted is what this runner should act on. It waits until there is something, at most as long as it is told.
func (t *Team) Wanted(ctx context.Context, wait time.Duration) ([]team.Process, error) {
	return t.list(ctx, team.ProcessesInput{WaitMs: int(wait.Milliseconds())})
}

// Held is all that the runner claimed and did not report as ended.
func (t *Team) Held(ctx context.Context) ([]team.Process, error) {
	return t.list(ctx, team.ProcessesInput{Held: true})
}

func (t *Team) list(ctx context.Context, in team.ProcessesInput) ([]team.Process, error) {
	in.TeamName, in.Runner = t.Name, t.Runner
	out, err := t.once().TeamListProcesses(ctx, in)
	return out.Processes, t.explain(err)
}

// Claim takes a process for this runner. [Refused] is its error where another has it or nobody wants it any more.
func (t *Team) Claim(ctx context.Context, processID string) (team.Process, error) {
	out, err := t.once().TeamClaimProcess(ctx, team.ClaimInput{TeamName: t.Name, ProcessID: processID,
		Runner: t.Runner})
	return out.Process, t.explain(err)
}

// Report tells what became of a process, and is what the server knows then. It fills in the names of the team, the
// process and the runner.
func (t *Team) Report(ctx context.Context, processID string, r team.ReportInput) (team.Process, error) {
	r.TeamName, r.ProcessID, r.Runner = t.Name, processID, t.Runner
	if text := []rune(r.Error); len(text) > maxError {
		r.Error = string(text[:maxError-1]) + "…"
	}
	out, err := t.once().TeamReportProcess(ctx, r)
	return out.Process, t.explain(err)
}

// once calls without repetition: the runner has pauses of its own, which a change of its processes cuts short.
func (t *Team) once() *client.Client { return t.Client.With(client.WithRetry(client.NoRetry)) }

// explain puts the error of a call into words that hold no secret.
func (t *Team) explain(err error) error {
	var e *client.Error
	if !errors.As(err, &e) {
		return err
	}
	said, cause := strings.NewReplacer(t.Key, "…", t.Runner, "…").Replace(e.Fault.Message), errors.Unwrap(e.Fault)
	switch {
	case cause != nil:
		said = fmt.Sprintf("%s (%v)", said, cause)
	case e.Code == "":
	case e.Status == http.StatusUnauthorized:
		said = fmt.Sprintf("%s does not take the key of %s: %s; put a good one there, which `parley key create --user "+
			"YOU` makes",
			t.Client.Base(), t.KeyFrom, said)
	case e.Status == http.StatusForbidden:
		said = fmt.Sprintf("the key of %s may not do this: %s; it takes one that may read and write teams, "+
			"which `parley key create --user YOU` makes", t.KeyFrom, said)
	}
	return &Fault{said, e}
}
