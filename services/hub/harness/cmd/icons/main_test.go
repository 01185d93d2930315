package main

import (
	"bytes"
	"image/png"
	"os"
	"path/filepath"
	"testing"
)

func TestTheFilesShowWhatTheCommandDraws(t *testing.T) {
	t.Parallel()
	for name, i := range icons {
		file, err := os.ReadFile(filepath.Join("..", "..", "..", "internal", "page", "assets", name))
		if err != nil {
			t.Fatal(err)
		}
		got, err := png.Decode(bytes.NewReader(file))
		if err != nil {
			t.Fatal(err)
		}
		if size := got.Bounds().Size(); size.X != i.size || size.Y != i.size {
			t.Fatalf("%s is %v, want %d; run the command again", name, size, i.size)
		}
		for y := range i.size {
			for x := range i.size {
				if r, g, b, a := got.At(x, y).RGBA(); [4]uint32{r, g, b, a} != rgba(i, x, y) {
					t.Fatalf("%s differs at %d, %d; run the command again", name, x, y)
				}
			}
		}
	}
}

func rgba(i icon, x, y int) [4]uint32 {
	r, g, b, a := i.pixel(x, y).RGBA()
	return [4]uint32{r, g, b, a}
}

func TestAMaskableIconKeepsTheBubbleInItsMiddle(t *testing.T) {
	t.Parallel()
	i := icons["icon-maskable-512.png"]
	for y := range i.size {
		for x := range i.size {
			dx, dy := float64(x)-256, float64(y)-256
			if outside := dx*dx+dy*dy > 205*205; outside && i.pixel(x, y) != i.ground { // a system cuts at 80 of 100
				t.Fatalf("the bubble reaches %d, %d", x, y)
			}
		}
	}
}
