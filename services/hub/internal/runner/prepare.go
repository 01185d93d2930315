package runner

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"parley.internal/services/hub/internal/runner/hub"
	"parley.internal/services/hub/internal/runner/launch"
	"parley.internal/services/hub/internal/runner/launcher"
	"parley.internal/services/hub/internal/runner/template"
	"parley.internal/shared/team"
)

// prepare returns the job of a claimed process, and writes the files of its start.
func (r *Runner) prepare(c *child, p team.Process, key string) (launch.Job, error) {
	env := r.Command.environment(r.Env, r.Key, key)
	path, err := r.Command.find(env)
	if err != nil {
		return launch.Job{}, err
	}
	dir, err := launch.ResolveDir(r.Root, p.Cwd)
	if err != nil {
		return launch.Job{}, err
	}
	job := launch.Job{Path: path, Dir: dir, Root: r.Root, Env: append(env, "PWD="+dir)}
	if r.Command.client == nil {
		job.Args, err = r.commandLine(c, p, key, dir)
		return job, err
	}
	if key == "" {
		return launch.Job{}, errors.New("the server made no key for the member, and a client needs one; update the server, " +
			"or name a command of your own with --command")
	}
	prompt, err := r.prompt(c, key)
	if err != nil {
		return launch.Job{}, err
	}
	private, err := r.Journal.Private(c.rec.ProcessID)
	if err != nil {
		return launch.Job{}, err
	}
	w := launcher.Work{Prompt: prompt + r.postscript(p) + r.mail(c, key, prompt), Private: private, URL: launcher.Endpoint(r.URL, toolsets),
		KeyVariable: r.Command.keyVariable(), Model: p.Model, Plan: p.PlanModeRequired, Options: r.Command.Options}
	job.Env = append(job.Env, "PARLEY_URL="+r.URL)
	if !r.Command.Attach {
		start, err := r.Command.client.Headless(w)
		job.Args, job.Stdin = start.Args, start.Stdin
		return job, err
	}
	start, err := r.Command.client.Interactive(w)
	if err != nil {
		return launch.Job{}, err
	}
	start.Args[0] = path
	if job.Path, err = filepath.Abs(r.Pane[0]); err != nil {
		return launch.Job{}, err
	}
	job.Args = append(append(append([]string{}, r.Pane...), private, p.Name), start.Args...)
	return job, nil
}

// commandLine returns the operator's command line for a process. The prompt is read only where it is used.
func (r *Runner) commandLine(c *child, p team.Process, key, dir string) ([]string, error) {
	v := template.Values{ProcessID: p.ProcessID, AgentID: p.AgentID, Name: p.Name,
		Team: r.Team, Color: p.Color, LeadSessionID: p.LeadSessionID, AgentType: p.AgentType, Model: p.Model, CWD: dir,
		PlanModeRequired: p.PlanModeRequired, MCPURL: launcher.Endpoint(r.URL, toolsets)}
	var err error
	if r.Command.Args.Uses("prompt", "prompt_file") {
		if v.Prompt, err = r.prompt(c, key); err != nil {
			return nil, err
		}
	}
	if r.Command.Args.Uses("prompt_file") {
		private, err := r.Journal.Private(c.rec.ProcessID)
		if err != nil {
			return nil, err
		}
		if v.PromptFile, err = launcher.WritePrompt(private, v.Prompt); err != nil {
			return nil, err
		}
	}
	args, err := r.Command.Args.Args(v)
	return append([]string{r.Command.Args.Name()}, args...), err
}

// prompt reads the member's prompt with the member's key.
func (r *Runner) prompt(c *child, key string) (text string, err error) {
	err = r.ask(c, func() (err error) {
		text, err = r.Server.Prompt(r.reports, c.rec.Name, key)
		return err
	})
	return text, err
}

// ask repeats a call for a start until the server answers it for good or the process has to end.
func (r *Runner) ask(c *child, call func() error) error {
	wait := hub.Backoff{Unit: r.Times.Unit}
	for {
		err := call()
		if err == nil || !hub.Passing(err) {
			return err
		}
		hub.Sleep(c.wanted, r.retryDelay(&wait, err), nil)
		if err := context.Cause(c.wanted); err != nil {
			return err
		}
	}
}

// postscript tells a client's agent its name and how to reach its team.
func (r *Runner) postscript(p team.Process) string {
	return fmt.Sprintf("\n\n---\nYou are %q, a member of the team %q, which %q leads. The MCP server %q is your way to the "+
		"others: read your inbox with team_read_inbox (team_name %q, agent_name %q), write with team_send_message, and "+
		"find the team's tasks with team_task_list. Your process ends with your answer, whose last words your lead gets.",
		p.Name, r.Team, team.Lead, launcher.ServerName, r.Team, p.Name)
}

// tidy removes the files of a start, and ends a terminal that outlived its process.
func (r *Runner) tidy(c *child) {
	err := launcher.EndPane(r.Journal.PrivateDir(c.rec.ProcessID))
	if err = errors.Join(err, r.Journal.Clear(c.rec.ProcessID)); err != nil {
		r.Log.Error("the files of a start could not be removed", "member", c.rec.Name, "error", err)
	}
}
