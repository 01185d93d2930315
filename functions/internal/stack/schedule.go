package stack

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"parley.internal/shared/app"
)

// sweepTimeout bounds one call of a sweep and is longer than a sweep takes.
const sweepTimeout = 3 * time.Minute

// Schedule calls every sweep now and then at its interval, as Cloud Scheduler does, until ctx ends. It logs the
// answers.
func (s *Stack) Schedule(ctx context.Context, log *slog.Logger) {
	var all sync.WaitGroup
	defer all.Wait()
	for _, sweep := range app.New(nil, app.Ports{}).Sweeps() {
		all.Go(func() {
			tick := time.NewTicker(sweep.Every)
			defer tick.Stop()
			for {
				answer, err := s.Sweep(ctx, sweep.Function)
				switch {
				case ctx.Err() != nil:
					return
				case err != nil:
					log.Error("sweep", "function", sweep.Function, "cause", err.Error())
				default:
					log.Info("sweep", "function", sweep.Function, "answer", answer)
				}
				select {
				case <-tick.C:
				case <-ctx.Done():
					return
				}
			}
		})
	}
}

// Sweep calls the function of a sweep and returns its answer. A status other than 200 is an error.
func (s *Stack) Sweep(ctx context.Context, function string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, sweepTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.Functions+"/"+function, http.NoBody)
	if err != nil {
		return "", err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, 1<<16))
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s answers %s: %s", function, res.Status, body)
	}
	return string(body), err
}
