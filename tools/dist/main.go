package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"parley.internal/tools/dist/internal/artifacts"
	"parley.internal/tools/dist/internal/programs"
	"parley.internal/tools/dist/internal/release"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "dist:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, log io.Writer) (err error) {
	fl := flag.NewFlagSet("dist", flag.ContinueOnError)
	fl.SetOutput(log)
	root := fl.String("root", "", "the directory of the repository")
	out := fl.String("out", "", "the directory to write, in place of that of an earlier run")
	version := fl.String("version", "", "the version, such as v1.2.3")
	commit := fl.String("commit", "", "the hash of the commit")
	at := fl.Int64("time", 0, "the time of the commit, in seconds since 1970")
	flags := fl.String("ldflags", "", "the flags of the linker")
	url := fl.String("url", "", "the address of releases")
	notes := fl.String("notes", "", "the https URL of a page about the release, if there is one")
	only := fl.String("only", "", "the platforms, such as linux/amd64,darwin/arm64; all, if it is empty")
	if err := fl.Parse(args); err != nil {
		return err
	}
	if *root == "" || *out == "" || fl.NArg() > 0 {
		return errors.New("-root and -out must name directories, and nothing may follow the flags: run make dist")
	}
	platforms, err := release.Parse(*only)
	if err != nil {
		return err
	}
	paths := [2]string{*root, *out}
	for i := range paths {
		if paths[i], err = filepath.Abs(paths[i]); err != nil {
			return err
		}
	}
	work, err := os.MkdirTemp("", "parley-dist-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	r := release.Release{Version: *version, Commit: *commit, Time: time.Unix(*at, 0).UTC(), URL: *url, Notes: *notes}
	start := time.Now()
	tell := func(what string) { fmt.Fprintf(log, "%6.1fs  %s\n", time.Since(start).Seconds(), what) }
	if err := artifacts.Make(ctx, programs.Builder{Root: paths[0], Flags: *flags, Work: work}, r, platforms, paths[1], tell); err != nil {
		return err
	}
	tell("done: " + paths[1])
	return nil
}
