package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"parley.internal/services/hub/internal/runner/journal"
	"parley.internal/services/hub/internal/runner/launch"
	"parley.internal/services/hub/internal/runner/launcher"
	"parley.internal/services/hub/internal/runner/template"
	"parley.internal/shared/dispatch"
)

// held is the journal's record of a task that the worker holds.
type held struct {
	TaskID     string `json:"taskId"`
	ClaimToken int64  `json:"claimToken"`
	// Thread is that whose session the task goes on with, if it Resumes.
	Thread  string `json:"threadId,omitempty"`
	Resumes bool   `json:"resumes,omitempty"`
	KeyID   string `json:"keyId,omitempty"`
	// Session is the client's session that the task continues.
	Session string `json:"session,omitempty"`
}

// job is one task that the worker holds.
type job struct {
	*Worker
	rec  journal.Record
	held held
	// lost is closed when the server says that the claim is no longer the worker's.
	lost chan struct{}
}

// errStopped is the reason of a client's end when its worker ends.
var errStopped = errors.New("its worker was stopped")

// put writes the task to the journal.
func (j *job) put() error {
	text, err := json.Marshal(j.held)
	if err != nil {
		return err
	}
	j.rec.Work = text
	return j.Journal.Put(j.rec)
}

// run runs the client on a claimed task and ends the task. An errIdle says that the client could not begin.
func (w *Worker) run(ctx context.Context, t dispatch.View, token int64) error {
	j := &job{Worker: w, rec: journal.Record{ProcessID: t.ID, Name: w.Program}, lost: make(chan struct{}),
		held: held{TaskID: t.ID, ClaimToken: token}}
	if j.held.Thread, j.held.Resumes = w.Resume.thread(t.ThreadID); j.held.Resumes {
		j.held.Session = w.sessions.of(j.held.Thread).ID
	}
	if err := j.put(); err != nil {
		return errors.Join(err, j.giveBack(context.WithoutCancel(ctx), "its worker could not write its journal"))
	}
	w.Log.Info("a task was claimed", "task", t.ID, "title", t.Title, "source", t.Source)
	proc, err := j.begin(ctx, t)
	if err != nil {
		why := "the client could not be started: " + err.Error()
		if ctx.Err() != nil {
			why = errStopped.Error()
		}
		if err := j.end(ctx, ending{Release: why}); err != nil || ctx.Err() != nil {
			return err
		}
		return errIdle{why}
	}
	err = j.finish(ctx, proc)
	if cannot := (errIdle{}); errors.As(err, &cannot) && j.held.Session != "" && ctx.Err() == nil {
		// The session may be gone. It is forgotten, so that the task begins another when it is claimed again.
		return errors.Join(w.sessions.forget(j.held.Thread), err)
	}
	return err
}

// begin starts the client with a key for the task.
func (j *job) begin(ctx context.Context, t dispatch.View) (*launch.Process, error) {
	key, err := j.key(ctx)
	if err != nil {
		return nil, err
	}
	ready, err := j.prepare(t, key)
	if err != nil {
		return nil, err
	}
	j.rec.LogFile = j.Journal.Log(j.Program)
	log, err := launch.OpenLog(j.rec.LogFile, fmt.Sprintf("--- %s task %s", j.Now().UTC().Format(time.RFC3339), t.ID))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	if j.rec.LogFrom, err = log.Seek(0, io.SeekEnd); err != nil {
		return nil, fmt.Errorf("cannot read the length of the log: %w", err)
	}
	waiting, err := launch.Start(j.Child, log)
	if err != nil {
		return nil, err
	}
	j.rec.PID, j.rec.StartedAt = waiting.PID, waiting.StartedAt
	if err := j.put(); err != nil {
		waiting.Drop()
		return nil, err
	}
	proc, err := waiting.Become(ctx, ready)
	if err == nil {
		j.Log.Info("the client works", "task", t.ID, "pid", proc.PID, "log", j.rec.LogFile)
	}
	return proc, err
}

// key returns the key for the client, and makes one where the worker may.
func (j *job) key(ctx context.Context) (string, error) {
	if j.Keys == nil {
		return j.Key, nil
	}
	grant, key := j.Grant, ""
	grant.Name, grant.Program = "task "+j.held.TaskID, j.Program
	err := j.until(ctx, func(ctx context.Context) error {
		out, err := j.Keys.CreateKey(ctx, grant)
		key, j.held.KeyID = out.Key, out.ID
		return err
	})
	if err != nil {
		return "", fmt.Errorf("no key for the task could be made: %w", err)
	}
	return key, j.put()
}

// prepare returns the job of the client for a task, and writes the files of its start.
func (j *job) prepare(t dispatch.View, key string) (launch.Job, error) {
	env := j.Command.Environment(j.Env, j.Key, key)
	path, err := j.Command.Find(env)
	if err != nil {
		return launch.Job{}, err
	}
	private, err := j.Journal.Private(j.rec.ProcessID)
	if err != nil {
		return launch.Job{}, err
	}
	out := launch.Job{Path: path, Dir: j.Dir, Root: j.Dir, Env: append(env, "PARLEY_URL="+j.URL, "PWD="+j.Dir)}
	endpoint := launcher.Endpoint(j.URL, "agent")
	if c := j.Command.Chosen(); c != nil {
		start, err := c.Headless(launcher.Work{Prompt: prompt(j.Program, t, j.held.ClaimToken), Private: private, URL: endpoint,
			KeyVariable: j.Command.KeyVariable(), Model: j.Model, Session: j.held.Session, Turns: j.Limits.Turns,
			Dollars: j.Limits.Dollars, Record: true, Options: j.Command.Options})
		out.Args, out.Stdin = start.Args, start.Stdin
		return out, err
	}
	text := work(t)
	file, err := launcher.WritePrompt(private, text)
	if err != nil {
		return launch.Job{}, err
	}
	if !j.Command.Args.Uses("prompt", "prompt_file") {
		out.Stdin = file
	}
	args, err := j.Command.Args.Args(template.Values{ProcessID: t.ID, Name: j.Program, Model: j.Model, CWD: j.Dir,
		Prompt: text, PromptFile: file, MCPURL: endpoint})
	out.Args = append([]string{j.Command.Args.Name()}, args...)
	return out, err
}

// work is the task as its creator wrote it.
func work(t dispatch.View) string {
	if t.Instructions == "" {
		return t.Title
	}
	return t.Title + "\n\n" + t.Instructions
}

// prompt is the task for an agent that reaches Parley, with the facts about the claim that the agent needs.
func prompt(program string, t dispatch.View, token int64) string {
	source := t.Source
	if source == "" {
		source = "a person"
	}
	return fmt.Sprintf("%s\n\n---\nThis is the task %q in Parley, which %q gave to %q, and it is claimed for you. When you "+
		"end, it is completed with your last words as its result: do not complete, renew or release it yourself. If it cannot "+
		"be done, call complete_task of the MCP server %q with taskId %q, claimToken %d, outcome failed and the reason as its "+
		"result.", work(t), t.ID, source, program, launcher.ServerName, t.ID, token)
}
