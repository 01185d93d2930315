package cli_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"parley.internal/shared/keys"
	"parley.internal/shared/store/emulator"
)

// either starts a server on one of the stores, and returns it with a human's key and a function that creates the keys
// of programs.
func either(t *testing.T, store string) (p *process, human string, newKey func(program string) string) {
	t.Helper()
	if store == "sqlite" {
		data := t.TempDir()
		human = makeKey(t, data, "--kind", "human")
		p = serve(t, nil, local(data)...)
		return p, human, func(program string) string { return p.newKey(human, program) }
	}
	env := cloud(t)
	out, errOut, code := command(t, env, "key", "create", "--user", "ann", "--kind", "human")
	if code != 0 {
		t.Fatalf("key create: exit %d: %s", code, errOut)
	}
	human = strings.TrimSpace(out)
	p = serve(t, env, "--addr", "127.0.0.1:0")
	return p, human, func(program string) string { return p.newKey(human, program) }
}

// cloud returns the environment of a server on an empty database of the Firestore emulator.
func cloud(t *testing.T) []string {
	t.Helper()
	return []string{"PARLEY_STORE=firestore", "GOOGLE_CLOUD_PROJECT=" + emulator.Project(t),
		"FIRESTORE_EMULATOR_HOST=" + emulator.Shared(t)}
}

// newKey creates the key of a program over REST.
func (p *process) newKey(human, program string) string {
	p.t.Helper()
	made, err := p.as(human).CreateKey(p.t.Context(), keys.CreateInput{Program: program})
	if err != nil {
		p.t.Fatal(err)
	}
	return made.Key
}

func TestAMessageSentToOneServerEndsAWaitInAnother(t *testing.T) {
	t.Parallel()
	env := cloud(t)
	out, errOut, code := command(t, env, "key", "create", "--user", "ann", "--kind", "human")
	if code != 0 {
		t.Fatalf("key create: exit %d: %s", code, errOut)
	}
	human := strings.TrimSpace(out)
	here, there := serve(t, env, "--addr", "127.0.0.1:0"), serve(t, env, "--addr", "127.0.0.1:0")
	if text := here.out.String(); !strings.Contains(text, "(firestore)") ||
		!strings.Contains(text, "parley key create --store firestore") || secret.MatchString(text) {
		t.Errorf("the server prints %q", text)
	}
	alpha, beta := here.newKey(human, "alpha"), here.newKey(human, "beta")
	got := make(chan string)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		defer close(got)
		for {
			a, err := here.try(ctx, alpha, "POST", "/mcp",
				message(1, "tools/call",
					map[string]any{"name": "get_messages", "arguments": map[string]any{"waitMs": 55000}}))
			if err != nil {
				return // the test is over, or the wait was not ended in time
			}
			select {
			case got <- string(a.Body):
			case <-ctx.Done():
				return
			}
		}
	}()
	for i := range 5 {
		text := fmt.Sprintf("number %d", i)
		a := there.call(beta, "POST", "/v1/messages",
			map[string]any{"message": text, "source": "beta", "target": "alpha", "message_type": "STATUS"})
		if a.Status != 201 {
			t.Fatal(a)
		}
		if answer := <-got; !strings.Contains(answer, text) || !strings.Contains(answer, `\"verified\":true`) {
			t.Fatalf("message %d woke the wait to %q", i, answer)
		}
	}
	cancel()
	for range got { // until the waiter ended
	}
}

// A response in a council and a message at a campfire end the waits in another server.
func TestACouncilIsFollowedAcrossServers(t *testing.T) {
	t.Parallel()
	env := cloud(t)
	out, errOut, code := command(t, env, "key", "create", "--user", "ann", "--kind", "human")
	if code != 0 {
		t.Fatalf("key create: exit %d: %s", code, errOut)
	}
	human := strings.TrimSpace(out)
	here, there := serve(t, env, "--addr", "127.0.0.1:0"), serve(t, env, "--addr", "127.0.0.1:0")
	alpha, beta := here.newKey(human, "alpha"), here.newKey(human, "beta")
	var council struct {
		ID     string `json:"session_id"`
		Cursor string `json:"next_cursor"`
	}
	if err := here.call(alpha, "POST", "/v1/councils",
		map[string]any{"agent_name": "alpha", "request": "which?"}).Into(&council); err != nil {
		t.Fatal(err)
	}
	if a := here.call(alpha, "PUT", "/v1/fires/f", map[string]any{}); a.Status != 200 {
		t.Fatal(a)
	}
	wait := func(path string) chan string {
		got := make(chan string, 1)
		go func() {
			a, err := here.try(t.Context(), alpha, "GET", path, nil)
			if err != nil {
				a.Body = []byte(err.Error())
			}
			got <- string(a.Body)
		}()
		return got
	}
	seen := func(path string) (cursor string) {
		t.Helper()
		var page struct {
			Council string `json:"next_cursor"`
			Fire    string `json:"nextCursor"`
		}
		if err := here.call(alpha, "GET", path, nil).Into(&page); err != nil {
			t.Fatal(err)
		}
		return page.Council + page.Fire
	}
	session, fire := "/v1/councils/"+council.ID+"?agent_name=alpha&cursor=", "/v1/fires/f/messages?limit=100&cursor="
	for i := range 3 {
		text := fmt.Sprintf("number %d", i)
		answer, word := wait(session+seen(session)+"&wait_ms=55000"), wait(fire+seen(fire)+"&waitMs=55000")
		if a := there.call(beta, "POST", "/v1/councils/"+council.ID+"/responses",
			map[string]any{"agent_name": "beta", "content": text}); a.Status != 201 {
			t.Fatal(a)
		}
		if got := <-answer; !strings.Contains(got, text) {
			t.Fatalf("the wait for a response ended with %s", got)
		}
		if a := there.call(beta, "POST", "/v1/fires/f/messages", map[string]any{"text": text}); a.Status != 201 {
			t.Fatal(a)
		}
		if got := <-word; !strings.Contains(got, text) {
			t.Fatalf("the wait for a message ended with %s", got)
		}
	}
}
