package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"parley.internal/shared/client"
	"parley.internal/shared/sleep"
	"parley.internal/shared/team"
)

// parkTime is the time between a poll and its wake-up, in which the poll surely begins to wait.
const parkTime = 30 * time.Millisecond

// wakes measures the latency of a message to a member that polls for it: from before the sender's request to the end of
// the reader's answer. It includes the work of two clients, which repeat nothing.
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
	alpha := t.setup.With(client.WithRetry(client.NoRetry))
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
		if err := sleep.For(ctx, parkTime); err != nil {
			return err
		}
		begin := time.Now()
		message := team.SendInput{TeamName: "bench", Type: "message", Recipient: "beta", Content: fmt.Sprint(i),
			Summary: "wake"}
		if _, err := alpha.TeamSendMessage(ctx, message); err != nil {
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
	beta := t.setup.With(client.WithKey(t.beta), client.WithRetry(client.NoRetry))
	out, err := beta.TeamPollInbox(ctx, team.PollInput{TeamName: "bench", AgentName: "beta", TimeoutMs: &timeoutMs})
	return len(out.Messages), err
}
