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

// TestTranscriptsSayWhatTheServerDoes replays every page of docs that has blocks
// of http, each against a hub of its own.
func TestTranscriptsSayWhatTheServerDoes(t *testing.T) {
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
	for _, page := range []string{"sprint.md", "council.md", "duel.md", "verification.md", "team.md"} {
		if !slices.Contains(played, page) {
			t.Errorf("played %v of %v, and no %s", played, pages, page)
		}
	}
}

// caller makes a request with the key of who, and reads the answer.
type caller func(who, method, path string, body any) hubtest.Answer

// storedNow is a time as stores keep it, like that of the hub which ships: so an
// answer and a later look at what it told of name the same.
func storedNow() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }

// callers call a hub: "human" is its user, every other name a program of theirs.
func callers(hub *hubtest.Hub) caller {
	keys := map[string]string{"human": hub.Human("ada")}
	return func(who, method, path string, body any) hubtest.Answer {
		if keys[who] == "" {
			keys[who] = hub.Agent("ada", who)
		}
		return hub.REST(keys[who], method, path, body, "Accept", "application/json, text/event-stream")
	}
}

// exchange is a request of a transcript and what is told of its answer.
type exchange struct {
	line              int
	who, method, path string
	body              any // nil for none
	status            int
	answer            any // nil where only the status is told
}

var (
	requestLine = regexp.MustCompile(`^([a-z][a-z0-9-]*) > ([A-Z]+) (/\S*)$`)
	answerLine  = regexp.MustCompile(`^< ([0-9]{3})$`)
)

// parseTranscript reads the exchanges of a page, in order. They stand in fenced
// blocks of http, each a request and its answer, with JSON below either or nothing:
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
		return nil, fmt.Errorf("line %d: the block does not end", start)
	}
	return out, nil
}

// parseBlock reads one block, whose first line has that number.
func parseBlock(lines []string, first int) ([]exchange, error) {
	var out []exchange
	answered := true // the last exchange has its answer line
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
			out = append(out, exchange{line: number, who: request[1], method: request[2], path: request[3], body: body})
			answered = false
		case answer != nil && !answered:
			e := &out[len(out)-1]
			e.status, _ = strconv.Atoi(answer[1]) // three digits
			e.answer, answered = body, true
		default:
			return nil, fmt.Errorf("line %d: %q is neither a request (alpha > GET /v1/tasks) nor the answer to one (< 200)", number, line)
		}
		i = end
	}
	if len(out) == 0 || !answered {
		return nil, fmt.Errorf("line %d: the block needs a request and its answer", first)
	}
	return out, nil
}

// parseJSON reads one value, nil where there is no text.
func parseJSON(text string) (v any, err error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	d := json.NewDecoder(bytes.NewBufferString(text))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return nil, fmt.Errorf("no JSON: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("no JSON: more than one value")
	}
	return v, nil
}

// play makes the requests of a transcript and compares the answers. It ends with
// the first that differs, since what follows builds on it.
func play(transcript []exchange, call caller) error {
	seen := memory{}
	for _, e := range transcript {
		told := fmt.Sprintf("line %d, %s > %s %s", e.line, e.who, e.method, e.path)
		path, err := seen.fillPath(e.path)
		if err != nil {
			return fmt.Errorf("%s: %w", told, err)
		}
		body, err := seen.fill(e.body)
		if err != nil {
			return fmt.Errorf("%s: %w", told, err)
		}
		got := call(e.who, e.method, path, body)
		if got.Status != e.status {
			return fmt.Errorf("%s: the page says %d, the server\n%s", told, e.status, got)
		}
		if e.answer == nil {
			continue
		}
		answer, err := parseJSON(string(got.Body))
		if err != nil {
			return fmt.Errorf("%s: %w: %s", told, err, got)
		}
		if wrong := seen.match("$", e.answer, answer); len(wrong) > 0 {
			return fmt.Errorf("%s:\n  %s\nthe server says\n%s", told, strings.Join(wrong, "\n  "), got)
		}
	}
	return nil
}
