package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"text/tabwriter"
	"time"

	"parley.internal/shared/app"
	"parley.internal/shared/files"
	"parley.internal/shared/identity"
	"parley.internal/shared/op"
	"parley.internal/shared/store"
	"parley.internal/shared/store/sqlite"
)

// A check of checkedPaths paths against a full board must take at most checkAtMost in all but 5 of 100 calls.
const (
	checkedPaths = 50
	checkAtMost  = 5 * time.Millisecond
	project      = "github.com/acme/app"
)

// reservationChecks measures n checks of files on SQLite and writes the results.
func reservationChecks(ctx context.Context, dir string, n int, out io.Writer) (err error) {
	d, err := sqlite.Open(ctx, filepath.Join(dir, "files.db"), app.Schema())
	if err != nil {
		return err
	}
	db := store.New(d, app.Schema())
	defer func() { err = errors.Join(err, db.Close()) }()
	s := app.New(db, app.Ports{}).Files
	if err := fillBoard(ctx, s); err != nil {
		return err
	}
	in := files.CheckInput{Project: project, Paths: make([]string, checkedPaths)}
	for i := range in.Paths {
		in.Paths[i] = fmt.Sprintf("services/part%02d/internal/handler/file%d.go", i*7, i)
	}
	var took []time.Duration
	for i := range n + n/10 {
		begin := time.Now()
		answer, err := s.Check(ctx, agent, in)
		if err != nil {
			return err
		}
		if i >= n/10 { // the first calls warm the caches
			took = append(took, time.Since(begin))
		}
		if got := held(answer); got < checkedPaths/5 || got == checkedPaths {
			return fmt.Errorf("a check must find some of the %d paths held; it found %d", checkedPaths, got)
		}
	}
	return reportChecks(out, took)
}

func held(answer files.CheckOutput) (n int) {
	for _, p := range answer.Paths {
		if p.State == files.Held {
			n++
		}
	}
	return n
}

// fillBoard reserves as much as a project may: files, directories and patterns, of ten programs.
func fillBoard(ctx context.Context, s *files.Service) error {
	const programs = 10
	for p := range programs {
		in := files.ReserveInput{Project: project, Mode: files.Shared, Reason: messageText}
		for i := range files.MaxReservations / programs {
			n := p*files.MaxReservations/programs + i
			in.Paths = append(in.Paths, []string{
				fmt.Sprintf("services/part%02d/internal/handler/file.go", n),
				fmt.Sprintf("services/part%02d/", n), fmt.Sprintf("services/part%02d/**/*_test.go", n),
				fmt.Sprintf("**/generated%d_*.{go,json}", n), fmt.Sprintf("docs/[a-m]%d*.md", n),
			}[n%5])
		}
		c := identity.Caller{User: user, Program: fmt.Sprint("program", p), Kind: identity.Agent}
		if _, err := s.Reserve(ctx, c, op.Fill(in)); err != nil {
			return err
		}
	}
	return nil
}

// reportChecks writes the measurements and whether they are within their limit.
func reportChecks(out io.Writer, took []time.Duration) error {
	slices.Sort(took)
	p50, p95 := took[len(took)/2], took[len(took)*95/100]
	t := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(t, "\nCHECK OF FILES\tSTORE\tPATHS\tRESERVATIONS\tP50 MS\tP95 MS\tLIMIT OF P95\t")
	fmt.Fprintf(t, "\tsqlite\t%d\t%d\t%s\t%s\t%s\t%s\n", checkedPaths, files.MaxReservations, ms(p50), ms(p95),
		ms(checkAtMost), verdict(p95 <= checkAtMost))
	return t.Flush()
}
