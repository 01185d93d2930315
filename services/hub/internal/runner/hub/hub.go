package hub

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"parley.internal/services/hub/internal/printable"
	"parley.internal/shared/client"
	"parley.internal/shared/team"
)

// maxError is the maximum length of an error in a report, in characters.
const maxError = 2000

// Team is a team on the server as one runner uses it.
type Team struct {
	// Client calls the server with Key.
	Client *client.Client
	Name   string
	// Key is the bearer key. KeyFrom describes its source, for messages.
	Key, KeyFrom string
	// Runner is the runner's ID. It is a secret: it authorizes reports on the runner's processes.
	Runner string
}

// Wanted returns the processes that the runner has to start or end. It waits until there is one, for at most wait.
func (t *Team) Wanted(ctx context.Context, wait time.Duration) ([]team.Process, error) {
	return t.list(ctx, team.ProcessesInput{WaitMs: int(wait.Milliseconds())})
}

// Held returns the processes that the runner has claimed and not reported as ended.
func (t *Team) Held(ctx context.Context) ([]team.Process, error) {
	return t.list(ctx, team.ProcessesInput{Held: true})
}

func (t *Team) list(ctx context.Context, in team.ProcessesInput) ([]team.Process, error) {
	in.TeamName, in.Runner = t.Name, t.Runner
	out, err := t.withoutRetry().TeamListProcesses(ctx, in)
	return out.Processes, t.explain(err)
}

// Claim claims a process for the runner. [Refused] is true for the error if another runner has it or it is no longer
// wanted. The key in the result is that of the member, for its process alone.
func (t *Team) Claim(ctx context.Context, processID string) (team.ClaimOutput, error) {
	out, err := t.withoutRetry().TeamClaimProcess(ctx, team.ClaimInput{TeamName: t.Name, ProcessID: processID,
		Runner: t.Runner})
	return out, t.explain(err)
}

// Report reports the state of a process and returns the process as the server has it then. It sets the names of the
// team, the process and the runner, and shortens the error to 2,000 characters.
func (t *Team) Report(ctx context.Context, processID string, r team.ReportInput) (team.Process, error) {
	r.TeamName, r.ProcessID, r.Runner = t.Name, processID, t.Runner
	if text := []rune(r.Error); len(text) > maxError {
		r.Error = string(text[:maxError-1]) + "…"
	}
	out, err := t.withoutRetry().TeamReportProcess(ctx, r)
	return out.Process, t.explain(err)
}

// Prompt returns the prompt of a member, which it reads with the member's own key.
func (t *Team) Prompt(ctx context.Context, member, key string) (string, error) {
	out, err := t.withoutRetry().With(client.WithKey(key)).TeamReadConfig(ctx, team.NameInput{TeamName: t.Name})
	if err != nil {
		return "", unreadable("prompt", key, err)
	}
	for _, m := range out.Members {
		if m.Name == member && m.Prompt != nil {
			return *m.Prompt, nil
		}
	}
	return "", fmt.Errorf("the team %s has no prompt for %s any more", t.Name, member)
}

// maxUnread is the number of messages that Unread returns.
const maxUnread = 50

// Unread returns the first unread messages of a member's inbox, oldest first, and whether there are more. It reads them
// with the member's own key, and leaves them unread.
func (t *Team) Unread(ctx context.Context, member, key string) (mail []team.Message, more bool, err error) {
	peek := false
	out, err := t.withoutRetry().With(client.WithKey(key)).TeamReadInbox(ctx, team.ReadInput{TeamName: t.Name,
		AgentName: member, UnreadOnly: true, MarkAsRead: &peek, Limit: maxUnread})
	return out.Messages, out.NextCursor != "", unreadable("inbox", key, err)
}

// unreadable is the error of a call with a member's key, without the key.
func unreadable(what, key string, err error) error {
	var e *client.Error
	if !errors.As(err, &e) {
		return err
	}
	return &Fault{"the member's " + what + " cannot be read: " + printable.EscapeLine(
		strings.ReplaceAll(e.Fault.Message, key, "…")), e}
}

// withoutRetry returns the client without retries. The runner retries itself, because a change of its processes must
// cut a pause short.
func (t *Team) withoutRetry() *client.Client { return t.Client.With(client.WithRetry(client.NoRetry)) }

// explain adds the remedy to the error of a call, removes the secrets from it and escapes the server's words.
func (t *Team) explain(err error) error {
	var e *client.Error
	if !errors.As(err, &e) {
		return err
	}
	said, cause := strings.NewReplacer(t.Key, "…", t.Runner, "…").Replace(e.Fault.Message), errors.Unwrap(e.Fault)
	said = printable.EscapeLine(said)
	switch {
	case cause != nil:
		said = fmt.Sprintf("%s (%s)", said, printable.EscapeLine(cause.Error()))
	case e.Code == "":
	case e.Status == http.StatusUnauthorized:
		said = fmt.Sprintf("%s refuses the key of %s: %s; "+
			"replace it with one that `parley key create --user YOU --scopes runner --team %s` makes",
			t.Client.Base(), t.KeyFrom, said, printable.EscapeLine(t.Name))
	case e.Status == http.StatusForbidden:
		said = fmt.Sprintf("the key of %s does not allow this: %s; use one that "+
			"`parley key create --user YOU --scopes runner --team %s` makes", t.KeyFrom, said, printable.EscapeLine(t.Name))
	}
	return &Fault{said, e}
}
