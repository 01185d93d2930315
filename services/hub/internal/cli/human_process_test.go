package cli_test

import (
	"fmt"
	"strings"
	"testing"

	"parley.internal/shared/dispatch"
)

func TestAHumanAnswersAWaitingAgent(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	p := serve(t, nil, local(data)...)
	alpha := keysEnv(t, data)["PARLEY_KEY"]
	human := func(args ...string) (out, errOut string, code int) {
		t.Helper()
		return command(t, []string{"PARLEY_DATA=" + data}, args...)
	}
	if out, errOut, code := human("questions"); out != "No questions are waiting.\n" || errOut != "" || code != 0 {
		t.Errorf("before there are any: got %q, %q, exit %d", out, errOut, code)
	}
	view := run(t, []string{"PARLEY_DATA=" + data}, "top", "--follow")
	view.until("Unread mail")

	made, err := p.as(alpha).CreateTask(t.Context(),
		dispatch.CreateInput{Title: "Build \x1b[2Jthe store", Target: "alpha"})
	if err == nil {
		_, err = p.as(alpha).ClaimTask(t.Context(), dispatch.ClaimInput{TaskID: made.TaskID})
	}
	if err != nil {
		t.Fatal(err)
	}
	type end struct {
		a   reply
		err error
	}
	asked := make(chan end, 1)
	go func() {
		var e end
		e.a, e.err = p.try(t.Context(), alpha, "POST", "/v1/questions",
			map[string]any{"question": "Which \x1b[31mstore?", "options": []string{"SQLite", "Firestore"},
				"waitMs": 55000})
		asked <- e
	}()
	// The view shows when the question has arrived.
	view.until("Which �[31mstore?")
	for _, w := range []string{" left  active  task  Build �[2Jthe store\n", "Waiting questions: 1\n"} {
		if out, errOut, code := human("top"); !strings.Contains(out, w) || strings.Contains(out, "\x1b") ||
			errOut != "" || code != 0 {
			t.Errorf("top: got %q, %q, exit %d; want %q", out, errOut, code, w)
		}
	}
	out, errOut, code := human("questions")
	id, rest, _ := strings.Cut(out, "\n")
	if !strings.HasPrefix(rest, "  alpha asks, ") ||
		!strings.HasSuffix(rest, " left:\n  | Which �[31mstore?\n  1. SQLite\n  2. Firestore\n") || errOut != "" ||
		code != 0 {
		t.Errorf("questions: got %q, %q, exit %d", out, errOut, code)
	}
	if out, errOut, code := human("answer", id[:13], "--option", "2"); out != "answered "+id+", with the assurance local\n" || errOut != "" ||
		code != 0 {
		t.Errorf("answer: got %q, %q, exit %d", out, errOut, code)
	}
	var got struct{ QuestionID, Status, Response string }
	if e := <-asked; e.err != nil || e.a.Into(&got) != nil || got.QuestionID != id || got.Status != "answered" ||
		got.Response != "Firestore" {
		t.Errorf("the asker got %s, %v; want the answer", e.a, e.err)
	}
	if out, errOut, code := human("answer", id, "SQLite"); out != "" ||
		!strings.HasPrefix(errOut, "parley: the question was answered at ") || code != 1 {
		t.Errorf("a second answer: got %q, %q, exit %d", out, errOut, code)
	}
	for _, command := range []string{"questions", "top"} {
		_, errOut, code := human(command, "--url", p.URL, "--data", t.TempDir())
		if code != 1 || !strings.Contains(errOut, "no key") {
			t.Errorf("%s without a key: got %q, exit %d", command, errOut, code)
		}
		for name, key := range map[string]string{"may not do this": alpha,
			"refuses the key": alpha[:len(alpha)-1]} {
			out, errOut, code := commandWith(t, data, key, command)
			if code != 1 || out != "" || !strings.Contains(errOut, name) ||
				!strings.Contains(errOut, "the variable MINE") || secret.MatchString(errOut) {
				t.Errorf("%s with a key that %s: got %q, %q, exit %d", command, name, out, errOut, code)
			}
		}
	}
}

func commandWith(t *testing.T, data, key string, name string) (out, errOut string, code int) {
	t.Helper()
	return command(t, []string{"PARLEY_DATA=" + data, fmt.Sprintf("MINE=%s", key)}, name, "--key-env", "MINE")
}
