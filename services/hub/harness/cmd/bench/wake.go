package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"parley.internal/shared/team"
)

// parkTime is the time between a poll and its wake-up, in which the poll surely begins to wait.
const parkTime = 30 * time.Millisecond

// wakes measures how long after a message was sent the member that polls for it has it:
// from before the sender's request to the end of the reader's answer. What is timed goes over plain HTTP, so that no
// client's work is measured.
func (t *target) wakes(ctx context.Context, n int, out io.Writer) error {
	if _, err := t.setup.TeamCreate(ctx, team.CreateInput{TeamName: "bench"}); err != nil {
		return err
	}
	mate := team.SpawnInput{TeamName: "bench", Name: "beta", Prompt: "wait", BackendType: team.External}
	if _, err := t.setup.TeamSpawnTeammate(ctx, mate); err != nil {
		return err
	}
	if _, err := t.poll(ctx, 0); err != nil { // the prompt
		return err
	}
	var took []time.Duration
	for i := range n {
		type got struct {
			at  time.Time
			n   int
			err error
		}
		done := make(chan got, 1)
		go func() {
			n, err := t.poll(ctx, 20_000)
			done <- got{time.Now(), n, err}
		}()
		time.Sleep(parkTime)
		begin := time.Now()
		if err := t.post(ctx, "/v1/teams/bench/messages", map[string]any{"type": "message", "recipient": "beta", "content": fmt.Sprint(i), "summary": "wake"}); err != nil {
			return err
		}
		g := <-done
		if g.err != nil || g.n != 1 {
			return fmt.Errorf("a poll brought %d messages: %w", g.n, g.err)
		}
		took = append(took, g.at.Sub(begin))
	}
	slices.Sort(took)
	_, err := fmt.Fprintf(out, "\nteam_poll_inbox, woken by a message (%d times, over REST, on %d documents): median %s ms, p95 %s ms from the sending to the answer\n",
		n, t.documents, ms(quantile(took, 0.5)), ms(quantile(took, 0.95)))
	return err
}

// poll reads beta's inbox and says how many messages there were.
func (t *target) poll(ctx context.Context, timeoutMs int) (int, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("%s/v1/teams/bench/inboxes/beta/poll?timeout_ms=%d", t.base, timeoutMs), nil)
	if err != nil {
		return 0, err
	}
	var answer struct {
		Data struct {
			Messages []json.RawMessage `json:"messages"`
		} `json:"data"`
	}
	text, err := t.do(r, t.beta)
	if err == nil {
		err = json.Unmarshal(text, &answer)
	}
	return len(answer.Data.Messages), err
}

func (t *target) post(ctx context.Context, path string, body any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, t.base+path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	_, err = t.do(r, t.alpha)
	return err
}

// do makes a request, and takes every answer but a good one for an error.
func (t *target) do(r *http.Request, key string) ([]byte, error) {
	r.Header.Set("Authorization", "Bearer "+key)
	res, err := t.client.Do(r)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(res.Body)
	_ = res.Body.Close() // it was read to its end, or its error is told
	if err == nil && res.StatusCode >= 300 {
		err = fmt.Errorf("%s %s was answered %d: %.500s", r.Method, r.URL.Path, res.StatusCode, text)
	}
	return text, err
}
