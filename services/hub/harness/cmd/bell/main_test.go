package main

import (
	"bytes"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"testing"
)

func TestThePicturesAreThoseOfTheGenerator(t *testing.T) {
	t.Parallel()
	for name, want := range pictures() {
		text, err := os.ReadFile(filepath.Join("..", "..", assets, name))
		if err != nil {
			t.Fatal(err)
		}
		got, img := decode(t, text), decode(t, want)
		if !bytes.Equal(got.Pix, img.Pix) {
			t.Errorf("%s differs: run go run ./cmd/bell", name)
		}
		at := func(x, y int) uint32 { // in units of the drawing
			size := img.Bounds().Dx()
			_, _, _, a := img.At(x*size/32, y*size/32).RGBA()
			return a
		}
		if at(0, 0) != 0 || at(3, 10) != 0xffff || at(8, 24) != 0xffff || at(14, 28) != 0 {
			t.Errorf("%s is no bubble", name)
		}
	}
}

func decode(t *testing.T, text []byte) *image.NRGBA {
	t.Helper()
	img, err := png.Decode(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return img.(*image.NRGBA)
}
