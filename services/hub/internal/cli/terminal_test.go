package cli_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"parley.internal/shared/client"
	"parley.internal/shared/dispatch"
	"parley.internal/shared/pulse"
	"parley.internal/shared/relay"
	"parley.internal/shared/signal"
	"parley.internal/shared/task"
)

// place is a name for a text of a transcript that differs each time, such as <review>.
var place = regexp.MustCompile(`<[a-z]+>`)

func TestTheCommandsOfThePageAboutTheTerminalPrintWhatItSays(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../../docs/terminal.md")
	if err != nil {
		t.Fatal(err)
	}
	all := consoleOf(string(page))
	if len(all) < 15 {
		t.Fatalf("the page has %d commands", len(all))
	}
	data := t.TempDir()
	serve(t, nil, local(data)...)
	named := map[string]string{}
	for _, e := range all {
		line := place.ReplaceAllStringFunc(e.command, func(n string) string { return named[n] })
		cmd := exec.CommandContext(t.Context(), "sh", "-c", line)
		cmd.Env = []string{"PATH=" + filepath.Dir(binary) + string(filepath.ListSeparator) + os.Getenv("PATH"),
			"PARLEY_DATA=" + data, "PARLEY_KEYRING=off", "HOME=" + data}
		text, err := cmd.CombinedOutput()
		if err != nil {
			text = fmt.Appendf(text, "exit %d\n", cmd.ProcessState.ExitCode())
		}
		got := strings.TrimSuffix(column.ReplaceAllString(string(text), "  "), "\n")
		want := regexp.QuoteMeta(column.ReplaceAllString(strings.Join(e.want, "\n"), "  "))
		var fresh []string
		want = place.ReplaceAllStringFunc(want, func(n string) string {
			if id, known := named[n]; known {
				return regexp.QuoteMeta(id)
			}
			fresh = append(fresh, n)
			return `(\S+)`
		})
		found := regexp.MustCompile(`^` + strings.ReplaceAll(want, "…", ".*") + `$`).FindStringSubmatch(got)
		if found == nil {
			t.Fatalf("line %d: %s\nprinted:\n%s\nwant:\n%s", e.line, line, got, strings.Join(e.want, "\n"))
		}
		for i, n := range fresh {
			named[n] = found[i+1]
		}
	}
}

// day is a server on which an agent has done something of everything.
type day struct {
	*process
	t     *testing.T
	human string
	alpha *client.Client
	// tasks are the ids of tasks by their outcome; alert and question are the ids of an alert and a question.
	tasks           map[string]string
	alert, question string
}

// wild is a text of an agent with characters that a terminal must not get.
const wild = "Build \x1b[2Jthe \u202estore"

const tame = "Build �[2Jthe �store"

func newDay(t *testing.T, store string) *day {
	t.Helper()
	p, human, newKey := either(t, store)
	newKey("beta")
	d := &day{process: p, t: t, human: human, alpha: p.as(newKey("alpha")), tasks: map[string]string{}}
	ctx := t.Context()
	for _, name := range []string{"active", "failed", "created"} {
		made, err := d.alpha.CreateTask(ctx, dispatch.CreateInput{Title: name + ": " + wild, Target: "alpha",
			Instructions: "first\n\x1b]0;title\x07second"})
		check(t, err)
		d.tasks[name] = made.TaskID
	}
	does := wild
	session, err := d.alpha.CreateSession(ctx, pulse.CreateInput{Name: "builder", Status: &does})
	check(t, err)
	for _, name := range []string{"active", "failed"} {
		claim, err := d.alpha.ClaimTask(ctx, dispatch.ClaimInput{TaskID: d.tasks[name], SessionID: session.SessionID})
		check(t, err)
		if name == "failed" {
			_, err = d.alpha.CompleteTask(ctx, dispatch.CompleteInput{TaskID: d.tasks[name], ClaimToken: claim.ClaimToken,
				Outcome: task.Failed, Result: "no disk\x1b[31m"})
			check(t, err)
		}
	}
	alert, err := d.alpha.SendAlert(ctx, signal.AlertInput{Message: wild, AlertType: "error"})
	check(t, err)
	asked, err := d.alpha.AskQuestion(ctx, signal.AskInput{Question: wild})
	check(t, err)
	_, err = d.alpha.SendMessage(ctx, relay.SendInput{Message: wild, Target: "beta", MessageType: "QUERY"})
	check(t, err)
	d.alert, d.question = alert.AlertID, asked.QuestionID
	return d
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// at returns the environment of a person's commands.
func (d *day) at() map[string]string {
	return map[string]string{"PARLEY_URL": d.URL, "PARLEY_HUMAN_KEY": d.human, "PARLEY_DATA": filepath.Join(d.t.TempDir(), "none")}
}

// says runs a command and returns its output, which must be printable.
func (d *day) says(args ...string) string {
	d.t.Helper()
	out, errOut, code := inProcess(d.t, d.at(), args...)
	if code != 0 || errOut != "" {
		d.t.Fatalf("%q: exit %d: %s", args, code, errOut)
	}
	for line := range strings.Lines(out) {
		if !isPrintable(strings.TrimSuffix(line, "\n")) {
			d.t.Errorf("%q: the line %q is not printable", args, line)
		}
	}
	return out
}

func eachDay(t *testing.T, test func(t *testing.T, d *day)) {
	t.Parallel()
	for _, store := range []string{"sqlite", "firestore"} {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			test(t, newDay(t, store))
		})
	}
}

func TestEveryListShowsWhatAgentsHaveWritten(t *testing.T) {
	eachDay(t, func(t *testing.T, d *day) {
		short := func(id string) string { return id[:13] }
		for line, want := range map[string][]string{
			"tasks":                 {short(d.tasks["active"]), "active   alpha  normal", "active: " + tame, "created: " + tame},
			"tasks --status failed": {short(d.tasks["failed"]), "failed: " + tame},
			"tasks --program beta":  {"No task waits"},
			"tasks --status all":    {"active: ", "failed: ", "created: "},
			"task show " + d.tasks["failed"]: {"  | failed: " + tame, "status       failed",
				"  Instructions:\n  | first\n  | �]0;title�second\n", "  Result:\n  | no disk�[31m"},
			"task show " + d.tasks["active"]: {"claimed ", ", by alpha", "lease ", " left"},
			"task show " + d.alert:           {"type         alert"},
			"alerts":                         {short(d.alert), "error", "alpha", tame},
			"agents":                         {"alpha    alpha/", "working", "builder: " + tame, "beta     -", "has a key that was never used"},
			"agents --program beta":          {"beta"},
			"mail":                           {"unread", "alpha", "beta", "query", tame},
			"mail --program user":            {"There is no mail."},
			"search store --kind task":       {"task " + d.tasks["active"], "task " + d.tasks["created"], "⟦store⟧"},
			"search store --program nobody":  {"Nothing was found."},
			"search store --to 2020-01-01":   {"Nothing was found."},
			"search stor* --kind question":   {"question " + d.question},
			"search store --kind message":    {"message ", ", alpha and beta"},
			"top": {"Queues: 1\n  alpha  1 waiting  oldest ", "1 active\n",
				"Alerts: 1\n  " + short(d.alert) + "  alpha  error", "Waiting questions: 1\n"},
			"mail --dead":                     {"There are no dead letters."},
			"tasks --json --status created":   {`"title": "created: Build \u001b[2Jthe \u202estore"`},
			"task show --json " + d.alert:     {`"alertType": "error"`},
			"agents --json":                   {`"withoutSession": [`},
			"mail --json":                     {`"messages": [`, `"message_type": "QUERY"`},
			"alerts --json":                   {`"alerts": [`},
			"search --json store --kind fire": {`"results": []`},
		} {
			out := d.says(strings.Fields(line)...)
			for _, w := range want {
				if !strings.Contains(out, w) {
					t.Errorf("%s: got\n%s\nwant %q", line, out, w)
				}
			}
			if strings.Contains(line, "--json") {
				var doc map[string]any
				if err := json.Unmarshal([]byte(out), &doc); err != nil {
					t.Errorf("%s: %v in %s", line, err, out)
				}
			}
		}
		if out := d.says("tasks"); strings.Contains(out, short(d.question)+"  ") && strings.Contains(out, "question") ||
			strings.Contains(out, "failed: ") {
			t.Errorf("the open tasks have others among them:\n%s", out)
		}
	})
}

func TestAPersonActsOnTasksAlertsAndMail(t *testing.T) {
	eachDay(t, func(t *testing.T, d *day) {
		ctx, person := t.Context(), d.as(d.human)
		status := func(id string, want task.Status) {
			t.Helper()
			if got, err := person.GetTask(ctx, dispatch.TaskInput{TaskID: id}); err != nil || got.Status != want {
				t.Errorf("%s is %s, %v; want %s", id, got.Status, err, want)
			}
		}
		if out := d.says("task", "requeue", d.tasks["failed"]); out != "queued again: "+d.tasks["failed"]+"\n" {
			t.Errorf("requeue: %q", out)
		}
		status(d.tasks["failed"], task.Created)
		if out := d.says("task", "cancel", d.tasks["created"], "--note", "not now"); out != "cancelled "+d.tasks["created"]+"\n" {
			t.Errorf("cancel: %q", out)
		}
		status(d.tasks["created"], task.Derezzed)
		if _, errOut, code := inProcess(t, d.at(), "task", "requeue", d.tasks["created"]); code != 1 || errOut == "" {
			t.Errorf("requeue of a cancelled task: exit %d: %s", code, errOut)
		}
		d.says("task", "requeue", d.tasks["active"])
		status(d.tasks["active"], task.Created)
		if out := d.says("alerts", "ack", d.alert); out != "acknowledged "+d.alert+"\n" {
			t.Errorf("ack: %q", out)
		}
		if out := d.says("alerts"); out != "No alerts wait. Agents send them with send_alert.\n" {
			t.Errorf("alerts: %q", out)
		}
		if _, errOut, code := inProcess(t, d.at(), "alerts", "ack", d.tasks["active"]); code != 1 || !strings.Contains(errOut, "not an alert") {
			t.Errorf("ack of a task: exit %d: %s", code, errOut)
		}
		var made dispatch.CreateOutput
		out := d.says("task", "create", "--json", "--target", "beta", "--priority", "high", "--instructions", "all of it", "Do", "it")
		if err := json.Unmarshal([]byte(out), &made); err != nil {
			t.Fatal(err, out)
		}
		if got, err := person.GetTask(ctx, dispatch.TaskInput{TaskID: made.TaskID}); err != nil || got.Title != "Do it" ||
			got.Priority != task.High || got.Instructions != "all of it" || got.Target != "beta" {
			t.Errorf("created %+v, %v", got, err)
		}
		d.says("send", "alpha", "--type", "query", "--thread", "t1", "are", "you", "there?")
		read, err := d.alpha.GetMessages(ctx, relay.GetInput{})
		if err != nil || len(read.Messages) != 1 || read.Messages[0].Message != "are you there?" ||
			read.Messages[0].MessageType != "QUERY" || read.Messages[0].ThreadID != "t1" || read.Messages[0].Source != "user" {
			t.Errorf("alpha reads %+v, %v", read.Messages, err)
		}
		if out := d.says("mail", "--program", "alpha"); !strings.Contains(out, "not acknowledged  user  alpha  query  are you there?") {
			t.Errorf("mail: %s", out)
		}
	})
}

func TestABeginningOfAnIDIsEnoughWhereOneTaskHasIt(t *testing.T) {
	t.Parallel()
	first, second := "0198c0de-7c4f-7000-8000-000000000001", "0198c0df-7c4f-7000-8000-000000000002"
	f := newFake(t, func(r *http.Request, _ string) (int, any) {
		view := func(id string) object {
			return object{"id": id, "title": "of\n" + id[:8], "status": "created", "type": "task"}
		}
		switch id, one := strings.CutPrefix(r.URL.Path, "/v1/tasks/"); {
		case one && (id == first || id == second):
			return 200, view(id)
		case one:
			return 404, fault("NOT_FOUND", "there is no such task")
		case r.URL.Query().Get("type") != "all":
			return 200, object{"tasks": []any{}}
		case r.URL.Query().Get("cursor") == "":
			return 200, object{"tasks": []any{view(first)}, "nextCursor": "further"}
		}
		return 200, object{"tasks": []any{view(second)}}
	})
	for id, want := range map[string]string{"0198c0de": first, "0198c0df": second, first: first} {
		if out, errOut, code := inProcess(t, f.at(), "task", "show", id); code != 0 || !strings.HasPrefix(out, want+"\n") {
			t.Errorf("%s: exit %d: %s%s", id, code, out, errOut)
		}
	}
	for id, want := range map[string]string{
		"0198c0": "2 tasks have ids that begin with \"0198c0\"; give more characters:\n  " + first +
			"  of 0198c0de\n  " + second + "  of 0198c0df\n",
		"019":      "give at least 4 characters",
		"0198c0d0": "no task has the id \"0198c0d0\" or one that begins so; `parley tasks --status all` lists them",
	} {
		if out, errOut, code := inProcess(t, f.at(), "task", "show", id); code != 1 || out != "" || !strings.Contains(errOut, want) {
			t.Errorf("%s: exit %d: %s; want %s", id, code, errOut, want)
		}
	}
}

func TestWithoutAKeyEachCommandSaysHowToMakeOne(t *testing.T) {
	t.Parallel()
	env := map[string]string{"PARLEY_URL": "http://127.0.0.1:1", "PARLEY_DATA": filepath.Join(t.TempDir(), "none")}
	for _, line := range []string{"tasks", "task show x", "task create x", "task cancel x", "task requeue x", "send a b", "mail", "alerts",
		"alerts ack x", "agents", "search x", "events tail", "top"} {
		if out, errOut, code := inProcess(t, env, strings.Fields(line)...); code != 1 || out != "" ||
			!strings.Contains(errOut, "`parley key create --user YOU --kind human`") {
			t.Errorf("%s: exit %d: %s%s", line, code, out, errOut)
		}
		help := append(strings.Fields(line)[:1:1], "--help")
		if words := strings.Fields(line); words[0] == "task" || words[0] == "events" || len(words) > 1 && words[1] == "ack" {
			help = append(words[:2:2], "--help")
		}
		if out, errOut, code := inProcess(t, env, help...); code != 0 || !strings.Contains(out, "\nExamples:\n  ") {
			t.Errorf("%q: exit %d, %s without an example: %s", help, code, errOut, out)
		}
	}
}

func TestTheTailPrintsEachChangeAndConnectsAgain(t *testing.T) {
	eachDay(t, func(t *testing.T, d *day) {
		p := run(t, variables(d.at()), "events", "tail", "--json", "--kind", "message,alert")
		p.until(`{"cursor":`)
		check(t, sends(d, "first"))
		p.until(`"line":"alpha to beta, STATUS: first"`)
		check(t, sends(d, "second"))
		p.until(`"line":"alpha to beta, STATUS: second"`)
		if code := p.stop(os.Interrupt); code != 0 || p.err.String() != "" {
			t.Errorf("exit %d: %s", code, p.err)
		}
		var cursor string
		for line := range strings.Lines(p.out.String()) {
			var one struct{ Cursor, Kind string }
			if err := json.Unmarshal([]byte(line), &one); err != nil || one.Cursor == "" && one.Kind != "message" {
				t.Errorf("the line %s: %v", line, err)
			}
			if one.Cursor != "" {
				cursor = one.Cursor
			}
		}
		check(t, sends(d, "third"))
		again := run(t, variables(d.at()), "events", "tail", "--cursor", cursor)
		again.until("alpha to beta, STATUS: third\n") // with the state and the program before it
		if strings.Contains(again.out.String(), "second") {
			t.Errorf("after the cursor: %s", again.out)
		}
	})
}

func sends(d *day, text string) error {
	_, err := d.alpha.SendMessage(d.t.Context(), relay.SendInput{Message: text, Target: "beta", MessageType: "STATUS"})
	return err
}

func TestTheTailSaysWhatItMissedAndWhenTheServerIsAway(t *testing.T) {
	t.Parallel()
	var n atomic.Int64
	f := newFake(t, func(r *http.Request, _ string) (int, any) {
		switch n.Add(1) {
		case 1:
			return 200, object{"events": []any{}, "cursor": "c0"}
		case 2:
			return 503, fault("UNAVAILABLE", "later")
		case 3:
			return 200, object{"truncated": true, "cursor": "c1", "events": []any{
				object{"eventId": "1", "at": noon, "kind": "task", "id": "t\x1b1", "change": "created", "line": "one\ntwo", "program": "beta"}}}
		}
		return 403, fault("FORBIDDEN", "not any more "+r.URL.Query().Get("cursor"))
	})
	out, errOut, code := inProcess(t, f.at(), "events", "tail")
	wantErr := "parley: waiting for changes; Ctrl-C ends it\nparley: " + f.URL + " answers with 503; trying again in 1s\n" +
		"parley: truncated: changes before these are no longer kept; read again what you show\n" +
		"parley: the key of the variable PARLEY_HUMAN_KEY may not do this: not any more c1"
	if code != 1 || !strings.HasPrefix(errOut, wantErr) ||
		out != noon.Local().Format(time.TimeOnly)+"  task      created  t�1  -          beta: one two\n" {
		t.Errorf("exit %d, %q, %q; want %q", code, out, errOut, wantErr)
	}
}
