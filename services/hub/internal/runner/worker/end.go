package worker

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"parley.internal/services/hub/internal/runner/hub"
	"parley.internal/services/hub/internal/runner/journal"
	"parley.internal/services/hub/internal/runner/launch"
	"parley.internal/services/hub/internal/runner/launcher"
	"parley.internal/shared/dispatch"
	"parley.internal/shared/fault"
	"parley.internal/shared/keys"
	"parley.internal/shared/task"
)

const (
	// maxResult is the largest number of characters of a task's result, and maxReason that of a release's reason.
	maxResult, maxReason = 4000, 500
	// maxOutput is the number of bytes of a client's output that are read for its outcome.
	maxOutput = 16 << 20
)

// ending is how a task ends: it goes back with the reason Release, or is completed.
type ending struct {
	Release string         `json:"release,omitempty"`
	Outcome task.Status    `json:"outcome,omitempty"`
	Result  string         `json:"result,omitempty"`
	Used    launcher.Usage `json:"used"`
	// Session is the client's session at the end, and Sum the whole usage of that session.
	Session string         `json:"session,omitempty"`
	Sum     launcher.Usage `json:"sum"`
	// Drop says that the claim is no longer the worker's.
	Drop bool `json:"drop,omitempty"`
}

// finish waits for the client's end, keeps the claim meanwhile, and ends the task.
func (j *job) finish(ctx context.Context, proc *launch.Process) error {
	renewing, stop := context.WithCancel(ctx)
	renewed := make(chan struct{})
	go func() {
		defer close(renewed)
		j.renew(renewing)
	}()
	why := ""
	select {
	case <-proc.Exited():
	case <-j.lost:
		why = "the claim was lost"
	case <-ctx.Done():
		why = errStopped.Error()
	}
	stop()
	<-renewed
	err := proc.End(j.Times.Grace)
	if err != nil {
		j.Log.Error("a process group does not end", "task", j.held.TaskID, "pid", proc.PID, "error", err)
		return err
	}
	e, idle := j.outcome(proc.Exit(), why != "")
	select {
	case <-j.lost:
		e = ending{Drop: true, Session: e.Session, Sum: e.Sum}
	default:
		if why != "" && (e.Outcome != task.Done || j.Command.Chosen() == nil) {
			e = ending{Release: why, Session: e.Session, Sum: e.Sum}
		}
	}
	if err := j.end(ctx, e); err != nil || !idle {
		return err
	}
	return errIdle{e.Release}
}

// renew renews the claim until ctx ends or the claim is lost.
func (j *job) renew(ctx context.Context) {
	tick := time.NewTicker(j.Times.Lease / 3)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		_, err := j.Server.RenewClaim(ctx, dispatch.RenewInput{TaskID: j.held.TaskID, ClaimToken: j.held.ClaimToken,
			LeaseSeconds: int(j.Times.Lease.Seconds())})
		switch {
		case err == nil || ctx.Err() != nil:
		case hub.Refused(err) || hub.Gone(err) || fault.Is(err, fault.Forbidden):
			j.Log.Warn("the claim was lost, and the client is ended", "task", j.held.TaskID, "error", err)
			close(j.lost)
			return
		default:
			j.Log.Warn("the claim could not be renewed", "task", j.held.TaskID, "error", err)
		}
	}
}

// outcome reads how the client ended. idle says that it never worked on the task, which then goes back.
func (j *job) outcome(exit launch.Exit, stopped bool) (e ending, idle bool) {
	output := j.output()
	unknown := exit.Signal == "" && exit.Code == nil
	failed, why := exit.Code == nil || *exit.Code != 0, ""
	switch {
	case exit.Signal != "":
		why = "the client was ended by " + exit.Signal
	case unknown:
		why = "the client ended after its worker, and its outcome is not known"
	case failed:
		why = fmt.Sprintf("the client exited with code %d", *exit.Code)
	}
	c := j.Command.Chosen()
	if c == nil && unknown {
		return ending{Release: why}, false
	}
	if c == nil {
		return ending{Outcome: status(failed), Result: words(why, string(output))}, false
	}
	o := c.Outcome(output)
	e = ending{Session: o.Session, Sum: o.Sum, Used: o.Sum}
	if o.Session != "" && o.Session == j.held.Session {
		e.Used = o.Sum.Since(j.sessions.of(j.held.Thread).Sum)
	}
	switch {
	case o.Told && !o.Failed:
		e.Outcome, e.Result = task.Done, words("", o.Text)
		return e, false
	case unknown && !o.Told:
		e.Release = why
		return e, false
	case o.Failed:
		why = cmp.Or(o.Reason, why)
	}
	worked := e.Used != launcher.Usage{}
	if !worked && !stopped && !unknown && exit.Signal == "" {
		e.Release = cut("the client could not begin: "+words(why, tail(output, o)), maxReason)
		return e, true
	}
	e.Outcome, e.Result = task.Failed, words(cmp.Or(why, "the client ended without an answer"), tail(output, o))
	return e, false
}

// tail returns the last words of a client, or the last ten lines of its output if it was cut off.
func tail(output []byte, o launcher.Outcome) string {
	if o.Told {
		return o.Text
	}
	lines := strings.Split(strings.TrimSpace(string(output)), "\n")
	return strings.Join(lines[max(0, len(lines)-10):], "\n")
}

func status(failed bool) task.Status {
	if failed {
		return task.Failed
	}
	return task.Done
}

// words joins the reason of an end and the last words, of which the end counts.
func words(why, said string) string {
	said = strings.TrimSpace(said)
	if why == "" || why == said {
		return cut(said, maxResult)
	}
	if said == "" {
		return cut(why, maxResult)
	}
	room := maxResult - len([]rune(why)) - len(": ")
	return cut(why, maxResult/2) + ": " + cutFront(said, max(room, maxResult/2-2))
}

func cut(text string, most int) string {
	if r := []rune(text); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return text
}

func cutFront(text string, most int) string {
	if r := []rune(text); len(r) > most {
		return "…" + string(r[len(r)-most+1:])
	}
	return text
}

// output returns the output of the client so far.
func (j *job) output() []byte {
	log, err := os.Open(j.rec.LogFile)
	if err != nil {
		return nil
	}
	defer log.Close()
	info, err := log.Stat()
	if err != nil {
		return nil
	}
	from := max(j.rec.LogFrom, info.Size()-maxOutput)
	text := make([]byte, max(0, info.Size()-from))
	n, _ := log.ReadAt(text, from) // the readable part counts
	return bytes.ToValidUTF8(text[:n], []byte("\uFFFD"))
}

// end records how the task ends and tells the server, until it has acknowledged that. If ctx has ended or ends, it tries
// for at most Times.Drain more and leaves the rest to a successor.
func (j *job) end(ctx context.Context, e ending) error {
	text, err := json.Marshal(e)
	if j.rec.End = text; err == nil {
		err = j.put()
	}
	if err != nil {
		j.Log.Error("the end of a task could not be written to the journal", "task", j.held.TaskID, "error", err)
	}
	last, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { hub.Sleep(last, j.Times.Drain, nil); cancel() })()
	return j.tell(last, e)
}

// tell tells the server how the task ended, and forgets the task then.
func (j *job) tell(ctx context.Context, e ending) error {
	if e.Session != "" && j.held.Resumes {
		if err := j.sessions.keep(j.held.Thread, session{ID: e.Session, Sum: e.Sum}); err != nil {
			j.Log.Error("a session could not be kept", "task", j.held.TaskID, "error", err)
		}
	}
	err := j.until(ctx, func(ctx context.Context) error {
		switch {
		case e.Drop:
			return nil
		case e.Release != "":
			return j.giveBack(ctx, e.Release)
		}
		_, err := j.Server.CompleteTask(ctx, dispatch.CompleteInput{TaskID: j.held.TaskID, ClaimToken: j.held.ClaimToken,
			Outcome: e.Outcome, Result: e.Result, TokensIn: e.Used.In, TokensOut: e.Used.Out, CostUSD: e.Used.Dollars})
		return err
	})
	switch {
	case hub.Refused(err) || hub.Gone(err) || fault.Is(err, fault.Forbidden):
		j.Log.Warn("the task had ended otherwise, and its result and usage are not recorded", "task", j.held.TaskID, "error", err)
	case err != nil:
		return err
	default:
		j.Log.Info("a task ended", "task", j.held.TaskID, "outcome", e.Outcome, "released", e.Release, "in", e.Used.In,
			"out", e.Used.Out, "dollars", e.Used.Dollars)
	}
	if err := j.revoke(ctx); err != nil {
		return err
	}
	return j.Journal.Remove(j.rec.ProcessID)
}

// revoke revokes the task's key.
func (j *job) revoke(ctx context.Context) error {
	if j.held.KeyID == "" || j.Keys == nil {
		return nil
	}
	err := j.until(ctx, func(ctx context.Context) error {
		_, err := j.Keys.RevokeKey(ctx, keys.RevokeInput{KeyID: j.held.KeyID})
		return err
	})
	if hub.Gone(err) || hub.Refused(err) {
		return nil // it has expired
	}
	return err
}

// giveBack puts the task back into the queue.
func (j *job) giveBack(ctx context.Context, why string) error {
	_, err := j.Server.ReleaseTask(ctx, dispatch.ReleaseInput{TaskID: j.held.TaskID, ClaimToken: j.held.ClaimToken,
		Reason: cut(why, maxReason)})
	return err
}

// takeOver ends a task that a former worker held: it waits for a client that still works. ended is false where the task goes
// back into the queue.
func (w *Worker) takeOver(ctx context.Context, rec journal.Record) (ended bool, err error) {
	j := &job{Worker: w, rec: rec, lost: make(chan struct{})}
	if err := json.Unmarshal(rec.Work, &j.held); err != nil || j.held.TaskID == "" {
		return false, fmt.Errorf("the journal has a record %q that is no task; give a directory of its own with --state", rec.ProcessID)
	}
	w.Log.Info("a former worker left a task", "task", j.held.TaskID, "pid", rec.PID)
	if len(rec.End) > 0 {
		var e ending
		if err := json.Unmarshal(rec.End, &e); err != nil {
			e = ending{Release: "the journal of its worker cannot be read"}
		}
		return e.Release == "", j.end(ctx, e)
	}
	if rec.PID == 0 {
		return false, j.end(ctx, ending{Release: "its worker ended before the client began"})
	}
	if proc, lives := launch.Adopt(rec.PID, rec.StartedAt, w.Times.Poll); lives {
		return true, j.finish(ctx, proc)
	}
	if err := launch.EndGroup(rec.PID, rec.StartedAt, w.Times.Grace); err != nil {
		return false, errors.Join(fmt.Errorf("the client of the task %s does not end", j.held.TaskID), err)
	}
	e, _ := j.outcome(launch.Exit{}, true)
	return e.Release == "", j.end(ctx, e)
}
