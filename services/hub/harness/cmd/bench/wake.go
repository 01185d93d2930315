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

// wakes measures the latency of a message to a member that polls for it: from before the sender's request to the end of
// the reader's answer. The timed requests use plain HTTP, so that the work of a client is not measured.
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
		message := map[string]any{"type": "message", "recipient": "beta", "content": fmt.Sprint(i), "summary": "wake"}
		if err := t.post(ctx, "/v1/teams/bench/messages", message); err != nil {
			return err
		}
		g := <-done
		if g.err != nil {
			return g.err
		}
		if g.n != 1 {
			return fmt.Errorf("a poll must return 1 message, not %d", g.n)
		}
		took = append(took, g.at.Sub(begin))
	}
	slices.Sort(took)
	_, err := fmt.Fprintf(out, "\nteam_poll_inbox, woken by a message (%d times, over REST, on %d documents): "+
		"median %s ms, p95 %s ms from the sending to the answer\n",
		n, t.documents, ms(quantile(took, 0.5)), ms(quantile(took, 0.95)))
	return err
}

// poll reads beta's inbox and returns the number of messages.
func (t *target) poll(ctx context.Context, timeoutMs int) (int, error) {
	url := fmt.Sprintf("%s/v1/teams/bench/inboxes/beta/poll?timeout_ms=%d", t.base, timeoutMs)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
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

// do makes a request and returns the body of the answer. A status of 300 or more is an error.
func (t *target) do(r *http.Request, key string) ([]byte, error) {
	r.Header.Set("Authorization", "Bearer "+key)
	res, err := t.client.Do(r)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(res.Body)
	_ = res.Body.Close() // the error of reading is returned
	if err == nil && res.StatusCode >= 300 {
		err = fmt.Errorf("%s %s: status %d: %.500s", r.Method, r.URL.Path, res.StatusCode, text)
	}
	return text, err
}
