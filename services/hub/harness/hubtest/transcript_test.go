package hubtest_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"parley.internal/services/hub/harness/hubtest"
	"parley.internal/shared/app"
	"parley.internal/shared/store"
	"parley.internal/shared/store/storetest"
)

// TestTranscriptsAgreeWithTheServer replays every page of docs that has fenced blocks of http, each page
// against a hub of its own.
func TestTranscriptsAgreeWithTheServer(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("../../../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	played := []string{}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(page)
		transcript, err := parseTranscript(string(text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if len(transcript) == 0 {
			continue
		}
		played = append(played, name)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			storetest.Each(t, app.Schema(), func(t *testing.T, db *store.DB) {
				hub := hubtest.New(t, db, hubtest.Options{Now: storedNow})
				if err := play(transcript, callers(hub)); err != nil {
					t.Errorf("%s, %v", name, err)
				}
			})
		})
	}
	for _, page := range []string{"sprint.md", "council.md", "duel.md", "verification.md", "team.md", "files.md"} {
		if !slices.Contains(played, page) {
			t.Errorf("played %v of %v, without %s", played, pages, page)
		}
	}
}

// caller sends a request with the key of an actor, and returns the response.
type caller func(actor, method, path string, body any) hubtest.Answer

// storedNow returns the time in the precision of the stores, like the clock of the released hub. So the response to a
// call and a later read return the same time.
func storedNow() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }

// callers returns a caller of a hub: the actor human is the user, a key is itself, and every other actor is a program of
// the user.
func callers(hub *hubtest.Hub) caller {
	keys := map[string]string{"human": hub.Human("ada")}
	return func(actor, method, path string, body any) hubtest.Answer {
		switch {
		case strings.HasPrefix(actor, "parley_"):
			keys[actor] = actor
		case keys[actor] == "":
			keys[actor] = hub.Agent("ada", actor)
		}
		return hub.REST(keys[actor], method, path, body, "Accept", "application/json, text/event-stream")
	}
}

// exchange is a request of a transcript with its expected response.
type exchange struct {
	line                int
	actor, method, path string
	body                any // nil for none
	status              int
	answer              any // nil if only the status is expected
}

var (
	requestLine = regexp.MustCompile(`^([a-z][a-z0-9-]*) > ([A-Z]+) (/\S*)$`)
	answerLine  = regexp.MustCompile(`^< ([0-9]{3})$`)
)

// parseTranscript returns the exchanges of a page, in order. They are in fenced blocks of http: a request and its
// response, each followed by a JSON value or by nothing.
//
//	alpha > POST /v1/tasks
//	{"title": "Review", "target": "beta"}
//	< 201
//	{"data": {"taskId": "<task>", "createdAt": "<time>"}}
func parseTranscript(page string) ([]exchange, error) {
	var out []exchange
	var block []string
	fence, start := "", 0
	for i, line := range strings.Split(page, "\n") {
		info, isFence := strings.CutPrefix(line, "```")
		switch {
		case isFence && fence == "":
			fence, start, block = "```"+strings.TrimSpace(info), i+1, nil
		case isFence && info == "":
			if fence == "```http" {
				exchanges, err := parseBlock(block, start+1)
				if err != nil {
					return nil, err
				}
				out = append(out, exchanges...)
			}
			fence = ""
		case fence != "":
			block = append(block, line)
		}
	}
	if fence != "" {
		return nil, fmt.Errorf("line %d: the block must end with ```", start)
	}
	return out, nil
}

// parseBlock returns the exchanges of a block whose first line has the number first.
func parseBlock(lines []string, first int) ([]exchange, error) {
	var out []exchange
	answered := true // the last exchange has its status line
	for i := 0; i < len(lines); {
		number, line := first+i, strings.TrimRight(lines[i], " \r")
		end := i + 1
		for end < len(lines) && !requestLine.MatchString(lines[end]) && !answerLine.MatchString(lines[end]) {
			end++
		}
		body, err := parseJSON(strings.Join(lines[i+1:end], "\n"))
		if err != nil {
			return nil, fmt.Errorf("below line %d: %w", number, err)
		}
		request, answer := requestLine.FindStringSubmatch(line), answerLine.FindStringSubmatch(line)
		switch {
		case request != nil && answered:
			out = append(out,
				exchange{line: number, actor: request[1], method: request[2], path: request[3], body: body})
			answered = false
		case answer != nil && !answered:
			e := &out[len(out)-1]
			e.status, _ = strconv.Atoi(answer[1]) // three digits
			e.answer, answered = body, true
		default:
			return nil, fmt.Errorf("line %d: %q must be a request (alpha > GET /v1/tasks), or its status (< 200)",
				number, line)
		}
		i = end
	}
	if len(out) == 0 || !answered {
		return nil, fmt.Errorf("line %d: the block must have a request and its response", first)
	}
	return out, nil
}

// parseJSON decodes one value. A blank text is nil.
func parseJSON(text string) (v any, err error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	d := json.NewDecoder(bytes.NewBufferString(text))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return nil, fmt.Errorf("must be a JSON value: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("must be a single JSON value")
	}
	return v, nil
}

// play sends the requests of a transcript and compares the responses. An actor for whom an earlier response has a key,
// as <actor-key>, is that key. It stops at the first difference, because later exchanges build on earlier ones.
func play(transcript []exchange, call caller) error {
	seen := memory{}
	for _, e := range transcript {
		where := fmt.Sprintf("line %d, %s > %s %s", e.line, e.actor, e.method, e.path)
		path, err := seen.fillPath(e.path)
		if err != nil {
			return fmt.Errorf("%s: %w", where, err)
		}
		body, err := seen.fill(e.body)
		if err != nil {
			return fmt.Errorf("%s: %w", where, err)
		}
		actor := e.actor
		if key, ok := seen[actor+"-key"].(string); ok {
			actor = key
		}
		got := call(actor, e.method, path, body)
		if got.Status != e.status {
			return fmt.Errorf("%s: the page has %d, the server returned\n%s", where, e.status, got)
		}
		if e.answer == nil {
			continue
		}
		answer, err := parseJSON(string(got.Body))
		if err != nil {
			return fmt.Errorf("%s: %w: %s", where, err, got)
		}
		if wrong := seen.match("$", e.answer, answer); len(wrong) > 0 {
			return fmt.Errorf("%s:\n  %s\nthe server returned\n%s", where, strings.Join(wrong, "\n  "), got)
		}
	}
	return nil
}
