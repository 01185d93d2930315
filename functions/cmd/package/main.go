// Command package writes the archive that the functions are deployed from:
//
//	package [-o ../bin/functions.zip]
//
// Run it in the directory functions. The same sources produce the same bytes.
package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"parley.internal/functions/internal/archive"
)

func main() {
	out := flag.String("o", filepath.Join("..", "bin", "functions.zip"), "the file to write")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *out); err != nil {
		fmt.Fprintln(os.Stderr, "package:", err)
		os.Exit(1)
	}
}

// run writes the archive to a temporary file beside its destination and then renames it, so that no partial archive is
// left behind.
func run(ctx context.Context, out string) (err error) {
	if err := os.MkdirAll(filepath.Dir(out), 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(out), ".functions-*.zip")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	sum := sha256.New()
	err = errors.Join(archive.Write(ctx, io.MultiWriter(f, sum), ".."), f.Chmod(0o644), f.Close())
	if err != nil {
		return err
	}
	if err := os.Rename(f.Name(), out); err != nil {
		return err
	}
	fmt.Printf("%x  %s\n", sum.Sum(nil), out)
	return nil
}
