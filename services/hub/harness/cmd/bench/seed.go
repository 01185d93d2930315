package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"parley.internal/shared/app"
	"parley.internal/shared/identity"
	"parley.internal/shared/op"
	"parley.internal/shared/relay"
	"parley.internal/shared/store"
	"parley.internal/shared/store/sqlite"
	"parley.internal/shared/task"
)

// user is the user for whom the first start of a server creates keys.
const user = "local"

// The documents of program alpha are the same at every size, so that its calls read the same full page. The others belong
// to other programs.
const (
	ownTasks    = 20
	ownMessages = 30
	programs    = 200
	senders     = 256 // concurrent senders, as many as share one commit
)

var (
	instructions = strings.Repeat("Look at the failing test, find the cause and mend it. ", 6)
	messageText  = strings.Repeat("The build is green again on the main branch. ", 4)
)

// seed creates a store with that number of documents: half tasks, half messages.
func seed(ctx context.Context, dir string, documents int) (err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	schema := app.Schema()
	d, err := sqlite.Open(ctx, filepath.Join(dir, "parley.db"), schema)
	if err != nil {
		return err
	}
	db := store.New(d, schema)
	defer func() { err = errors.Join(err, db.Close()) }()
	half := documents / 2
	if err := seedTasks(ctx, db.User(user), half); err != nil {
		return err
	}
	return seedMessages(ctx, app.New(db, app.Ports{}).Relay, documents-half)
}

func seedTasks(ctx context.Context, t *store.Tenant, n int) error {
	begin := time.Now().Add(-time.Hour)
	for from := 0; from < n; from += store.MaxWrites {
		err := t.Update(ctx, func(_ context.Context, tx *store.Tx) error {
			for i := from; i < min(n, from+store.MaxWrites); i++ {
				id, err := uuid.NewV7()
				if err != nil {
					return err
				}
				task.Tasks.Create(tx, id.String(), seededTask(i, begin.Add(time.Duration(i)*time.Millisecond)))
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func seededTask(i int, at time.Time) task.Task {
	v := task.Task{Type: task.Work, Title: fmt.Sprintf("Mend the test number %d", i), Instructions: instructions,
		Status: task.Created, Priority: task.Normal, Action: "queue", Source: "seeder", Target: "alpha", CreatedAt: at}
	if i >= ownTasks {
		v.Target = programName(i)
		v.Priority = []task.Priority{task.Low, task.Normal, task.High}[i%3]
		switch i % 4 {
		case 1:
			v.Status, v.ClaimedBy, v.ClaimToken, v.StartedAt = task.Active, v.Target, 1, at
		case 2:
			v.Outcome = task.Done
			v.End(task.Done, at)
			v.PurgeAt = time.Now().Add(task.Retention)
		}
	}
	v.Route()
	return v
}

func programName(i int) string { return fmt.Sprintf("program-%03d", i%programs) }

// seedMessages sends n messages concurrently, so that they share commits.
func seedMessages(ctx context.Context, s *relay.Service, n int) error {
	next := make(chan int)
	failed := make(chan error, senders)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var wg sync.WaitGroup
	for range senders {
		wg.Go(func() {
			for i := range next {
				if err := sendSeeded(ctx, s, i); err != nil {
					failed <- err
					cancel()
					return
				}
			}
		})
	}
feed:
	for i := range n {
		select {
		case next <- i:
		case <-ctx.Done():
			break feed
		}
	}
	close(next)
	wg.Wait()
	select {
	case err := <-failed:
		return err
	default:
		return ctx.Err()
	}
}

func sendSeeded(ctx context.Context, s *relay.Service, i int) error {
	in := op.Fill(relay.SendInput{Message: messageText, Source: "seeder", Target: "alpha", MessageType: "STATUS"})
	if i >= ownMessages {
		in.Target = programName(i)
	}
	_, err := s.Send(ctx, identity.Caller{User: user}, in)
	return err
}
